// The outcomes of an item as one table: in what words each is offered, what follows from it, and
// what has to be said with it. `decide`, the server, the CLI, the console and the adapters ask
// here, so that what is offered is what is taken.

import { isAboutSent } from '../replay/entry.ts'
import {
  type DoubtReason,
  type Item,
  type ItemKind,
  isAsked,
  type Outcome,
  outcomes,
  type Remark,
  type UnmatchedCall,
} from '../run/records.ts'
import { neededFor } from './vote.ts'

/** `if_pending`: use_record states that a record without a receipt happened, and its result. */
type NeedsResult = 'required' | 'optional' | 'if_pending' | 'none'

/** What a result is checked by: what the tool returns, what it is sent, or nothing. */
type Fits = 'output' | 'input' | 'free'

interface Row {
  readonly label: string | ((item: Item) => string)
  readonly consequence: string | ((item: Item) => string)
  /** Whether a result belongs to it: what the call is answered with. */
  readonly result?: NeedsResult
  readonly fits?: Fits
  /** It is about one of the item's unmatched records. */
  readonly record?: true
  /** Says of what was sent that it will not land: locked while it still may (I5). */
  readonly denies?: true
  /** Ends something, or sends something that may be there already. */
  readonly grave?: true
  /** A yes needs no more words. */
  readonly reasonOptional?: true
  /** Allows one send, which is used up by it. */
  readonly grants?: true
  /** It states what became of the world: whoever says so may point to a proof. */
  readonly proves?: true
  /** How the call itself ends, or goes on; others are about a record or the whole run. */
  readonly call?: true
  /** A person's word in the place of the tool's own answer. */
  readonly answers?: true
  /**
   * Can be said of many without looking into each: it needs no result and no record, and sends
   * nothing that a record may have sent.
   */
  readonly many?: true
  /** Can be said by a link in a mail. */
  readonly link?: true
  /** Said by a way of its own, which takes more than a decision has. */
  readonly pins?: true
}

const table: Readonly<Record<Outcome, Row>> = {
  happened: {
    label: 'It happened',
    consequence: (item) => `${toolOf(item)} is not sent. The run goes on with the result you give.`,
    result: 'optional',
    fits: 'output',
    proves: true,
    call: true,
    answers: true,
  },
  did_not_happen: {
    label: 'It did not happen',
    consequence: (item) => `${toolOf(item)} is sent once more. If it did happen, it happens twice.`,
    denies: true,
    grave: true,
    grants: true,
    proves: true,
    call: true,
    many: true,
  },
  fail: {
    label: (item) => (item.kind === 'question' ? 'Give no answer' : 'Fail the call'),
    consequence: failed,
    denies: true,
    grave: true,
    proves: true,
    call: true,
    answers: true,
    many: true,
  },
  abandon: {
    label: 'Abandon the run',
    consequence: 'The run ends as failed, now. Nothing that was done is undone.',
    grave: true,
    many: true,
  },
  use_record: {
    label: 'Use this record',
    consequence: (item) => `${toolOf(item)} is answered with that record. Nothing is sent.`,
    result: 'if_pending',
    fits: 'output',
    record: true,
    proves: true,
    call: true,
    answers: true,
  },
  send: {
    label: (item) => (isCompared(item) ? 'None of them: send' : 'Send it once more'),
    consequence: sent,
    grave: true,
    grants: true,
    proves: true,
    call: true,
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
    fits: 'free',
    reasonOptional: true,
    call: true,
  },
  approve: {
    label: 'Approve',
    consequence: approved,
    reasonOptional: true,
    call: true,
    many: true,
    link: true,
  },
  edit: {
    label: 'Edit and approve',
    consequence: 'The run goes on with what you have written instead of what was shown.',
    result: 'required',
    fits: 'input',
    call: true,
  },
  reject: {
    label: 'Reject',
    consequence:
      'The run is told that you rejected it, and why; its own code decides what follows.',
    grave: true,
    call: true,
    many: true,
    link: true,
  },
  pin: {
    label: 'Pin an earlier checkpoint',
    consequence:
      'The run goes back to an earlier, good checkpoint. What was done since stays on record.',
    pins: true,
  },
  resume: {
    label: 'Resume',
    consequence:
      'The run is given to a worker again. If it kills that one too, it comes back here.',
    many: true,
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

const askOutcomes: Readonly<Record<Exclude<ItemKind, 'doubt'>, readonly Outcome[]>> = {
  question: ['respond', 'fail', 'abandon'],
  approval: ['approve', 'edit', 'reject', 'respond', 'abandon'],
}

/** The outcomes that an item can be decided with. */
export function outcomesOf(item: Item): readonly Outcome[] {
  return listed(item.kind, item.reason).filter((outcome) => isPossible(item, outcome))
}

/** All that such an item may be decided with; what is missing in one of them is left out there. */
export function listed(kind: ItemKind, reason: DoubtReason | null): readonly Outcome[] {
  if (kind !== 'doubt') return askOutcomes[kind]
  return reason === null ? [] : doubtOutcomes[reason]
}

/** Whether the item has what the outcome is about. */
function isPossible(item: Item, outcome: Outcome): boolean {
  const { body } = item
  if (table[outcome].record) return recordsFor(item, outcome).length > 0
  if (table[outcome].pins) return (body.damage?.good.length ?? 0) > 0
  // Records that were left behind wait for no call that could be answered or sent.
  if (item.reason === 'drift' && body.subject === null) return table[outcome].call !== true
  if (item.kind !== 'approval') return true
  // Where several have to agree, it is to one and the same thing.
  if (outcome === 'edit') return neededFor(body.approval, 'approve') === 1
  return outcome !== 'respond' || isAsked(body.subject?.tool ?? '')
}

/** The unmatched records that an outcome may name: only one of the same tool can answer a call. */
export function recordsFor({ body }: Item, outcome: Outcome | Remark): readonly UnmatchedCall[] {
  if (!isMarked(outcome, 'record')) return []
  if (!isMarked(outcome, 'call')) return body.unmatched
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
  /** What its result is checked by; null if it takes none. */
  readonly fits: Fits | null
  /** One of these records is meant. */
  readonly records: readonly UnmatchedCall[]
  readonly reasonOptional: boolean
  readonly proves: boolean
  readonly grave: boolean
  /** It is said by pinning a checkpoint (`run.pin`), not by a decision. */
  readonly pins: boolean
  /** It allows one more send: said of what was sent, it needs a look that was late enough. */
  readonly grants: boolean
  /** Whether it can ever be locked: then a look counts only if it was taken late enough. */
  readonly denies: boolean
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
  const { grave = false, reasonOptional = false, proves = false } = row
  const { pins = false, grants = false } = row
  const words = { label: said(label, item), consequence: said(consequence, item) }
  const needs = { result, fits: row.fits ?? null, records: recordsFor(item, outcome) }
  const denies = deniesAttempts(item, outcome)
  const marks = { reasonOptional, proves, grave, pins, grants, denies }
  return { outcome, ...words, ...needs, ...marks, locked }
}

/** The outcomes that have this mark in the table, in its order. */
export function outcomesThat<Mark extends keyof Row>(mark: Mark): readonly Outcome[] {
  return outcomes.filter((outcome) => table[outcome][mark] === true)
}

/** Whether an outcome has a mark of the table; what is no person's decision has none. */
export function isMarked(outcome: string, mark: keyof Row): boolean {
  return rowOf(outcome)?.[mark] === true
}

/** What the result of an outcome is checked by. */
export function fitsOf(outcome: Outcome): Fits | null {
  return rowOf(outcome)?.fits ?? null
}

/** What a program or a request calls an outcome may be none. */
function rowOf(outcome: string): Row | undefined {
  return Object.hasOwn(table, outcome) ? table[outcome as Outcome] : undefined
}

/** Whether an outcome takes a result at all, and whether it can be said without one. */
export function needsResult({ body }: Pick<Item, 'body'>, outcome: Outcome): NeedsResult {
  const needs = rowOf(outcome)?.result ?? 'none'
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
