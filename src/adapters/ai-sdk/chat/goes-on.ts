// How much of the answer that the client shows the agent goes on from. What follows is read back
// from the ledger, or made: a call that broke off has no answer that the model could be told.
import { occurrenceOf } from '../../../model/run/scope.ts'
import { isEffect, type Past, type UiMessage } from '../past.ts'
import { type NamedCall, placeIds } from '../places.ts'
import { isNamed, joinedSteps, type ShownStep, stepsOf } from './answer.ts'
import { isCall, isCutOff, isData, isOver, textOf, toolOf, type UiPart } from './parts.ts'

export interface GoesOn {
  readonly messages: readonly UiMessage[]
  /** Calls that a person has approved, also those of a reply that is read back. */
  readonly approved: readonly NamedCall[]
  /** Some calls of the last reply wait for an approval: the model is not to be asked yet. */
  readonly waits: boolean
  /** The client shows the words of the reply that is read back first. */
  readonly shown: boolean
}

/** All messages behind the last one of the user are one answer, as far as its replies are whole. */
export function goesOnFrom(messages: readonly UiMessage[], past: Past, generation: number): GoesOn {
  const asked = messages.findLastIndex(({ role }) => role === 'user') + 1
  const answer = messages.slice(asked).filter(({ role }) => role === 'assistant')
  const others = messages.filter(({ role }, n) => n < asked || role !== 'assistant')
  const last = answer.at(-1)
  if (last === undefined) return { messages, approved: [], waits: false, shown: false }
  const steps = stepsOf(answer, past, generation)
  const replies = joinedSteps(steps, past.repliesOf(generation))
  const kept: (readonly UiPart[])[] = []
  for (;;) {
    const next = replies.get(kept.length)
    if (next === undefined || !isWhole(next, kept.length, { past, generation })) break
    kept.push(next)
  }
  // Under its id, so that what follows goes on in the same message.
  const start: UiPart = { type: 'step-start' }
  const said = kept.flatMap((reply, n) => [...(n === 0 ? [] : [start]), ...reply])
  const parts = [start, ...dataBefore(answer), ...said]
  return {
    messages: [...others, { ...last, parts }],
    approved: [...replies].flatMap(([reply, shown]) => approvedIn(shown, reply)),
    waits: (kept.at(-1) ?? []).some(({ state }) => state === 'approval-requested'),
    shown: isShown(steps, kept.length, { past, generation }),
  }
}

/** What came before the first step is no part of any reply, and is kept. */
function dataBefore(answer: readonly UiMessage[]): UiPart[] {
  return answer.flatMap(({ parts: all }) => {
    const parts = all as readonly UiPart[]
    const first = parts.findIndex((part) => !isData(part))
    return parts.slice(0, first < 0 ? parts.length : first)
  })
}

function approvedIn(parts: readonly UiPart[], reply: number): NamedCall[] {
  return parts.filter(isCall).flatMap((part) => {
    const { approval, toolCallId, input } = part
    if (approval?.approved !== true || !toolCallId) return []
    return [{ toolCallId, toolName: toolOf(part), input, reply }]
  })
}

interface Recorded {
  readonly past: Past
  readonly generation: number
}

/** All calls that it asks for have their answers; or some are to be made now, others later. */
function isWhole(parts: readonly UiPart[], reply: number, { past, generation }: Recorded): boolean {
  const calls = parts.filter(isCall)
  if (calls.length === 0 || isCutOff(parts)) return false
  const recorded = past.repliesOf(generation).filter((each) => each.reply === reply)
  const isAll = recorded.some((each) => each.calls.every((c) => calls.some((p) => isNamed(p, c))))
  if (recorded.length > 0 && !isAll) return false
  const ends = calls.filter((part) => isOver(part) && !isDeniedInVain(part))
  const responds = calls.some(({ state }) => state === 'approval-responded')
  const later = responds ? calls.filter(({ state }) => state === 'approval-requested') : []
  return ends.length + later.length === calls.length

  /** Somebody else has approved it before: what came of it is read back. */
  function isDeniedInVain(part: UiPart): boolean {
    if (part.approval?.approved !== false) return false
    const ids = placeIds(generation, reply, part.toolCallId ?? '')
    const places = ids.map((id) => occurrenceOf(id, 0))
    return past.at(toolOf(part), places).some(isEffect)
  }
}

/** Words that are read back are not shown twice. */
function isShown(
  steps: readonly ShownStep[],
  next: number,
  { past, generation }: Recorded,
): boolean {
  const before = steps.findLastIndex(({ reply }) => reply !== null && reply < next)
  const [said] = past.repliesOf(generation).filter(({ reply }) => reply === next)
  return steps.slice(before + 1).some(({ reply, parts, inLast }) => {
    if (isCutOff(parts) || !inLast) return false
    if (reply === next) return true
    return reply === null && said !== undefined && said.text !== '' && textOf(parts) === said.text
  })
}
