// Earlier turns of a chat, as far as the client's messages do not tell what became of their calls:
// the user has stopped them, or went on before a person had decided. What is on record is told to
// the model and to the client. It is looked at while the conversation is held, so that nothing of
// an earlier request is still under way.
import type { FailureData } from '../../../model/errors.ts'
import { occurrenceOf } from '../../../model/run/scope.ts'
import { fromPlain, toPlain } from '../codec.ts'
import {
  type AskedCall,
  isEffect,
  isTrusted,
  Past,
  type Row,
  turnIdsOf,
  type UiMessage,
} from '../past.ts'
import { placeId, placeIds } from '../places.ts'
import type { EarlierFacts } from '../turn.ts'
import { type OutcomeData, outcomeType } from './data.ts'
import { isCall, isOver, repliesOf, toolOf, type UiPart } from './messages.ts'
import type { Answer, EarlierTurn, OpenCall, Where } from './open-call.ts'
import { settle } from './settle.ts'

export interface Earlier extends EarlierFacts {
  /** With all that is known. */
  readonly messages: readonly UiMessage[]
  /** For the client, which does not know. */
  readonly outcomes: readonly OutcomeData[]
}

export async function lookBack(messages: readonly UiMessage[], where: Where): Promise<Earlier> {
  const present = messages.findLastIndex(({ role }) => role === 'user')
  const asked = messages.flatMap(({ role }, n) => (role === 'user' && n < present ? [n] : []))
  const turns = await Promise.all(asked.map((n) => turnAt(messages, n, where)))
  const open = turns.flatMap(openCalls)
  const answered = open.filter(({ turn, tool, nth, row }) => turn.past.isAnswered(tool, nth, row))
  const answers = await settle(answered, where)
  const known = new Map(open.map((call) => [call, answers.get(call) ?? answerOf(call)] as const))
  const shown = shownIn(messages)
  // Until the user sends another message, it is news.
  const before = shownIn(messages.slice(0, present))
  const landed = (call: OpenCall) => ['done', 'given_up'].includes(known.get(call)?.state ?? '')
  return {
    messages: told(messages, known),
    outcomes: open
      .filter((call) => !shown.has(nameOf(call)))
      .flatMap((call) => outcomeOf(call, known.get(call) ?? null)),
    effects: open
      .filter((call) => !before.has(nameOf(call)) && landed(call))
      .flatMap(({ row }) => (row && isEffect(row) ? [row] : [])),
    callIds: new Set(open.map(({ toolCallId }) => toolCallId)),
  }
}

async function turnAt(
  messages: readonly UiMessage[],
  userAt: number,
  { cf, ids: { workflowId, nodeId }, model }: Where,
): Promise<EarlierTurn> {
  const ids = turnIdsOf({ workflowId, nodeId, messages: messages.slice(0, userAt + 1) })
  const past = await Past.load(cf, ids, model)
  const after = messages.slice(userAt + 1)
  const next = after.findIndex(({ role }) => role === 'user')
  const said = (next < 0 ? after : after.slice(0, next)).filter(({ role }) => role === 'assistant')
  const replies = said.flatMap(({ parts }) => repliesOf(parts as readonly UiPart[]))
  const parts = replies.flatMap((reply, n) => reply.map((part) => ({ part, reply: n })))
  return { past, userAt, messageId: messages[userAt]?.id ?? '', parts }
}

function openCalls(turn: EarlierTurn): OpenCall[] {
  const { past } = turn
  const named = turn.parts.filter(({ part }) => isCall(part))
  const taken = new Set<Row>()
  const rowOf = (tool: string, ids: readonly string[]) => {
    const rows = past.at(
      tool,
      ids.map((id) => occurrenceOf(id, 0)),
    )
    const row = rows.findLast((each) => !taken.has(each)) ?? null
    if (row) taken.add(row)
    return row
  }
  // Those at their own place first: an id may come again in a later reply.
  const own = named.map(({ part, reply }) => rowOf(toolOf(part), idsOf(past, part, reply)))
  const shown = named.map(({ part, reply }, n): OpenCall => {
    const [tool, toolCallId] = [toolOf(part), part.toolCallId ?? '']
    const row = own[n] ?? rowOf(tool, everywhere(past, toolCallId))
    const callId = idOf(past, row, toolCallId) ?? placeId(past.generation, reply, toolCallId)
    const nth = row?.nth ?? occurrenceOf(callId, 0)
    return { turn, tool, toolCallId, input: part.input, row, nth, callId, part }
  })
  const open = shown.filter(({ part }) => part && isOpen(part))
  if (isSeenToItsEnd(turn)) return open
  const places = new Set(shown.map(({ tool, nth }) => `${tool}#${nth}`))
  return [...open, ...past.asked.filter(isLast).flatMap(unshown)]

  function isLast({ generation }: AskedCall): boolean {
    return generation === past.generation
  }

  function unshown({ toolName: tool, toolCallId, input, reply }: AskedCall): OpenCall[] {
    const callId = placeId(past.generation, reply, toolCallId)
    const row = rowOf(tool, placeIds(past.generation, reply, toolCallId))
    const nth = row?.nth ?? occurrenceOf(callId, 0)
    if (places.has(`${tool}#${nth}`) || row?.replayClass === 'pure' || row?.status === 'failed')
      return []
    if (row === null && !past.isAnswered(tool, nth, null)) return []
    return [{ turn, tool, toolCallId, input, row, nth, callId, part: null }]
  }
}

function isOpen(part: UiPart): boolean {
  return !isOver(part) || part.state === 'approval-responded'
}

function idsOf({ generation }: Past, { toolCallId = '' }: UiPart, reply: number): string[] {
  return placeIds(generation, reply, toolCallId)
}

/** In whatever reply and generation. */
function everywhere({ generation, asked, cut }: Past, toolCallId: string): string[] {
  const repliesMax = Math.max(0, ...[...asked, ...cut].map(({ reply }) => reply))
  const ids: string[] = []
  for (let g = 0; g <= generation; g++) {
    for (let reply = 0; reply <= repliesMax; reply++) ids.push(...placeIds(g, reply, toolCallId))
  }
  return ids
}

function idOf(past: Past, row: Row | null, toolCallId: string): string | null {
  const isIt = (id: string) => occurrenceOf(id, 0) === row?.nth
  return row && (everywhere(past, toolCallId).find(isIt) ?? null)
}

/** Its client has the last words: it was told of all that came before. */
function isSeenToItsEnd({ past: { lastWords }, parts }: EarlierTurn): boolean {
  const text = parts.map(({ part }) => (part.type === 'text' ? (part.text ?? '') : '')).join('')
  return lastWords !== null && text.includes(lastWords)
}

function nameOf({ turn: { messageId }, nth }: OpenCall): string {
  return `${messageId}/${nth}`
}

/** Calls that the client was told of by a data part. */
function shownIn(messages: readonly UiMessage[]): Set<unknown> {
  const parts = messages.flatMap(({ parts: all }) => all as readonly UiPart[])
  const told = parts.filter(({ type }) => type === outcomeType)
  return new Set(told.map(({ data }) => (data as Partial<OutcomeData> | undefined)?.call))
}

/** What its row says. Null if it was never sent. */
function answerOf({ row, turn: { past } }: OpenCall): Answer | null {
  if (row === null) return null
  if (isTrusted(row)) {
    return { state: 'done', output: fromPlain(JSON.parse(row.resultJson ?? 'null')) }
  }
  if (row.status === 'failed') {
    const { kind, message } = JSON.parse(row.errorJson ?? '{}') as Partial<FailureData>
    const unknown = kind === 'unknown' ? `; ${isUnknown}` : ''
    return { state: 'failed', message: `${message ?? 'it failed'}${unknown}` }
  }
  if (past.abandoned)
    return { state: 'given_up', message: `a person has given it up; ${isUnknown}` }
  const message = 'it was sent, and a person looks at what became of it: it must not be made again'
  return { state: 'open', message }
}

const isUnknown = 'nobody knows whether it happened: it must not be made again'

function outcomeOf(call: OpenCall, answer: Answer | null): OutcomeData[] {
  if (answer === null || answer.state === 'open') return []
  const { tool, toolCallId, turn } = call
  const { state } = answer
  const what = { call: nameOf(call), messageId: turn.messageId, toolCallId, tool }
  return [state === 'done' ? { ...what, ...answer } : { ...what, state, message: answer.message }]
}

/** A call that is not on record was never sent: the model is not told that it asked for it. */
function told(
  messages: readonly UiMessage[],
  known: ReadonlyMap<OpenCall, Answer | null>,
): readonly UiMessage[] {
  const parts = new Map<unknown, UiPart[]>()
  const added = new Map<number, UiPart[]>()
  for (const [call, answer] of known) {
    const part = answer ? [partOf(call, answer)] : []
    if (call.part) parts.set(call.part, part)
    else added.set(call.turn.userAt, [...(added.get(call.turn.userAt) ?? []), ...part])
  }
  return messages.flatMap((message, n) => {
    const own = message.parts.flatMap((part) => parts.get(part) ?? [part])
    const more = added.get(n) ?? []
    const mended = { ...message, parts: own }
    if (more.length === 0) return [mended]
    // Right behind the message of the user: the words that the client has came before or after.
    const id = `counterfoil-${message.id}`
    return [mended, { id, role: 'assistant', parts: [{ type: 'step-start' }, ...more] }]
  })
}

function partOf({ part, tool, toolCallId, input }: OpenCall, answer: Answer): UiPart {
  const { approval: _, ...rest } = part ?? { type: `tool-${tool}`, toolCallId, input: wire(input) }
  return answer.state === 'done'
    ? { ...rest, state: 'output-available', output: answer.output }
    : { ...rest, state: 'output-error', errorText: answer.message }
}

/** As a browser would have it. */
function wire(input: unknown): unknown {
  return JSON.parse(JSON.stringify(toPlain(input) ?? null))
}
