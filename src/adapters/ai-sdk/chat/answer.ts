// The answer to a message of the user, as its client shows it. A client may have it in several
// messages: one that gets a reply under another id goes on in a copy of the message before. It may
// show a reply twice, or pieces of one that broke off. So a reply is known by its place on record.
import { canonical } from '../../../model/json/canonical.ts'
import type { Past, RecordedReply, UiMessage } from '../past.ts'
import { wordsOf } from '../places.ts'
import type { ToolCall } from '../reply.ts'
import { isCall, isEnded, stepsIn, textOf, toolOf, type UiPart } from './parts.ts'

/** One step that the client shows. */
export interface ShownStep {
  /** Which reply of the turn it is; null if it asks for no calls, or is no reply of this turn. */
  readonly reply: number | null
  readonly parts: readonly UiPart[]
  /** It is in the message that a client goes on from. */
  readonly inLast: boolean
}

/** Without messages that the next one begins with a copy of. */
export function withoutCopies(messages: readonly UiMessage[]): readonly UiMessage[] {
  return messages.filter((message, n) => {
    const next = messages[n + 1]
    if (message.role !== 'assistant' || next?.role !== 'assistant') return true
    const [own, longer] = [message.parts, next.parts] as (readonly UiPart[])[]
    return !own?.every((part, at) => isCopy(part, longer?.[at]))
  })
}

/** In a copy, calls and data may be further than in what was copied. */
function isCopy(one: UiPart, two: UiPart | undefined): boolean {
  if (two === undefined || one.type !== two.type) return false
  return one.toolCallId === two.toolCallId && (one.text ?? '') === (two.text ?? '')
}

/** The steps of an answer, with the places of the replies that they show. */
export function stepsOf(answer: readonly UiMessage[], past: Past, generation: number): ShownStep[] {
  const steps = answer.flatMap((message) =>
    stepsIn(message.parts as readonly UiPart[]).map((parts) => {
      return { parts, inLast: message === answer.at(-1) }
    }),
  )
  const own = past.repliesOf(generation)
  let last = -1
  return steps.map(({ parts, inLast }) => {
    const reply = numberOf(parts.filter(isCall), { recorded: past.replies, own, last })
    last = Math.max(last, reply ?? -1)
    return { reply, parts, inLast }
  })
}

interface Known {
  readonly recorded: readonly RecordedReply[]
  readonly own: readonly RecordedReply[]
  /** The last reply before it. */
  readonly last: number
}

function numberOf(calls: readonly UiPart[], { recorded, own, last }: Known): number | null {
  if (calls.length === 0) return null
  const asking = (among: readonly RecordedReply[], is: typeof isNamed) =>
    among.filter((reply) => reply.calls.some((call) => calls.some((part) => is(part, call))))
  // A tool's schema, or a repair, may have changed the words that are on record. Ids alone may come
  // again in a later reply.
  for (const is of [isSaid, isNamed]) {
    const found = asking(own, is).map(({ reply }) => reply)
    const behind = found.filter((reply) => reply > last)
    if (behind.length > 0) return Math.min(...behind)
    if (found.length > 0) return Math.max(...found)
  }
  // Of a reply that broke off or of an earlier generation; or of one that never got on record, and
  // another stands in its place.
  const isOld = asking(recorded, isNamed).length > 0
  return isOld || own.some(({ reply }) => reply === last + 1) ? null : last + 1
}

export function isNamed(part: UiPart, { toolCallId, toolName }: ToolCall): boolean {
  return part.toolCallId === toolCallId && toolOf(part) === toolName
}

function isSaid(part: UiPart, call: ToolCall): boolean {
  return isNamed(part, call) && wordsOf(part.input) === wordsOf(call.input)
}

/** Each reply once, with all that is known of its calls. */
export function joinedSteps(
  steps: readonly ShownStep[],
  recorded: readonly RecordedReply[],
): ReadonlyMap<number, readonly UiPart[]> {
  const replies = new Map<number, readonly UiPart[]>()
  for (const { reply, parts } of steps) {
    if (reply === null) continue
    const own = recorded.filter((each) => each.reply === reply)
    const asked = (part: UiPart) => own.some(({ calls }) => calls.some((c) => isNamed(part, c)))
    const kept = own.length === 0 ? parts : parts.filter((part) => !isCall(part) || asked(part))
    const before = replies.get(reply)
    replies.set(reply, before ? joined(before, kept) : kept)
  }
  return replies
}

/** The words of whichever has more of them, and what is known last of each call. */
function joined(one: readonly UiPart[], two: readonly UiPart[]): readonly UiPart[] {
  const base = textOf(one).length > textOf(two).length ? one : two
  const calls = new Map<string, UiPart>()
  for (const part of [...one, ...two].filter(isCall)) {
    const known = calls.get(keyOf(part))
    if (known === undefined || stageOf(part) >= stageOf(known)) calls.set(keyOf(part), part)
  }
  const kept = base.flatMap((part) => {
    const known = isCall(part) ? calls.get(keyOf(part)) : part
    calls.delete(keyOf(part))
    return known ?? []
  })
  return [...kept, ...calls.values()]
}

function keyOf(part: UiPart): string {
  return canonical([toolOf(part), part.toolCallId ?? ''])
}

function stageOf(part: UiPart): number {
  if (isEnded(part)) return 3
  return ['approval-requested', 'approval-responded'].indexOf(part.state ?? '') + 1
}
