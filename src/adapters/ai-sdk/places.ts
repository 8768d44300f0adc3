// Where a tool call stands in a conversation: in which reply of its turn, by which id. Ids may come
// again in a later reply; the number of the reply tells them apart.
import { canonical } from '../../model/json/canonical.ts'
import { toPlain } from './codec.ts'
import { type Part, type ToolCall, toolCallsOf } from './reply.ts'

interface Message {
  readonly role?: string
  readonly content?: unknown
}

/** A call with its place in the turn. */
export interface NamedCall extends ToolCall {
  readonly reply: number
}

/** The messages after the last one of the user. */
function turnIn(messages: unknown): readonly Message[] {
  if (!Array.isArray(messages)) return []
  return messages.slice(messages.findLastIndex(({ role }: Message) => role === 'user') + 1)
}

function repliesIn(messages: unknown): readonly (readonly Part[])[] {
  return turnIn(messages)
    .filter(({ role }) => role === 'assistant')
    .map(({ content }) => (Array.isArray(content) ? (content as Part[]) : []))
}

/** The number of the reply that such a prompt gets, in its turn. */
export function replyNumber(messages: unknown): number {
  return repliesIn(messages).length
}

/** All calls of the turn that the messages tell of. */
export function callsIn(messages: unknown): NamedCall[] {
  return repliesIn(messages).flatMap((content, reply) =>
    toolCallsOf(content).map((call) => ({ ...call, reply })),
  )
}

/** Whether both are the same call: an id may come again, of another tool or with other words. */
export function isSameCall(a: NamedCall, b: NamedCall): boolean {
  const { toolCallId, toolName, reply } = a
  const isNamed = toolCallId === b.toolCallId && toolName === b.toolName && reply === b.reply
  return isNamed && wordsOf(a.input) === wordsOf(b.input)
}

/** As a browser has it: dates and the like are what JSON makes of them. */
export function wordsOf(input: unknown): string {
  return canonical(toPlain(JSON.parse(JSON.stringify(input ?? null))))
}

/** Whether the last of the messages says that a person has approved this very call. */
export function isApproved(messages: unknown, toolCallId: string): boolean {
  const last = turnIn(messages).at(-1)
  if (last?.role !== 'tool' || !Array.isArray(last.content)) return false
  const asked = repliesIn(messages)
    .flat()
    .filter((part) => part.type === 'tool-approval-request' && part.toolCallId === toolCallId)
    .map((part) => (part as { approvalId?: unknown }).approvalId)
  return last.content.some(
    ({ type, approvalId, approved }: Record<string, unknown>) =>
      type === 'tool-approval-response' && approved === true && asked.includes(approvalId),
  )
}

/** What a call is known by in its turn. Of the first generation it is as short as can be. */
export function placeId(generation: number, reply: number, toolCallId: string): string {
  return `${generation === 0 ? '' : `g${generation}.`}${reply}:${toolCallId}`
}

/** All that a call is known by; in the first generation also by its id alone, as it once was. */
export function placeIds(generation: number, reply: number, toolCallId: string): string[] {
  const place = placeId(generation, reply, toolCallId)
  return generation === 0 ? [place, toolCallId] : [place]
}

/**
 * Other places that the same call may be on record at, those of former versions included. `since`:
 * of this generation and later ones. A model may use its ids again in the next generation.
 */
export function otherPlaces(
  at: { generation: number; reply: number },
  repliesMax: number,
  toolCallId: string,
  since = 0,
): string[] {
  const own = placeId(at.generation, at.reply, toolCallId)
  const all = since === 0 ? [toolCallId] : []
  for (let generation = since; generation <= at.generation; generation++) {
    for (let reply = 0; reply <= repliesMax; reply++) {
      all.push(placeId(generation, reply, toolCallId))
    }
  }
  return all.filter((id) => id !== own)
}
