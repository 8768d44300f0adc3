// Owns: attempts. Writes the intent, sends once it is acknowledged, records how it ended, and
// decides from the kind of error whether to try again, fail, or hand the call back to the verdict.
// Invariants: I1 and I4: nothing is dispatched before its intent is acknowledged. I5: an unsafe
// call is attempted again only under a decision, which the new intent consumes. G2: a call has
// failed for certain only if every attempt did.
import { CounterfoilError, type FailureData, failureOf } from '../model/errors.ts'
import {
  type Attempt,
  attemptId,
  type CallRecord,
  checkpointId,
  type Decision,
  type DoubtReason,
  keyOf,
} from '../model/records.ts'
import { isRecordedKey, type ToolRules } from '../model/tool.ts'
import { type AttemptEnd, askProbe, backoffMs, LiveCall, type Result, runOnce } from './attempt.ts'
import type { IssuedCall } from './call.ts'
import { errorOf, parseResult, type Settled } from './entry.ts'
import { reportEvidence } from './evidence.ts'
import { currentVisit, type Visit } from './visit.ts'

type KeyFunction = NonNullable<ToolRules['idempotencyKey']>

export interface DispatchHooks {
  settle: (call: IssuedCall, settled: Settled) => void
  judge: (call: IssuedCall) => void
  doubt: (call: IssuedCall, reason: DoubtReason) => void
  deny: (call: IssuedCall, error: unknown) => void
}

export class Dispatch {
  private readonly visit: Visit
  private readonly hooks: DispatchHooks
  /** Which input a key of this run stands for. */
  private readonly keys = new Map<string, string>()

  constructor(visit: Visit, hooks: DispatchHooks) {
    this.visit = visit
    this.hooks = hooks
    for (const { record } of visit.match.entries.values()) this.noteKey(record)
  }

  /** A pure call: no intent, sent at once; its receipt follows when it is convenient. */
  pure(call: IssuedCall): void {
    const { visit } = this
    visit.inflight++
    call.tries++
    this.run(call, this.live(call, call.tries, null), () => {}).then((end) => {
      visit.inflight--
      if (end.outcome === 'landed') return this.settlePure(call, end.result, null)
      const retry = end.outcome !== 'refused' && !triesSpent(call)
      if (retry) return this.rest(call, () => this.pure(call))
      this.settlePure(call, null, { ...end.failure, kind: 'failed' })
    })
  }

  /**
   * In the visit's own context: an acknowledgement may come in a turn that belongs to another run.
   */
  private run(
    call: IssuedCall,
    live: LiveCall,
    onLate: (end: AttemptEnd) => void,
  ): Promise<AttemptEnd> {
    const { visit } = this
    const input = inputOf(call)
    return currentVisit.run(visit, () => runOnce(call.tool, input, live, visit.clock, onLate))
  }

  /** A call that is not pure: intent, acknowledgement, dispatch. */
  attempt(call: IssuedCall, grant: Decision | null): void {
    const { visit } = this
    const key = this.keyFor(call)
    if (key === undefined) return
    if (call.entry) call.entry.grant = null
    if (grant?.outcome === 'did_not_happen') call.unknownBefore = 0
    const record = this.intent(call, key)
    call.tries++
    const attempt = this.attemptRow(call, record)
    visit.inflight++
    visit.append({ records: [record], attempts: [attempt] })
    if (grant) visit.append({ decisions: [{ ...grant, usedBy: attempt.attemptId }] })
    visit.log.durable(
      () => this.send(call, attempt),
      () => this.notSent(attempt, 'the run was lost before the intent was acknowledged'),
    )
  }

  /** The record that precedes an attempt or a question. */
  intent(call: IssuedCall, idempotencyKey: string | null = null): CallRecord {
    const { run, clock } = this.visit
    const { rules } = call.tool
    const old = call.record
    const now = clock.now()
    const ttl = rules.keyTtlMs
    const record: CallRecord = {
      namespace: run.namespace,
      runId: run.runId,
      nodeId: old?.nodeId ?? run.node,
      checkpointId: old?.checkpointId ?? checkpointId(run.version, run.generation, run.visit),
      tool: call.tool.name,
      inputHash: old?.inputHash ?? call.inputHash,
      occurrence: old?.occurrence ?? call.occurrence,
      nth: old?.nth ?? call.place.nth,
      replayClass: call.replayClass,
      idempotencyKey,
      expiresAt: old ? old.expiresAt : ttl === null || ttl === Infinity ? null : now + ttl,
      status: 'pending',
      seq: null,
      after: old?.after ?? call.after,
      inputJson: old?.inputJson ?? call.inputJson,
      resultJson: null,
      externalId: null,
      errorJson: null,
      unresolved: false,
      attempt: (old?.attempt ?? 0) + (call.question ? 0 : 1),
      fence: run.fence,
      workerId: run.workerId ?? '',
      spanId: clock.uuid().replaceAll('-', '').slice(0, 16),
      createdAt: old?.createdAt ?? now,
      settledAt: null,
    }
    call.record = record
    this.noteKey(record)
    return record
  }

  probe(call: IssuedCall): void {
    const { visit } = this
    const record = call.record
    if (record === null) return
    visit.inflight++
    const live = this.live(call, record.attempt, record)
    askProbe(call.tool, inputOf(call), live, visit.clock).then((said) => {
      visit.inflight--
      call.probed = said.landed
      call.probeResult = said.landed === 'yes' ? said.result : null
      visit.append({
        events: [visit.event('probed', { tool: record.tool, landed: said.landed })],
      })
      this.hooks.judge(call)
      visit.touch({ flush: true })
    })
  }

  recordProbe(call: IssuedCall): void {
    if (call.record && call.probeResult) this.receipt(call, call.record, call.probeResult)
  }

  private send(call: IssuedCall, attempt: Attempt): void {
    const { visit } = this
    const record = call.record
    if (record === null) return
    if (!visit.lease.holds()) {
      // It may have been taken over while this process stood still: the one thing known is that
      // this attempt was never sent.
      visit.log.lose('lease')
      return this.notSent(attempt, 'the lease had ended before the call was sent')
    }
    const live = this.live(call, record.attempt, record)
    const late = (end: AttemptEnd) => void reportEvidence(visit, attempt, end)
    const returned = (end: AttemptEnd) => {
      visit.unreturned--
      late(end)
    }
    visit.unreturned++
    this.run(call, live, returned).then((end) => {
      visit.inflight--
      // The run may be somebody else's by now, and its commit refused: what is known is still
      // reported. A function that has not returned has nothing to report yet.
      const running = end.outcome === 'unknown' && end.running
      if (!running) visit.unreturned--
      if (!visit.log.lost) this.ended(call, record, attempt, end)
      if (!running)
        visit.log.watch(
          () => {},
          () => late(end),
        )
      visit.touch()
    })
  }

  private notSent(attempt: Attempt, message: string): void {
    const failure: FailureData = { kind: 'not_sent', name: 'LeaseLost', message }
    void reportEvidence(this.visit, attempt, { outcome: 'not_sent', failure })
  }

  private ended(call: IssuedCall, record: CallRecord, attempt: Attempt, end: AttemptEnd): void {
    const { visit } = this
    // The receipt says how a landed attempt ended; a row of its own would be the same again.
    if (end.outcome === 'landed') return this.receipt(call, record, end.result)
    const { outcome, failure } = end
    const running = outcome === 'unknown' && end.running
    const over = running ? [] : [{ ...attempt, endedAt: visit.clock.now(), outcome }]
    const data = { attempt_id: attempt.attemptId, outcome, message: failure.message }
    const event = visit.event('call_attempt_failed', data)
    const certain = outcome !== 'unknown' && call.unknownBefore === 0
    visit.append({ attempts: over, events: [event] })
    if (certain && (outcome === 'refused' || triesSpent(call))) {
      return this.failed(call, record, failure)
    }
    if (outcome === 'unknown') call.unknownBefore++
    if (call.probed !== 'none') call.probed = 'unasked'
    // An unsafe call is not tried again by itself; nor is any when its tries are spent: no use in
    // waiting.
    const ask = call.replayClass === 'unsafe_on_replay' && !certain
    if (ask || triesSpent(call)) return this.hooks.judge(call)
    this.rest(call, () => this.hooks.judge(call))
  }

  private receipt(call: IssuedCall, record: CallRecord, result: Result): void {
    const { visit } = this
    const seq = visit.nextSeq()
    const settledAt = visit.clock.now()
    const { json: resultJson, externalId } = result
    call.record = { ...record, status: 'committed', seq, resultJson, externalId, settledAt }
    visit.append({ records: [call.record] })
    this.deliver(call, { seq, ok: true, value: parseResult(resultJson) })
  }

  private failed(call: IssuedCall, record: CallRecord, failure: FailureData): void {
    const { visit } = this
    const seq = visit.nextSeq()
    const settledAt = visit.clock.now()
    const errorJson = JSON.stringify(failure)
    call.record = { ...record, status: 'failed', seq, errorJson, settledAt }
    visit.append({ records: [call.record] })
    this.deliver(call, { seq, ok: false, value: errorOf(record.tool, failure) })
  }

  private settlePure(call: IssuedCall, result: Result | null, failure: FailureData | null): void {
    const { visit } = this
    if (visit.log.lost) return
    const seq = visit.nextSeq()
    const record: CallRecord = {
      ...this.intent(call),
      status: failure ? 'failed' : 'committed',
      seq,
      inputJson: null,
      resultJson: result?.json ?? null,
      externalId: result?.externalId ?? null,
      errorJson: failure && JSON.stringify(failure),
      attempt: call.tries,
      settledAt: visit.clock.now(),
    }
    visit.append({ records: [record] })
    visit.log.flushLater()
    const value = failure ? errorOf(record.tool, failure) : parseResult(record.resultJson)
    this.hooks.settle(call, { seq, ok: failure === null, value })
    if (visit.phase !== 'running') visit.touch()
  }

  /** Written with what the node does next; at once, if the result has to wait for its turn. */
  private deliver(call: IssuedCall, settled: Settled): void {
    const { visit } = this
    this.hooks.settle(call, settled)
    if (visit.phase === 'running' && visit.order.isNext(settled.seq)) visit.flushOnDelivery()
    else visit.log.flush()
  }

  private rest(call: IssuedCall, then: () => void): void {
    const { visit } = this
    // A visit that parks waits for what is under way, and for no new try.
    if (visit.phase !== 'running') return visit.touch()
    visit.resting++
    visit.log.flush()
    visit.clock.after(backoffMs(call.tool, call.tries, visit.clock), () => {
      visit.resting--
      if (visit.phase === 'running') then()
    })
  }

  /** The recorded key, or a new one that must hold still; undefined if the call goes no further. */
  private keyFor(call: IssuedCall): string | null | undefined {
    const { visit } = this
    const make = call.tool.rules.idempotencyKey
    const old = call.record
    if (old !== null) {
      this.noteMovedKey(call, old)
      return old.idempotencyKey
    }
    if (make === null) return null
    const key = isRecordedKey(make) ? visit.clock.uuid() : this.stableKey(call, make)
    if (key instanceof Error) {
      this.hooks.deny(call, key)
      return undefined
    }
    const other = this.keys.get(`${call.tool.name}\n${key}`)
    if (other === undefined || other === call.inputHash) return key
    this.hooks.doubt(call, 'key_conflict')
    return undefined
  }

  private stableKey(call: IssuedCall, make: KeyFunction): string | Error {
    const keys = [0, 1].map(() => this.keyNow(call, make))
    const [first] = keys
    if (first instanceof Error) return first
    if (typeof first === 'string' && first !== '' && first === keys[1]) return first
    return new CounterfoilError(
      'KEY_UNSTABLE',
      `${call.tool.name}: idempotencyKey gave ${JSON.stringify(keys[0])} and then ` +
        `${JSON.stringify(keys[1])} for the same call; nothing was sent. Make it of the ` +
        'input and the run alone, or use recordedKey()',
      { details: { tool: call.tool.name, keys } },
    )
  }

  private noteMovedKey(call: IssuedCall, record: CallRecord): void {
    const make = call.tool.rules.idempotencyKey
    if (make === null || record.idempotencyKey === null || isRecordedKey(make)) return
    const now = this.keyNow(call, make)
    if (now === record.idempotencyKey) return
    const is = now instanceof Error ? now.message : now
    const data = { tool: record.tool, was: record.idempotencyKey, is }
    this.visit.append({ events: [this.visit.event('key_moved', data)] })
  }

  private noteKey({ tool, idempotencyKey, inputHash }: CallRecord): void {
    if (idempotencyKey !== null) this.keys.set(`${tool}\n${idempotencyKey}`, inputHash)
  }

  private keyNow(call: IssuedCall, make: KeyFunction): string | Error {
    const { runId, node, visit } = this.visit.run
    const { occurrence } = call
    try {
      return make(JSON.parse(call.inputJson), { runId, node, visit, occurrence })
    } catch (error) {
      const { message } = failureOf(error, 'failed')
      return new CounterfoilError(
        'KEY_UNSTABLE',
        `${call.tool.name}: idempotencyKey threw: ${message}`,
      )
    }
  }

  private live(call: IssuedCall, attempt: number, record: CallRecord | null): LiveCall {
    const { runId, node, generation, visit } = this.visit.run
    const id = attemptId(generation, visit, record ? keyOf(record) : call.key, attempt)
    const idempotencyKey = record?.idempotencyKey ?? null
    return new LiveCall({
      runId,
      node,
      tool: call.tool.name,
      attempt,
      attemptId: id,
      idempotencyKey,
    })
  }

  private attemptRow(call: IssuedCall, record: CallRecord): Attempt {
    const { run, clock } = this.visit
    return {
      namespace: run.namespace,
      runId: run.runId,
      attemptId: attemptId(run.generation, run.visit, keyOf(record), record.attempt),
      attempt: record.attempt,
      fence: run.fence,
      workerId: run.workerId ?? '',
      outlives: call.tool.rules.outlives,
      quietMs: call.tool.rules.quietMs,
      dispatchedAt: clock.now(),
      endedAt: null,
      outcome: null,
    }
  }
}

/** Attempts of this visit have a limit; a later visit may make at least one of its own. */
export function triesSpent(call: IssuedCall): boolean {
  return call.tries >= call.tool.rules.retry.attemptMax
}

/**
 * What is sent is what was recorded: whatever node or tool has done to its objects since, and also
 * when a person gave the record to a call that has moved.
 */
function inputOf(call: IssuedCall): unknown {
  return JSON.parse(call.record?.inputJson ?? call.inputJson)
}
