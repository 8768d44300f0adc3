// Turns that broke off before the present one: their messages have calls without an answer, which
// no model can be given. What became of them is on record.
import type { Counterfoil } from '../../index.ts'
import { isCall, isOver, toolOf, type UiPart } from './chat-messages.ts'
import { fromPlain } from './codec.ts'
import { Past, turnIdsOf, type UiMessage } from './past.ts'

interface Where {
  readonly cf: Counterfoil
  readonly workflowId: string
  /** What the model's calls are called in the ledger. */
  readonly model: string
}

/** The messages, with all that is known of calls that earlier turns have left open. */
export async function withEarlier(
  messages: readonly UiMessage[],
  where: Where,
): Promise<readonly UiMessage[]> {
  const present = messages.findLastIndex(({ role }) => role === 'user')
  const mended = messages.map(async (message, n) => {
    if (n > present || !opens(message)) return message
    const before = messages.slice(0, n)
    if (!before.some(({ role }) => role === 'user')) return message
    const ids = turnIdsOf({ workflowId: where.workflowId, messages: before })
    const past = await Past.load(where.cf, ids, where.model)
    const parts = (message.parts as readonly UiPart[]).flatMap((part) => mend(part, past))
    return { ...message, parts }
  })
  return Promise.all(mended)
}

function opens({ role, parts }: UiMessage): boolean {
  return role === 'assistant' && parts.some((part) => isOpen(part as UiPart))
}

function isOpen(part: UiPart): boolean {
  return isCall(part) && (!isOver(part) || part.state === 'approval-responded')
}

/** A call that is not on record was never sent: the model is not told that it asked for it. */
function mend(part: UiPart, past: Past): UiPart[] {
  const tool = toolOf(part)
  if (!isOpen(part)) return [part]
  const row = past.find(tool, part.toolCallId ?? '')
  if (row === null) return []
  const { approval: _, ...rest } = part
  if (row.status === 'committed' && row.verifies) {
    const output = fromPlain(JSON.parse(row.resultJson ?? 'null'))
    return [{ ...rest, state: 'output-available', output }]
  }
  const errorText =
    row.status === 'failed'
      ? 'it failed'
      : 'it was sent, and a person looks at what became of it: it must not be made again'
  return [{ ...rest, state: 'output-error', errorText }]
}
