// What the client of a chat is told besides the words: typed data parts of the stream.
import { ReplayUnsafeError } from '../../../model/errors.ts'
import type { Chunk } from './sse.ts'

/** What a person has to decide, in the stream: a data part of the type `data-counterfoil-doubt`. */
export interface DoubtData {
  itemId: string
  /** The tool whose call is in doubt; null where it is about something else. */
  tool: string | null
  /** In words, such as "send_email: did it happen?" */
  question: string
  reason: string
  workflowId: string
  /** Where a person decides it, if the route was told. */
  link: string | null
}

/**
 * What became of a call of an earlier turn, of which the client's messages do not tell: a data part
 * of the type `data-counterfoil-outcome`. A client that keeps it is not told again.
 */
export interface OutcomeData {
  /** The call, unlike any other of the chat. */
  call: string
  /** The message of the user whose turn it belongs to. */
  messageId: string
  toolCallId: string
  tool: string
  /** `given_up`: a person has abandoned it, and nobody knows whether it happened. */
  state: 'done' | 'failed' | 'given_up'
  /** What it answered, if it is done. */
  output?: unknown
  /** Why it is not done. */
  message?: string
}

/** For `UIMessage<Metadata, CounterfoilData>`. */
export type CounterfoilData = {
  'counterfoil-doubt': DoubtData
  'counterfoil-outcome': OutcomeData
}

export const outcomeType = 'data-counterfoil-outcome'

export function outcomePart(data: OutcomeData): Chunk {
  return { type: outcomeType, id: data.call, data }
}

export function doubtPart(
  turn: { readonly error: Error | null },
  workflowId: string,
  link: ((itemId: string) => string) | undefined,
): Chunk | null {
  const { error } = turn
  if (!(error instanceof ReplayUnsafeError) || error.itemId === null) return null
  const { itemId, call } = error
  const { title, reason } = (error.details['item'] ?? {}) as { title?: string; reason?: string }
  const data: DoubtData = {
    itemId,
    tool: call.tool === '' ? null : call.tool,
    question: title ?? error.message,
    reason: reason ?? 'unknown',
    workflowId,
    link: link?.(itemId) ?? null,
  }
  return { type: 'data-counterfoil-doubt', id: itemId, data }
}
