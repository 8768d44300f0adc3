// Calls of earlier turns whose end the client does not know, and what can be said of them.
import type { Counterfoil, Tool } from '../../../index.ts'
import { occurrenceOf } from '../../../model/run/scope.ts'
import { type AskedCall, isEffect, type Past, type PlainIds, type Row } from '../past.ts'
import { placeId, placeIds } from '../places.ts'
import type { ShownStep } from './answer.ts'
import { isCall, isEnded, textOf, toolOf, type UiPart } from './parts.ts'

/** A call of an earlier turn of whose end the client does not tell. */
export interface OpenCall {
  readonly turn: EarlierTurn
  readonly tool: string
  readonly toolCallId: string
  readonly input: unknown
  readonly row: Row | null
  /** What a decision about it is bound to. */
  readonly nth: number
  readonly callId: string
  /** Where the client's messages have it; null if they do not. */
  readonly part: UiPart | null
}

export interface EarlierTurn {
  readonly past: Past
  readonly userAt: number
  readonly messageId: string
  /** Unlike any other of the chat, former versions of the same message included. */
  readonly name: string
  readonly steps: readonly ShownStep[]
}

/** What is known of a call. */
export type Answer =
  | { readonly state: 'done'; readonly output: unknown; readonly landed: true }
  | {
      readonly state: 'failed' | 'given_up' | 'open'
      readonly message: string
      /** It may have had its effect all the same. */
      readonly landed: boolean
    }

/** Where they are looked for, and settled. */
export interface Where {
  readonly cf: Counterfoil
  readonly ids: PlainIds
  /** What the model's calls are called in the ledger. */
  readonly model: string
  readonly tools: ReadonlyMap<string, Tool>
  /** Takes the scope of the present turn anew: what was settled is no longer open to it. */
  readonly anew: () => Promise<void>
}

export function openCalls(turn: EarlierTurn): OpenCall[] {
  const { past } = turn
  const { rowAt, shown } = shownCalls(turn)
  const open = shown.filter(({ part, row }) => part !== null && isOpen(part, row))
  if (isSeenToItsEnd(turn)) return open
  const places = new Set(shown.map(({ tool, nth }) => `${tool}#${nth}`))
  return [...open, ...past.asked.filter(isLast).flatMap(unshown)]

  function isLast({ generation }: AskedCall): boolean {
    return generation === past.generation
  }

  function unshown({ toolName: tool, toolCallId, input, reply }: AskedCall): OpenCall[] {
    const callId = placeId(past.generation, reply, toolCallId)
    const row = rowAt(tool, placeIds(past.generation, reply, toolCallId))
    const nth = row?.nth ?? occurrenceOf(callId, 0)
    if (places.has(`${tool}#${nth}`) || row?.replayClass === 'pure') return []
    if (row?.status === 'failed' && !isEffect(row)) return []
    if (row === null && !past.isAnswered(tool, nth, null)) return []
    return [{ turn, tool, toolCallId, input, row, nth, callId, part: null }]
  }
}

/** Calls that generations before this one have sent, and that may have had an effect. */
export function sentCalls(turn: EarlierTurn, before: number): OpenCall[] {
  const { past } = turn
  const taken = new Set<Row>()
  return past.asked
    .filter(({ generation }) => generation < before)
    .flatMap(({ generation, reply, toolName: tool, toolCallId, input }) => {
      const callId = placeId(generation, reply, toolCallId)
      const places = placeIds(generation, reply, toolCallId).map((id) => occurrenceOf(id, 0))
      const row = past.at(tool, places).findLast((each) => isEffect(each) && !taken.has(each))
      if (row === undefined) return []
      taken.add(row)
      return [{ turn, tool, toolCallId, input, row, nth: row.nth, callId, part: null }]
    })
}

/** The calls that the client shows, with their rows; a row is one call's. */
function shownCalls(turn: EarlierTurn) {
  const { past, steps } = turn
  const taken = new Set<Row>()
  const rowAt = (tool: string, ids: readonly string[]) => {
    const places = ids.map((id) => occurrenceOf(id, 0))
    const row = past.at(tool, places).findLast((each) => !taken.has(each)) ?? null
    if (row) taken.add(row)
    return row
  }
  const named = steps
    .flatMap(({ reply, parts }) => parts.filter(isCall).map((part) => ({ part, reply })))
    // A reply that was begun twice: the one that shows the end of the call has it.
    .sort((a, b) => Number(isEnded(b.part)) - Number(isEnded(a.part)))
  // Those at their own place first: an id may come again in a later reply.
  const own = named.map(({ part, reply }) => {
    const ids = reply === null ? [] : placeIds(past.generation, reply, part.toolCallId ?? '')
    return rowAt(toolOf(part), ids)
  })
  const shown = named.map(({ part, reply }, n): OpenCall => {
    const [tool, toolCallId] = [toolOf(part), part.toolCallId ?? '']
    const row = own[n] ?? rowAt(tool, everywhere(past, toolCallId))
    const callId = idOf(past, row, toolCallId) ?? placeId(past.generation, reply ?? 0, toolCallId)
    const nth = row?.nth ?? occurrenceOf(callId, 0)
    return { turn, tool, toolCallId, input: part.input, row, nth, callId, part }
  })
  return { rowAt, shown }
}

/** Its end is not told, or not as it is on record: one of two tabs may have denied it too late. */
function isOpen(part: UiPart, row: Row | null): boolean {
  const isDenied = part.approval?.approved === false
  return !isEnded(part) || (isDenied && row !== null && isEffect(row))
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

/**
 * Its client has the words of all replies, each in a step of its own, the last included: it was
 * told of all that came before, even if its app leaves calls out. A last reply without words proves
 * nothing.
 */
function isSeenToItsEnd({ past, steps }: EarlierTurn): boolean {
  const { lastWords } = past
  if (lastWords === null || lastWords.trim() === '') return false
  const words = past.repliesOf(past.generation).map(({ text }) => text.trim())
  const shown = steps.map(({ parts }) => textOf(parts))
  let at = 0
  for (const said of words.filter((text) => text !== '')) {
    const found = shown.findIndex((text, n) => n >= at && text.includes(said))
    if (found < 0) return false
    at = found + 1
  }
  return true
}
