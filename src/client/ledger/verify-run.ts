// One look at one run of a ledger (B8): what its rows say about each other, and about its events.

import { isCounterfoilError } from '../../model/errors.ts'
import { sha256 } from '../../model/json/canonical.ts'
import { hadNoEffect } from '../../model/replay/attempts.ts'
import { isAboutSent } from '../../model/replay/entry.ts'
import {
  callOfAttempt,
  attemptId as idOf,
  numberOfAttempt,
  placeOfAttempt,
  visitOfAttempt,
} from '../../model/run/attempt-id.ts'
import { readChain } from '../../model/run/checkpoint.ts'
import {
  type Attempt,
  type CallRecord,
  type Checkpoint,
  type Decision,
  type Event,
  type Evidence,
  isAsked,
  keyOf,
  type Run,
} from '../../model/run/records.ts'
import { scopeGraph, scopeVisit } from '../../model/run/scope.ts'
import { rowsOf } from '../../store/pages.ts'
import type { InboxPort, LedgerPort, Sealed } from '../../store/store.ts'
import type { Finding, FindingKind } from './findings.ts'
import { formOf } from './verify-still.ts'
import { Timeline, toleranceMs } from './verify-times.ts'

type Mention = Pick<Event, 'kind' | 'data' | 'at'>
type Claim = { of: 'record' | 'decision' | 'evidence'; keys: readonly string[]; subject: string }

/** One look at one run. A call is named like its attempts: `generation#visit/tool/input/n`. */
export class RunCheck {
  readonly counts = { runs: 1, calls: 0, attempts: 0, decisions: 0, evidence: 0, checkpoints: 0 }
  findings: Finding[] = []
  readonly seen: string[] = []
  private readonly store: LedgerPort & InboxPort
  private readonly run: Run
  /** Who was given the run, and when. */
  private readonly timeline = new Timeline()
  private readonly probed = new Set<unknown>()
  private readonly mentions: Mention[] = []
  private readonly attempts = new Map<string, Sealed<Attempt>>()
  private readonly attemptsOf = new Map<string, Sealed<Attempt>[]>()
  private readonly decisionsOn = new Map<string, Decision[]>()
  /** When an item was decided, by the decisions on it. */
  private readonly decided = new Map<string, number[]>()
  private readonly spans = new Map<string, string>()
  private readonly landed = new Set<string>()
  private readonly calls = new Set<string>()
  private readonly seqs = new Map<string, Claim[]>()
  private readonly items = new Map<string, boolean>()

  constructor(store: LedgerPort & InboxPort, run: Run) {
    this.store = store
    this.run = run
  }

  async look(): Promise<void> {
    const { store, run } = this
    await this.checkCheckpoints()
    for await (const event of rowsOf((page) => store.listEvents(run, page))) this.note(event)
    for (const row of await store.listAttempts(run)) this.addAttempt(row)
    const evidence = await store.listEvidence(run)
    for (const row of evidence) this.addEvidence(row)
    const decisions = await store.listDecisions(run)
    for (const row of decisions) this.addDecision(row)
    for await (const row of rowsOf((page) => store.listRecords(run, page))) this.checkRecord(row)
    for (const call of this.attemptsOf.keys()) {
      if (this.calls.has(call)) continue
      this.find('call', call, 'it was sent, and its record is not there: the row was removed')
    }
    for (const row of decisions) if (row.verifies) await this.checkDecision(row)
    for (const event of this.mentions) await this.checkMention(event)
  }

  /** A MAC concerns one row alone, whatever happens to the others meanwhile. */
  keepCertain(): void {
    this.findings = this.findings.filter(({ kind }) => kind === 'mac')
  }

  private find(kind: FindingKind, subject: string, message: string): void {
    this.findings.push({ runId: this.run.runId, kind, subject, message })
  }

  private note(event: Event): void {
    const { kind, data, at } = event
    this.timeline.note(event)
    if (kind === 'probed' && data['landed'] === 'yes') this.probed.add(data['tool'])
    if (telling.includes(kind)) this.mentions.push({ kind, data, at })
  }

  private addAttempt(row: Sealed<Attempt>): void {
    const { attemptId, attempt, endedAt } = row
    this.counts.attempts++
    this.seen.push(formOf(row))
    this.attempts.set(attemptId, row)
    const call = callOfAttempt(attemptId)
    this.attemptsOf.set(call, [...(this.attemptsOf.get(call) ?? []), row])
    if (!row.verifies) return this.find('mac', attemptId, 'its end is not as it was signed')
    this.checkHolder(attemptId, row)
    this.inOrder(attemptId, ['dispatched', row.dispatchedAt], ['ended', endedAt])
    this.doubtTime(attemptId, this.timeline.outside(row.fence, 'dispatched', row.dispatchedAt))
    if (numberOfAttempt(attemptId) !== attempt || (endedAt === null) !== (row.outcome === null)) {
      this.find('attempt', attemptId, 'its number, end and outcome do not fit together')
    }
  }

  private addEvidence(row: Sealed<Evidence>): void {
    const { attemptId, at, seq, outcome } = row
    this.counts.evidence++
    const attempt = this.attempts.get(attemptId)
    if (!row.verifies) return this.find('mac', attemptId, 'its evidence is not as it was signed')
    // The end of a child is told to a wait, which has no attempt.
    const child = attemptId.endsWith('/0') && attemptId.includes('/counterfoil.spawn/')
    if (attempt === undefined) {
      if (!child) this.find('evidence', attemptId, 'its attempt is not there: the row was removed')
    } else this.inOrder(attemptId, ['dispatched', attempt.dispatchedAt], ['known', at])
    const call = callOfAttempt(attemptId)
    if (outcome === 'landed') this.landed.add(call)
    const keys = [call.slice(call.indexOf('/') + 1)]
    this.claimSeq(visitPlace(attemptId), seq, { of: 'evidence', keys, subject: attemptId })
  }

  private addDecision(row: Sealed<Decision>): void {
    const { decisionId, generation, visit, subject, record, seq } = row
    this.counts.decisions++
    if (row.outcome !== 'vote' && row.outcome !== 'comment') {
      this.decided.set(row.itemId, [...(this.decided.get(row.itemId) ?? []), row.at])
    }
    if (!row.verifies) return this.find('mac', decisionId, 'the decision is not as it was signed')
    this.inOrder(decisionId, ['started', this.run.createdAt], ['decided', row.at])
    const keys = [subject, record].flatMap((named) => (named ? [keyOf(named)] : []))
    for (const key of keys) {
      this.decisionsOn.set(key, [...(this.decisionsOn.get(key) ?? []), row])
    }
    this.claimSeq(`${generation}#${visit}`, seq, { of: 'decision', keys, subject: decisionId })
  }

  private checkRecord(record: Sealed<CallRecord>): void {
    const call = this.callOf(record)
    this.counts.calls++
    this.seen.push(formOf(record))
    this.calls.add(call)
    this.checkSpan(record, call)
    if (!record.verifies) return this.find('mac', call, 'its record is not as it was signed')
    const keys = [keyOf(record)]
    this.claimSeq(placeOf(call), record.seq, { of: 'record', keys, subject: call })
    this.checkHolder(call, record)
    const { createdAt, settledAt } = record
    this.inOrder(call, ['run started', this.run.createdAt], ['made', createdAt])
    this.inOrder(call, ['made', createdAt], ['settled', settledAt])
    this.checkTimes(record, call)
    if (!this.keepsInput(record, call)) {
      this.find('input', call, 'the input that is kept is not the one that the call is known by')
    }
    this.checkAttempts(record, call)
  }

  /** Against the events: who sent it held the run then, and nothing is settled after the end. */
  private checkTimes(record: CallRecord, call: string): void {
    const { fence, createdAt, settledAt, replayClass } = record
    const { endedAt } = this.run
    // A call that is sent again has the fence of its last attempt, and was made under an earlier.
    const made =
      replayClass === 'pure'
        ? this.timeline.outside(fence, 'made', createdAt)
        : this.timeline.after(fence, 'made', createdAt)
    this.doubtTime(call, made)
    if (settledAt === null) return
    this.doubtTime(call, this.timeline.before(fence, 'settled', settledAt))
    if (endedAt !== null) this.inOrder(call, ['settled', settledAt], ['run ended', endedAt])
  }

  private doubtTime(subject: string, why: string | null): void {
    if (why !== null) this.find('time', subject, why)
  }

  /** A span is one dispatch's own, and the name that events know the attempt by is made of it. */
  private checkSpan(record: CallRecord, call: string): void {
    const { spanId, attempt } = record
    const other = this.spans.get(spanId)
    if (other !== undefined) this.find('span', call, `its span ${spanId} is that of ${other}`)
    this.spans.set(spanId, call)
    const sent = this.attemptsOf
      .get(call)
      ?.find((row) => numberOfAttempt(row.attemptId) === attempt)
    if (sent === undefined || record.replayClass === 'pure') return
    const place = placeOfAttempt(sent.attemptId)
    if (sent.attemptId === place || sent.attemptId === idOf(place, record)) return
    this.find(
      'span',
      call,
      `its span ${spanId} is not the one that attempt ${attempt} was sent with`,
    )
  }

  private keepsInput(record: CallRecord, call: string): boolean {
    const { inputJson, inputHash, tool } = record
    // What a person is asked shows more than it is known by; what a person edited is not what was
    // asked for.
    if (inputJson === null || isAsked(tool) || sha256(inputJson) === inputHash) return true
    return this.decisionsAbout(call).some(
      (row) => row.kind === 'approval' && row.outcome === 'edit',
    )
  }

  private checkAttempts(record: CallRecord, call: string): void {
    const rows = this.attemptsOf.get(call) ?? []
    const sent = record.replayClass === 'pure' ? 0 : record.attempt
    for (const row of rows) {
      const { attemptId, dispatchedAt } = row
      if (numberOfAttempt(row.attemptId) > sent) {
        const message = `its call knows of ${sent} attempts: the record is an older form of itself`
        this.find('attempt', attemptId, message)
      }
      this.inOrder(attemptId, ['call made', record.createdAt], ['dispatched', dispatchedAt])
      this.inOrder(attemptId, ['dispatched', dispatchedAt], ['call settled', record.settledAt])
    }
    for (let number = 1; number <= sent; number++) {
      if (rows.some((row) => numberOfAttempt(row.attemptId) === number)) continue
      this.find('attempt', `${call}/${number}`, 'the row of this attempt was removed')
    }
    const last = rows.find((row) => numberOfAttempt(row.attemptId) === sent)
    if (last === undefined) return
    if (last.workerId !== record.workerId || last.fence !== record.fence) {
      const wrote = `${record.workerId} at fence ${record.fence}`
      const sender = `${last.workerId} at fence ${last.fence}`
      this.find('holder', call, `it was recorded by ${wrote}, and sent by ${sender}`)
    }
    if (
      !hadNoEffect(last.outcome) ||
      record.status !== 'committed' ||
      this.isExplained(record, call)
    )
      return
    const message = `its last attempt was ${last.outcome}, and nothing says how it came to a result`
    this.find('outcome', call, message)
  }

  private isExplained(record: CallRecord, call: string): boolean {
    const decided = this.decisionsAbout(call).some((row) => row.voidedAt === null)
    return decided || this.landed.has(call) || this.probed.has(record.tool)
  }

  private decisionsAbout(call: string): Decision[] {
    const rows = this.decisionsOn.get(call.slice(call.indexOf('/') + 1)) ?? []
    const place = placeOf(call)
    return rows.filter((row) => `${row.generation}#${row.visit}` === place)
  }

  private checkHolder(subject: string, row: { workerId: string; fence: number }): void {
    const { workerId, fence } = row
    if (fence <= this.run.fence && this.timeline.holderAt(fence) === workerId) return
    this.find('holder', subject, `${workerId} was never given the run at fence ${fence}`)
  }

  /** The second time is not before the first. */
  private inOrder(
    subject: string,
    [earlier, from]: readonly [string, number],
    [later, to]: readonly [string, number | null],
  ): void {
    if (to === null || from - to <= toleranceMs) return
    this.find('time', subject, `${later} at ${to}, before ${earlier} at ${from}`)
  }

  /** A call has the seq of the decision or evidence that settled it; otherwise each has its own. */
  private claimSeq(place: string, seq: number | null, claim: Claim): void {
    if (seq === null) return
    const others = this.seqs.get(`${place}:${seq}`) ?? []
    const clash = others.find(
      ({ of, keys }) => of === claim.of || !keys.some((key) => claim.keys.includes(key)),
    )
    if (clash) this.find('seq', claim.subject, `it has seq ${seq}, like ${clash.subject}`)
    this.seqs.set(`${place}:${seq}`, [...others, claim])
  }

  private async checkDecision(row: Decision): Promise<void> {
    const { decisionId, generation, visit, subject, record, usedBy } = row
    const place = `${generation}#${visit}`
    if (!(await this.hasItem(row.itemId))) {
      this.find('decision', decisionId, `its item ${row.itemId} is not there`)
    }
    // What is about a place in the node needs no record there; what is about a record does.
    const about = isAboutSent(row.reason) ? subject : null
    // The result was copied from there: the record may be of another visit, and of another time.
    const used = row.reason === 'same_effect' ? null : record
    for (const named of [about, used]) {
      if (named === null || this.hasCall(place, keyOf(named))) continue
      this.find('decision', decisionId, `the record of ${keyOf(named)}, which it names, is gone`)
    }
    if (usedBy === null || this.attempts.has(usedBy)) return
    // A question is not sent: what it uses is named as its attempt 0.
    const call = callOfAttempt(usedBy)
    const asked = usedBy.endsWith('/0')
    if (asked && this.hasCall(placeOf(call), call.slice(call.indexOf('/') + 1))) return
    this.find('decision', decisionId, `attempt ${usedBy}, which has used it, is not there`)
  }

  private async checkMention({ kind, data, at }: Mention): Promise<void> {
    const { item } = data
    const attemptId = data['attempt_id'] ?? data['attemptId']
    if (typeof attemptId === 'string') this.checkMentioned(kind, attemptId, data['outcome'], at)
    if (typeof item !== 'string') return
    if (!(await this.hasItem(item))) {
      this.find('event', item, `event ${kind} tells of this item, which is not there`)
    }
    if (kind !== 'decided') return
    const times = this.decided.get(item)
    if (times === undefined) {
      this.find('event', item, 'an event tells that it was decided, and the decision is not there')
    } else if (times.every((time) => Math.abs(time - at) > toleranceMs)) {
      this.find('time', item, `an event tells that it was decided at ${at}, not at ${times.join()}`)
    }
  }

  private checkMentioned(kind: string, attemptId: string, outcome: unknown, at: number): void {
    const attempt = this.attempts.get(attemptId)
    if (attempt === undefined) {
      const message = `event ${kind} tells of this attempt, which is not there`
      return this.find('event', attemptId, message)
    }
    this.inOrder(attemptId, ['dispatched', attempt.dispatchedAt], [`told of by ${kind}`, at])
    // A function that had not returned is told of as unknown, and may have ended in any way since.
    // So may one that was deferred: its upstream says what became of it, its own row does not.
    const open = kind === 'call_attempt_failed' && outcome === 'unknown'
    if (open || attempt.tokenHash !== null || attempt.outcome === outcome) return
    const message = `event ${kind} says ${String(outcome)}, and its row ${attempt.outcome}`
    this.find('event', attemptId, message)
  }

  private async hasItem(itemId: string): Promise<boolean> {
    const known = this.items.get(itemId)
    if (known !== undefined) return known
    const item = await this.store.getItem(this.run.namespace, itemId)
    const has = item?.runId === this.run.runId
    this.items.set(itemId, has)
    return has
  }

  private hasCall(place: string, key: string): boolean {
    return this.calls.has(`${place}/${key}`)
  }

  /** By the visit, as in the ids of its attempts. */
  private callOf(record: CallRecord): string {
    const { checkpointId, nodeId } = record
    const { graph, generation } = this.run
    const place =
      graph === scopeGraph.name
        ? `${generation}#${scopeVisit(nodeId, checkpointId)}`
        : checkpointId.slice(checkpointId.indexOf('#') + 1)
    return `${place}/${keyOf(record)}`
  }

  private async checkCheckpoints(): Promise<void> {
    const { store, run } = this
    const rows = await store.listCheckpoints(run)
    this.counts.checkpoints = rows.length
    if (run.graph === scopeGraph.name) return
    const why = chainFault(await store.loadCheckpoints(run, run.generation, run.visit), run)
    if (why !== null) this.find('checkpoint', `${run.generation}#${run.visit}`, why)
  }
}

/** Why the run could not go on from its checkpoint; null if it can. */
function chainFault(rows: readonly Checkpoint[], run: Run): string | null {
  try {
    const read = readChain(rows, run)
    return read.ok ? null : read.why
  } catch (error) {
    if (isCounterfoilError(error, 'CHECKPOINT_NEWER')) return error.message
    throw error
  }
}

/** Events that tell of an attempt or an item. */
const telling = [
  'call_attempt_failed',
  'evidence',
  'evidence_conflict',
  'doubt',
  'asked',
  'decided',
]

function placeOf(call: string): string {
  return call.slice(0, call.indexOf('/'))
}

function visitPlace(attemptId: string): string {
  const { generation, visit } = visitOfAttempt(attemptId)
  return `${generation}#${visit}`
}
