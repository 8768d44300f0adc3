// The outcomes of an item as one table: in what words each is offered, what follows from it, and
// what has to be said with it. `decide`, the server, the CLI, the console and the adapters ask
// here, so that what is offered is what is taken.
import {
  type DoubtReason,
  type Item,
  isAsked,
  type Outcome,
  type UnmatchedCall,
} from '../records.ts'
import { isAboutSent } from '../replay/entry.ts'
import { neededFor } from '../vote.ts'

/** `if_pending`: use_record states that a record without a receipt happened, and its result. */
type NeedsResult = 'required' | 'optional' | 'if_pending' | 'none'

interface Row {
  readonly label: string | ((item: Item) => string)
  readonly consequence: string | ((item: Item) => string)
  /** Whether a result belongs to it: what the call is answered with. */
  readonly result?: NeedsResult
  /** It is about one of the item's unmatched records. */
  readonly record?: true
  /** Says of what was sent that it will not land: locked while it still may (I5). */
  readonly denies?: true
  /** Ends something, or sends something that may be there already. */
  readonly grave?: true
  /** A yes needs no more words. */
  readonly reasonOptional?: true
}

const table: Readonly<Record<Outcome, Row>> = {
  happened: {
    label: 'It happened',
    consequence: (item) => `${toolOf(item)} is not sent. The run goes on with the result you give.`,
    result: 'optional',
  },
  did_not_happen: {
    label: 'It did not happen',
    consequence: (item) => `${toolOf(item)} is sent once more. If it did happen, it happens twice.`,
    denies: true,
    grave: true,
  },
  fail: {
    label: (item) => (item.kind === 'question' ? 'Give no answer' : 'Fail the call'),
    consequence: failed,
    denies: true,
    grave: true,
  },
  abandon: {
    label: 'Abandon the run',
    consequence: 'The run ends as failed, now. Nothing that was done is undone.',
    grave: true,
  },
  use_record: {
    label: 'Use this record',
    consequence: (item) => `${toolOf(item)} is answered with that record. Nothing is sent.`,
    result: 'if_pending',
    record: true,
  },
  send: {
    label: (item) => (isCompared(item) ? 'None of them: send' : 'Send it once more'),
    consequence: sent,
    grave: true,
  },
  retire_record: {
    label: 'Retire a record',
    consequence: retired,
    record: true,
  },
  respond: {
    label: 'Respond',
    consequence: (item) =>
      item.kind === 'approval'
        ? 'Neither yes nor no: the run goes on with your answer.'
        : 'The run goes on with your answer.',
    result: 'required',
    reasonOptional: true,
  },
  approve: {
    label: 'Approve',
    consequence: approved,
    result: 'none',
    reasonOptional: true,
  },
  edit: {
    label: 'Edit and approve',
    consequence: 'The run goes on with what you have written instead of what was shown.',
    result: 'required',
  },
  reject: {
    label: 'Reject',
    consequence:
      'The run is told that you rejected it, and why; its own code decides what follows.',
    result: 'none',
    grave: true,
  },
  pin: {
    label: 'Pin an earlier checkpoint',
    consequence:
      'The run goes back to an earlier, good checkpoint. What was done since stays on record.',
    result: 'none',
  },
  resume: {
    label: 'Resume',
    consequence:
      'The run is given to a worker again. If it kills that one too, it comes back here.',
    result: 'none',
  },
}

const doubtOutcomes: Readonly<Record<DoubtReason, readonly Outcome[]>> = {
  unknown: ['happened', 'did_not_happen', 'fail', 'abandon'],
  tampered: ['happened', 'fail', 'abandon'],
  drift: ['use_record', 'send', 'retire_record', 'fail', 'abandon'],
  unresolved: ['happened', 'send', 'fail', 'abandon'],
  same_effect: ['use_record', 'send', 'fail', 'abandon'],
  key_conflict: ['happened', 'fail', 'abandon'],
  checkpoint: ['pin', 'abandon'],
  failed: ['send', 'happened', 'fail'],
  poison: ['resume', 'abandon'],
}

/** The outcomes that an item can be decided with. */
export function outcomesOf(item: Item): readonly Outcome[] {
  if (item.kind === 'question') return ['respond', 'fail', 'abandon']
  if (item.kind === 'approval') {
    const held = !isAsked(item.body.subject?.tool ?? '')
    // Where several have to agree, it is to one and the same thing.
    const edits: readonly Outcome[] = neededFor(item.body.approval, 'approve') > 1 ? [] : ['edit']
    const ends: readonly Outcome[] = held ? ['abandon'] : ['respond', 'abandon']
    return ['approve', ...edits, 'reject', ...ends]
  }
  if (item.reason === 'drift' && item.body.subject === null) return ['retire_record', 'abandon']
  const all = item.reason ? doubtOutcomes[item.reason] : []
  return all.filter((outcome) => isPossible(item, outcome))
}

/** Whether the item has what the outcome is about. */
function isPossible(item: Item, outcome: Outcome): boolean {
  if (outcome === 'use_record') return recordsFor(item, outcome).length > 0
  return outcome !== 'pin' || (item.body.damage?.good.length ?? 0) > 0
}

/** The unmatched records that an outcome may name: only one of the same tool can answer a call. */
export function recordsFor({ body }: Item, outcome: Outcome): readonly UnmatchedCall[] {
  if (table[outcome]?.record !== true) return []
  if (outcome === 'retire_record') return body.unmatched
  // One that did not happen answers nothing.
  const canAnswer = ({ tool, status }: UnmatchedCall) =>
    tool === body.subject?.tool && status !== 'failed'
  return body.unmatched.filter(canAnswer)
}

/** An outcome as it is offered. */
export interface Choice {
  readonly outcome: Outcome
  readonly label: string
  readonly consequence: string
  readonly result: NeedsResult
  readonly reasonOptional: boolean
  readonly grave: boolean
  /** Null, or until when it cannot be said without `madeSure`, and why. */
  readonly locked: Lock | null
}

export interface Lock {
  /** Infinity while an earlier attempt may still be running. */
  readonly until: number
  readonly why: string
}

export function choiceOf(item: Item, outcome: Outcome, locked: Lock | null): Choice {
  const { label, consequence, ...row } = table[outcome]
  const result = needsResult(item, outcome)
  const { grave = false, reasonOptional = false } = row
  const words = { label: said(label, item), consequence: said(consequence, item) }
  return { outcome, ...words, result, reasonOptional, grave, locked }
}

/** Whether an outcome takes a result at all, and whether it can be said without one. */
export function needsResult({ body }: Pick<Item, 'body'>, outcome: Outcome): NeedsResult {
  const needs = table[outcome]?.result ?? 'none'
  // Its tool has a schema for what it answers, and does not say that it may be left out.
  const known = outcome === 'happened' && body.answer?.optional === false
  return known ? 'required' : needs
}

export function deniesAttempts({ reason }: Item, outcome: Outcome): boolean {
  return isAboutSent(reason) && table[outcome]?.denies === true
}

function said(words: string | ((item: Item) => string), item: Item): string {
  return typeof words === 'string' ? words : words(item)
}

/** The call itself was not sent: a person compares it with records. */
function isCompared({ reason }: Item): boolean {
  return reason === 'drift' || reason === 'same_effect'
}

function toolOf(item: Item): string {
  return item.body.subject?.tool ?? 'the call'
}

function failed(item: Item): string {
  if (isAsked(toolOf(item))) {
    return 'The run is told that nobody answers; its own code decides what follows.'
  }
  if (isCompared(item)) {
    return `${toolOf(item)} is not sent: the run sees an error. The records stay as they are.`
  }
  return (
    `The run is told that ${toolOf(item)} failed and that nobody knows whether it happened. ` +
    'The same call again comes back here.'
  )
}

function sent(item: Item): string {
  if (!isCompared(item)) {
    return `${toolOf(item)} is sent. If it did happen before, it happens twice.`
  }
  return (
    `${toolOf(item)} is sent, with its present input. If one of the records is the same call, ` +
    `it happens twice. The records stay as they are.${openEnded(item)}`
  )
}

/** Somebody who edits a call after a crash must not overlook that the first may have gone out. */
function openEnded({ body }: Item): string {
  const open = body.unmatched.filter(({ status }) => status === 'pending' || status === 'in_doubt')
  if (open.length === 0) return ''
  const tools = [...new Set(open.map(({ tool }) => tool))].join(', ')
  return (
    ` Of ${open.length} of them (${tools}) nobody knows yet whether it happened: find that out ` +
    'first.'
  )
}

function retired({ body }: Item): string {
  const kept = 'No call will claim that record any more; it stays on record.'
  if (body.subject === null) return `${kept} Nothing is sent.`
  return `${kept} If no other is left, ${body.subject.tool} is sent when the run goes on.`
}

function approved(item: Item): string {
  if (isAsked(toolOf(item))) return 'The run goes on with what was shown to you.'
  return `${toolOf(item)} is sent, with exactly what was shown to you.`
}
