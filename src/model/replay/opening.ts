// What a visit finds when it begins: every record with all that was learnt about it since. Late
// evidence and decisions become answers here, and get the seq that orders them among the results.

import { votesOn } from '../decisions/vote.ts'
import { callKeyOfAttempt } from '../run/attempt-id.ts'
import {
  type Attempt,
  type CallRecord,
  type Decision,
  type Event,
  type Evidence,
  eventOf,
  type Item,
  isAsked,
  isHeld,
  keyOf,
  type Signal,
  type Subject,
} from '../run/records.ts'
import { answerOf, isBlindFailure, settledBy } from './answers.ts'
import { childJson, usedSignal } from './arrivals.ts'
import { unknownAttempts, usedAt } from './attempts.ts'
import { hasQuorum, isBound } from './bound.ts'
import { setAside } from './carried.ts'
import { askKey, type Entry, isAboutRecord, type PlaceRuling, placeKey } from './entry.ts'
import type { Sealed, VisitRows } from './rows.ts'
import { answeredWaits, SignalPool, spawnTool, trustedSignals } from './waits.ts'

/** Rows that must be durable before anything that follows from them. */
export interface OpeningChanges {
  readonly records: CallRecord[]
  readonly decisions: Decision[]
  readonly evidence: Evidence[]
  readonly events: Event[]
  readonly signals: Signal[]
}

export interface Opening {
  readonly entries: Map<string, Entry>
  readonly places: Map<string, PlaceRuling>
  /** What was said of failed calls whose run is tried again, by the key of the failed record. */
  readonly fates: Map<string, PlaceRuling>
  readonly abandoned: Decision | null
  /** Tool and input of calls failed without knowledge. */
  readonly unresolved: ReadonlySet<string>
  readonly changes: OpeningChanges
  /** What was sent to the run and nothing has taken. */
  readonly signals: SignalPool
  readonly seq: number
}

/** As the visit begins `at` this time; `signals`: what the visit before it has left untaken. */
export function openEntries(
  loaded: VisitRows,
  at: number,
  signals: SignalPool | null = null,
): Opening {
  const opening = new Opener(loaded, at, signals)
  const aside = setAside(loaded.records, loaded.run)
  for (const record of loaded.records) opening.addRecord(record, aside.has(record))
  // In the order in which they were said. Evidence comes last: a grant rules attempts out, so that
  // a late refusal of the last one left is a certain failure.
  for (const decision of loaded.decisions) opening.addDecision(decision)
  for (const evidence of loaded.evidence) opening.addEvidence(evidence)
  opening.answerWaits()
  return opening
}

class Opener implements Opening {
  readonly entries = new Map<string, Entry>()
  readonly places = new Map<string, PlaceRuling>()
  readonly fates = new Map<string, PlaceRuling>()
  readonly changes: OpeningChanges
  readonly unresolved = new Set<string>()
  abandoned: Decision | null = null
  seq = 0
  readonly signals: SignalPool
  private attempts: Map<string, Sealed<Attempt>[]> | null = null
  private readonly at: number
  private readonly loaded: VisitRows

  constructor(loaded: VisitRows, at: number, signals: SignalPool | null) {
    this.at = at
    this.loaded = loaded
    this.changes = { records: [], decisions: [], evidence: [], events: [], signals: [] }
    this.signals = signals ?? new SignalPool(trustedSignals(loaded.signals))
    for (const row of [...loaded.records, ...loaded.decisions, ...loaded.evidence]) {
      if (row.seq !== null && row.seq > this.seq) this.seq = row.seq
    }
    for (const call of loaded.unresolved) this.unresolved.add(askKey(call))
  }

  addRecord(row: Sealed<CallRecord>, aside: boolean): void {
    const { verifies } = row
    const key = keyOf(row)
    const settled = verifies ? settledBy(row) : null
    this.entries.set(key, {
      key,
      // What is settled is never written again: no copy without what is not the record's.
      record: settled ? row : plain(row),
      verifies,
      unknownAttempts: settled ? 0 : this.unknownAttempts(key, row),
      settled,
      ruling: null,
      grant: null,
      matched: false,
      skipped: false,
      retired: false,
      seen: false,
      retried: false,
      aside,
    })
  }

  private unknownAttempts(key: string, record: CallRecord): number {
    return unknownAttempts(record, this.attemptsOf(key), this.loaded.evidence)
  }

  /** Put together when first asked for: calls that are settled have no use for theirs. */
  private attemptsOf(key: string): readonly Sealed<Attempt>[] {
    if (this.attempts === null) {
      this.attempts = new Map()
      for (const attempt of this.loaded.attempts) {
        const own = callKeyOfAttempt(attempt.attemptId)
        const known = this.attempts.get(own)
        if (known) known.push(attempt)
        else this.attempts.set(own, [attempt])
      }
    }
    return this.attempts.get(key) ?? []
  }

  /** What a former holder reported after it had lost the run, or after the call's timeout. */
  addEvidence(row: Sealed<Evidence>): void {
    const entry = this.entries.get(callKeyOfAttempt(row.attemptId))
    if (!row.verifies || entry === undefined || entry.settled !== null || !entry.verifies) return
    if (row.outcome === 'landed') return this.settle(entry, row, 'committed')
    if (row.outcome === 'refused' && entry.unknownAttempts === 0) this.settle(entry, row, 'failed')
  }

  /** Waits that something has come for, or whose time is over. */
  answerWaits(): void {
    const over = answeredWaits(this.entries.values(), this.signals, this.at)
    for (const { entry, resultJson, signal } of over) {
      const seq = ++this.seq
      this.putRecord(entry, { status: 'committed', seq, resultJson })
      const settled = settledBy(entry.record)
      entry.settled = settled && { ...settled, fresh: true }
      if (signal) this.changes.signals.push(usedSignal(signal, this.loaded.run, entry.key))
    }
  }

  addDecision(row: Sealed<Decision>): void {
    const { verifies, ...decision } = row
    if (!verifies || decision.voidedAt !== null) return
    if (decision.outcome === 'abandon') {
      this.abandoned = decision
      return
    }
    if (decision.outcome === 'retire_record') {
      const retired = decision.record && this.entries.get(keyOf(decision.record))
      if (retired) retired.retired = true
      return
    }
    if (decision.subject === null) return
    const entry = this.entries.get(keyOf(decision.subject))
    if (decision.reason === 'failed') return this.ruleFailed(entry, decision)
    // A held call has a record of its own, whatever the doubt that kept it from being sent.
    if (entry && (isAboutRecord(decision) || isHeld(entry.record))) this.ruleRecord(entry, decision)
    else this.rulePlace(decision)
  }

  /**
   * The run is tried again: the failed record is nobody's any more, and its place gets what was
   * decided. A settled row is never rewritten, so a new send has a record of its own.
   */
  private ruleFailed(entry: Entry | undefined, decision: Decision): void {
    const attempts = entry ? this.attemptsOf(entry.key) : []
    const landed = attempts.some((attempt) => attempt.outcome === 'landed')
    // "Landed" voids a grant not yet used (I11): it stays failed, and a person is told when it is.
    if (decision.outcome === 'send' && decision.usedBy === null && landed) return
    if (entry) {
      entry.retired = true
      entry.matched = true
      entry.retried = true
      if (decision.outcome !== 'fail') this.unresolved.delete(askKey(entry.record))
    }
    const ruling = this.rulePlace(decision)
    if (entry && ruling) this.fates.set(entry.key, ruling)
  }

  private ruleRecord(entry: Entry, decision: Decision): void {
    // A trusted receipt stands, whether the decision made it or came later: the node has seen it.
    const receipt = entry.settled !== null && entry.verifies && entry.ruling === null
    if (decision.kind === 'approval' && (receipt || !this.counts(entry, decision))) return
    if (isHeld(entry.record) && (decision.outcome === 'approve' || decision.outcome === 'edit')) {
      entry.ruling = null
      entry.settled = null
      // What an altered row says is never sent: it is put before a person first.
      entry.grant = entry.verifies ? decision : null
      return
    }
    if (decision.outcome === 'did_not_happen') {
      const attempts = this.attemptsOf(entry.key)
      const { record } = entry
      const from = usedAt(decision)
      entry.unknownAttempts = unknownAttempts(record, attempts, this.loaded.evidence, from)
      entry.ruling = null // an earlier answer that could not be used
      entry.settled = settledBy(entry.record)
      const usable = decision.usedBy === null && entry.settled === null && entry.verifies
      entry.grant = usable ? decision : null
      return
    }
    if (receipt) return
    const known = this.sequence(decision)
    const votes = votesOn(this.loaded.decisions, known.itemId)
    const answer = answerOf(known, entry.record, votes)
    entry.settled = { ...answer, seq: known.seq, fresh: decision.seq === null }
    entry.ruling = known
    entry.grant = null
    if (isBlindFailure(known)) this.unresolved.add(askKey(entry.record))
  }

  /** What is said about an approval counts for what was shown, until the same is asked anew. */
  private counts({ record, key }: Entry, decision: Decision): boolean {
    // What let a held call pass says nothing about what became of it since.
    if (!isAsked(record.tool) && record.attempt > 0) return false
    const { items, decisions, run } = this.loaded
    const isHere = (subject: Subject | null) => subject !== null && keyOf(subject) === key
    const isAsking = ({ kind, state, body }: Item) =>
      kind === 'approval' && state === 'open' && isHere(body.subject)
    const last = decisions.findLast((row) => row.kind === 'approval' && isHere(row.subject))
    if (last?.decisionId !== decision.decisionId || items.some(isAsking)) return false
    const bound = isBound(decision, record, items)
    if (bound && hasQuorum(decision, record, this.loaded)) return true
    const message = bound
      ? `${decision.by} has approved it, but too few others have`
      : `what ${decision.by} was shown is not what the record says`
    const data = { tool: record.tool, message }
    this.changes.events.push(eventOf(run, this.at, 'decision_unusable', data))
    return false
  }

  private rulePlace(decision: Decision): PlaceRuling | null {
    const { subject } = decision
    const ruling = subject && this.rulingBy(decision)
    if (ruling) this.places.set(placeKey(subject.tool, subject.nth), ruling)
    return ruling
  }

  private rulingBy(decision: Decision): PlaceRuling {
    if (decision.outcome === 'send') {
      const useKey = decision.usedBy === null ? null : callKeyOfAttempt(decision.usedBy)
      return { decision, settled: null, useKey, send: useKey === null }
    }
    const copied = decision.reason === 'same_effect'
    if (decision.outcome === 'use_record' && decision.record !== null && !copied) {
      const entry = this.entries.get(keyOf(decision.record))
      if (entry && decision.resultJson !== null && entry.settled === null) {
        this.ruleRecord(entry, decision)
      }
      const useKey = keyOf(decision.record)
      return { decision, settled: null, useKey, send: false }
    }
    const known = this.sequence(decision)
    const settled = { ...answerOf(known, null), seq: known.seq, fresh: decision.seq === null }
    return { decision: known, settled, useKey: null, send: false }
  }

  private sequence(decision: Decision): Decision & { seq: number } {
    if (decision.seq !== null) return { ...decision, seq: decision.seq }
    const known = { ...decision, seq: ++this.seq }
    this.changes.decisions.push(known)
    return known
  }

  private settle(entry: Entry, row: Sealed<Evidence>, status: 'committed' | 'failed'): void {
    const { verifies: _, ...evidence } = row
    const seq = evidence.seq ?? ++this.seq
    if (evidence.seq === null) this.changes.evidence.push({ ...evidence, seq })
    const { errorJson, externalId } = evidence
    const spawned = entry.record.tool === spawnTool
    const outputs = this.loaded.childOutputs ?? new Map()
    const resultJson = spawned ? childJson(evidence.resultJson, outputs) : evidence.resultJson
    this.putRecord(entry, { status, seq, resultJson, errorJson, externalId })
    entry.grant = null
    const settled = settledBy(entry.record)
    entry.settled = settled && { ...settled, fresh: evidence.seq === null }
  }

  private putRecord(entry: Entry, change: Partial<CallRecord>): void {
    entry.record = { ...entry.record, ...change, settledAt: this.at }
    this.changes.records.push(entry.record)
  }
}

function plain({ verifies: _, ...record }: Sealed<CallRecord>): CallRecord {
  return record
}
