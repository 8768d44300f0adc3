// Earlier turns of a chat, as far as the client's messages do not tell what became of their calls:
// the user has stopped them, or went on before a person had decided. What is on record is told to
// the model and to the client. It is looked at while the conversation is held, so that nothing of
// an earlier request is still under way.
import type { FailureData } from '../../../model/errors.ts'
import { fromPlain, toPlain } from '../codec.ts'
import { isEffect, isTrusted, messageOf, Past, turnIdsOf, type UiMessage } from '../past.ts'
import type { EarlierFacts } from '../turn.ts'
import { stepsOf, withoutCopies } from './answer.ts'
import { type OutcomeData, outcomeType } from './data.ts'
import {
  type Answer,
  type EarlierTurn,
  type OpenCall,
  openCalls,
  sentCalls,
  type Where,
} from './open-call.ts'
import { isCall, isEnded, toolOf, type UiPart } from './parts.ts'
import { settle } from './settle.ts'

export interface Earlier extends EarlierFacts {
  /** With all that is known. */
  readonly messages: readonly UiMessage[]
  /** For the client, which does not know. */
  readonly outcomes: readonly OutcomeData[]
}

export async function lookBack(all: readonly UiMessage[], where: Where): Promise<Earlier> {
  const messages = withoutCopies(all)
  const present = messages.findLastIndex(({ role }) => role === 'user')
  const asked = messages.flatMap(({ role }, n) => (role === 'user' && n < present ? [n] : []))
  const turns = await Promise.all(asked.map((n) => turnAt(messages, n, where)))
  const replaced = await replacedTurns(messages, where)
  const open = [...turns.flatMap(openCalls), ...replaced.flatMap(openCalls).filter(isUnderWay)]
  const answered = open.filter(({ turn, tool, nth, row }) => turn.past.isAnswered(tool, nth, row))
  const answers = await settle(answered, where)
  const known = new Map(open.map((call) => [call, answers.get(call) ?? answerOf(call)] as const))
  const shown = shownIn(messages)
  // Until the user sends another message, it is news.
  const before = shownIn(messages.slice(0, present))
  const landed = (call: OpenCall) => known.get(call)?.landed === true
  return {
    messages: told(messages, known, present),
    outcomes: open
      .filter((call) => !shown.has(nameOf(call)))
      .flatMap((call) => outcomeOf(call, known.get(call) ?? null)),
    effects: open
      .filter((call) => !before.has(nameOf(call)) && landed(call))
      .flatMap(({ row }) => (row && row.replayClass !== 'pure' ? [row] : [])),
    callIds: new Set(open.map(({ toolCallId }) => toolCallId)),
  }
}

/**
 * What earlier generations of the present turn have done. A client that asks for an answer anew
 * leaves the old one out of its messages: nobody knows whether its user has seen how it ended. It
 * stands all the same, and whoever approves a call of the new answer has to know.
 */
export function replacedOutcomes(
  messages: readonly UiMessage[],
  past: Past,
  generation: number,
): OutcomeData[] {
  const userAt = messages.findLastIndex(({ role }) => role === 'user')
  const shown = shownIn(messages)
  const parts = messages.slice(userAt + 1).flatMap((message) => message.parts as UiPart[])
  const ended = parts.filter((part) => isCall(part) && isEnded(part))
  const messageId = messages[userAt]?.id ?? ''
  const turn = { past, userAt, messageId, name: messageId, steps: [] }
  return sentCalls(turn, generation)
    .filter((call) => !shown.has(nameOf(call)))
    .filter(({ tool, toolCallId }) => !ended.some((part) => isNamed(part, tool, toolCallId)))
    .flatMap((call) => outcomeOf(call, answerOf(call)))
}

function isNamed(part: UiPart, tool: string, toolCallId: string): boolean {
  return part.toolCallId === toolCallId && toolOf(part) === tool
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
  const steps = stepsOf(said, past, past.generation)
  const messageId = messages[userAt]?.id ?? ''
  return { past, userAt, messageId, name: messageId, steps }
}

/** Versions of messages before they were edited, that have left calls open. */
async function replacedTurns(
  messages: readonly UiMessage[],
  { cf, ids: { workflowId, nodeId }, model }: Where,
): Promise<EarlierTurn[]> {
  if (messages.length === 0) return []
  const calls = await cf.store.openCalls({ namespace: cf.namespace, runId: workflowId })
  const places = new Set(
    calls.flatMap((call) => (call.nodeId === nodeId ? [call.checkpointId] : [])),
  )
  const turns = [...places].flatMap((checkpointId) => {
    const userAt = messages.findIndex(({ id, role }) => {
      return role === 'user' && id === messageOf(checkpointId)
    })
    const version = messages.slice(0, userAt + 1)
    const isReplaced = userAt >= 0 && turnAtEnd(version) !== checkpointId
    return isReplaced ? [{ checkpointId, userAt, messageId: messages[userAt]?.id ?? '' }] : []
  })
  return Promise.all(
    turns.map(async ({ checkpointId, ...at }) => {
      const past = await Past.load(cf, { workflowId, nodeId, checkpointId }, model)
      return { ...at, past, name: checkpointId, steps: [] }
    }),
  )

  function turnAtEnd(version: readonly UiMessage[]): string {
    return turnIdsOf({ workflowId, nodeId, messages: version }).checkpointId
  }
}

/** What ended before was seen, or is told by the record next to which a new call is shown. */
function isUnderWay({ row }: OpenCall): boolean {
  return row !== null && row.status !== 'committed' && row.status !== 'failed'
}

function nameOf({ turn: { name }, nth }: OpenCall): string {
  return `${name}/${nth}`
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
    return { state: 'done', output: fromPlain(JSON.parse(row.resultJson ?? 'null')), landed: true }
  }
  const landed = isEffect(row)
  if (row.status === 'failed') {
    const { message } = JSON.parse(row.errorJson ?? '{}') as Partial<FailureData>
    const unknown = landed ? `; ${isUnknown}` : ''
    return { state: 'failed', message: `${message ?? 'it failed'}${unknown}`, landed }
  }
  if (past.abandoned) {
    return { state: 'given_up', message: `a person has given it up; ${isUnknown}`, landed }
  }
  const message = 'it was sent, and a person looks at what became of it: it must not be made again'
  return { state: 'open', message, landed }
}

const isUnknown = 'nobody knows whether it happened: it must not be made again'

function outcomeOf(call: OpenCall, answer: Answer | null): OutcomeData[] {
  if (answer === null || answer.state === 'open') return []
  const { tool, toolCallId, turn } = call
  const what = { call: nameOf(call), messageId: turn.messageId, toolCallId, tool }
  const { landed: _, ...said } = answer
  return [{ ...what, ...said } as OutcomeData]
}

/** A call that is not on record was never sent: the model is not told that it asked for it. */
function told(
  messages: readonly UiMessage[],
  known: ReadonlyMap<OpenCall, Answer | null>,
  present: number,
): readonly UiMessage[] {
  const parts = new Map<unknown, UiPart[]>()
  const added = new Map<number, UiPart[]>()
  for (const [call, answer] of known) {
    const part = answer ? [partOf(call, answer)] : []
    if (call.part) parts.set(call.part, part)
    // What the present message has replaced is no part of the conversation.
    else if (call.turn.userAt < present)
      added.set(call.turn.userAt, [...(added.get(call.turn.userAt) ?? []), ...part])
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
