// Owns: attempts. Writes the intent, sends once it is acknowledged, records how it ended, and
// decides from the kind of error whether to try again, fail, or hand the call back to the verdict.
// Invariants: I1 and I4: nothing is dispatched before its intent is acknowledged. I5: an unsafe
// call is attempted again only under a decision, which the new intent consumes. G2: a call has
// failed for certain only if every attempt did.
import { randomHex } from '../../clock.ts'
import type { FailureData } from '../../model/errors.ts'
import * as limits from '../../model/limits.ts'
import { errorOf, parseResult } from '../../model/replay/answers.ts'
import type { Settled } from '../../model/replay/entry.ts'
import type { Attempt, CallRecord, Decision, DoubtReason } from '../../model/run/records.ts'
import { type IssuedCall, inputOf, triesSpent } from '../call/call.ts'
import { hashToSend, Keys, mayBeUsed } from '../call/keys.ts'
import { rest } from '../call/ruling.ts'
import { currentVisit, type Visit } from '../visit/visit.ts'
import {
  type AttemptEnd,
  askProbe,
  backoffMs,
  certainEnd,
  type LiveCall,
  type Result,
  runOnce,
} from './attempt.ts'
import { reportEvidence } from './evidence.ts'
import { heartbeats } from './heartbeat.ts'
import { inLine } from './in-line.ts'
import type { Slot } from './rate-limit.ts'
import { attemptRow, beatsOf, intentRow, isTooLate, liveCall, tooLate, usedGrant } from './rows.ts'
import { findShared, share } from './share.ts'

export interface DispatchHooks {
  settle: (call: IssuedCall, settled: Settled) => void
  judge: (call: IssuedCall) => void
  doubt: (call: IssuedCall, reason: DoubtReason) => void
  deny: (call: IssuedCall, error: unknown) => void
}

export class Dispatch {
  private readonly visit: Visit
  private readonly hooks: DispatchHooks
  private readonly keys: Keys

  constructor(visit: Visit, hooks: DispatchHooks) {
    this.visit = visit
    this.hooks = hooks
    this.keys = new Keys(visit)
  }

  /** A pure call: no intent, sent at once; its receipt follows when it is convenient. */
  pure(call: IssuedCall): void {
    if (call.tool.rules.shareMs === null || call.tries > 0) return this.sendInLine(call)
    const { visit } = this
    const use = (result: Result | null) => {
      if (visit.phase !== 'running') return share(visit, call, null)
      if (result === null) return this.sendInLine(call)
      visit.append({ events: [visit.event('call_shared', { tool: call.tool.name })] })
      this.settlePure(call, result, null)
    }
    rest(visit, findShared(visit, call), use, () => this.sendInLine(call))
  }

  private sendInLine(call: IssuedCall): void {
    inLine(this.visit, call, (slot) => {
      slot.sent()
      this.sendPure(call)
    })
  }

  private sendPure(call: IssuedCall): void {
    const { visit } = this
    visit.inflight++
    call.tries++
    const sentAt = visit.clock.mono()
    this.run(call, liveCall(visit, call, call.tries, null), () => {}).then((end) => {
      visit.inflight--
      call.tookMs += visit.clock.mono() - sentAt
      if ('withdrawn' in end && end.withdrawn) {
        share(visit, call, null)
        return this.hooks.deny(call, end.withdrawn.cause)
      }
      const landed = end.outcome === 'landed' ? end.result : null
      const spent = landed !== null || end.outcome === 'refused' || triesSpent(call)
      if (spent) share(visit, call, landed)
      if (landed) return this.settlePure(call, landed, null)
      if (!spent) return this.rest(call, () => this.pure(call))
      const { failure } = certainEnd(end)
      this.settlePure(call, null, { ...failure, kind: 'failed' })
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
    const found = this.keys.find(call)
    if ('refused' in found) return this.hooks.deny(call, found.refused)
    if ('conflict' in found) return this.hooks.doubt(call, 'key_conflict')
    const { key } = found
    if (key === null || !mayBeUsed(visit, call)) return this.whenFree(call, grant, key)
    visit.inflight++
    visit.store.keyInput(visit.run, call.tool.name, key).then(
      (input) => {
        visit.inflight--
        if (input !== null && input !== hashToSend(call)) this.hooks.doubt(call, 'key_conflict')
        else if (visit.phase === 'running') this.whenFree(call, grant, key)
        visit.touch()
      },
      (error) => {
        visit.inflight--
        visit.log.lose(error)
      },
    )
  }

  private whenFree(call: IssuedCall, grant: Decision | null, key: string | null): void {
    inLine(this.visit, call, (slot) => this.write(call, grant, key, slot))
  }

  /** The intent, with all that it consumes; the call is sent once it is acknowledged. */
  private write(call: IssuedCall, grant: Decision | null, key: string | null, slot: Slot): void {
    const { visit } = this
    if (grant === null && isTooLate(visit, call)) {
      // Its place in the line came too late.
      slot.free()
      return this.hooks.judge(call)
    }
    visit.secure()
    if (call.entry) call.entry.grant = null
    if (grant?.outcome === 'did_not_happen') call.unknownBefore = 0
    const { callbackMs } = call.tool.rules
    const token = callbackMs === null ? null : `cb_${randomHex(32)}`
    call.dispatchedAt = visit.clock.now()
    call.firstSentAt ??= call.dispatchedAt
    if (callbackMs !== null) call.dueAt = call.dispatchedAt + callbackMs
    const record = this.intent(call, key)
    call.tries++
    const attempt = attemptRow(visit, call, record, token)
    visit.inflight++
    visit.append({ records: [record], attempts: [attempt] })
    if (grant) visit.append({ decisions: [{ ...grant, usedBy: attempt.attemptId }] })
    visit.log.durable(
      () => this.send(call, attempt, slot, token, grant),
      () => {
        slot.free()
        this.notSent(attempt, 'the run was lost before the intent was acknowledged')
      },
    )
  }

  /** The record that precedes an attempt or a question. */
  intent(call: IssuedCall, idempotencyKey: string | null = null): CallRecord {
    const record = intentRow(this.visit, call, idempotencyKey)
    const { standsFor = [] } = call.risk
    if (call.record === null && standsFor.length > 0) {
      const data = { tool: record.tool, callId: call.callId, standsFor }
      this.visit.append({ events: [this.visit.event('collapsed', data)] })
    }
    call.record = record
    this.keys.note(record)
    return record
  }

  /** Refused before anything was sent, on record: a replay refuses it again. */
  refuse(call: IssuedCall, why: string): void {
    this.visit.secure()
    const failure: FailureData = {
      kind: 'refused',
      name: 'Gate',
      code: 'GATE_REFUSED',
      message: why,
    }
    const record = { ...this.intent(call), attempt: 0 }
    this.visit.append({ decisions: usedGrant(this.visit, call) })
    this.failed(call, record, failure)
  }

  probe(call: IssuedCall): void {
    const { visit } = this
    const record = call.record
    if (record === null) return
    visit.inflight++
    const live = liveCall(visit, call, record.attempt, record)
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

  private send(
    call: IssuedCall,
    made: Attempt,
    slot: Slot,
    token: string | null,
    grant: Decision | null,
  ): void {
    const { visit } = this
    const record = call.record
    let attempt = made
    if (record === null) return
    if (!visit.lease.holds()) {
      slot.free()
      // It may have been taken over while this process stood still: the one thing known is that
      // this attempt was never sent.
      visit.log.lose('lease')
      return this.notSent(attempt, 'the lease had ended before the call was sent')
    }
    if (grant === null && isTooLate(visit, call)) {
      slot.free()
      visit.inflight--
      const failure = tooLate(call)
      return this.ended(call, record, attempt, { outcome: 'not_sent', failure }, false)
    }
    const live = liveCall(visit, call, record.attempt, record, token)
    live.onBeat = heartbeats(visit, (beat) => {
      attempt = { ...attempt, ...beat }
      return attempt
    })
    const late = (end: AttemptEnd) => void reportEvidence(visit, attempt, end)
    const returned = (end: AttemptEnd) => {
      live.onBeat = () => {}
      visit.unreturned--
      late(end)
    }
    visit.unreturned++
    slot.sent()
    this.run(call, live, returned).then((end) => {
      visit.inflight--
      // The run may be somebody else's by now, and its commit refused: what is known is still
      // reported. A function that has not returned has nothing to report yet.
      const running = end.outcome === 'unknown' && end.running
      if (!running) {
        visit.unreturned--
        live.onBeat = () => {}
      }
      if (!visit.log.lost) this.ended(call, record, attempt, end, live.deferred)
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

  private ended(
    call: IssuedCall,
    record: CallRecord,
    attempt: Attempt,
    end: AttemptEnd,
    deferred: boolean,
  ): void {
    const { visit } = this
    // The receipt says how a landed attempt ended; a row of its own would be the same again.
    if (end.outcome === 'landed') return this.receipt(call, record, end.result)
    if (end.outcome === 'deferred') return this.deferred(call, record, attempt)
    const { outcome, failure } = end
    const running = outcome === 'unknown' && end.running
    const over = running ? [] : [{ ...attempt, endedAt: visit.clock.now(), outcome }]
    // Nobody has the token of an attempt that did not defer: no callback can come.
    if (record.dueAt !== null && !running && !deferred) this.expectNothing(call, record)
    const data = { attempt_id: attempt.attemptId, outcome, message: failure.message }
    const event = visit.event('call_attempt_failed', data)
    const certain = outcome !== 'unknown' && call.unknownBefore === 0
    visit.append({ attempts: over, events: [event] })
    // Its host makes it again: not before it is durable how far this attempt has come.
    const { withdrawn } = end
    if (withdrawn) return visit.log.durable(() => this.hooks.deny(call, withdrawn.cause))
    if (certain && (outcome === 'refused' || triesSpent(call))) {
      return this.failed(call, record, failure)
    }
    if (outcome === 'unknown') call.unknownBefore++
    call.unrecorded = outcome === 'unknown' && end.answered ? failure.message : null
    if (call.probed !== 'none') call.probed = 'unasked'
    // An unsafe call is not tried again by itself; nor is any when its tries are spent.
    const ask = (call.replayClass === 'unsafe_on_replay' && !certain) || triesSpent(call)
    if (ask) return this.hooks.judge(call)
    this.rest(call, () => this.hooks.judge(call))
  }

  /** Its function has returned and its upstream is at work: the call waits for the callback. */
  private deferred(call: IssuedCall, record: CallRecord, attempt: Attempt): void {
    const { visit } = this
    const over = { ...attempt, endedAt: visit.clock.now(), outcome: 'unknown' as const }
    const data = { attempt_id: attempt.attemptId, due_at: record.dueAt }
    visit.append({ attempts: [over], events: [visit.event('call_deferred', data)] })
    visit.log.flush()
    call.unknownBefore++
    this.hooks.judge(call)
  }

  private expectNothing(call: IssuedCall, record: CallRecord): void {
    call.dueAt = null
    call.record = { ...record, dueAt: null }
    this.visit.append({ records: [call.record] })
  }

  private receipt(call: IssuedCall, record: CallRecord, result: Result): void {
    const { visit } = this
    const seq = visit.nextSeq()
    const settledAt = visit.clock.now()
    const { json: resultJson, externalId, usageJson } = result
    const receipt = { status: 'committed', seq, resultJson, externalId, usageJson } as const
    call.record = { ...record, ...receipt, settledAt }
    visit.append({ records: [call.record], events: beatsOf(visit, call) })
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
      usageJson: result?.usageJson ?? null,
      errorJson: failure && JSON.stringify(failure),
      attempt: call.tries,
      settledAt: visit.clock.now(),
    }
    visit.reach()
    visit.append({ records: [record], events: failure ? [] : beatsOf(visit, call) })
    if (call.grant) visit.append({ decisions: usedGrant(visit, call) })
    const value = failure ? errorOf(record.tool, failure) : parseResult(record.resultJson)
    const settled = { seq, ok: failure === null, value }
    // What was dear goes to the committer before its delivery is queued (D12). Nobody waits for it,
    // but where a commit is one turn (SQLite) it is durable before the node can act on it.
    if (record.usageJson !== null || call.tookMs > limits.dearMs) visit.log.flush()
    else visit.log.flushLater()
    this.hooks.settle(call, settled)
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
    visit.log.flush()
    this.later(backoffMs(call.tool, call.tries, visit.clock), then)
  }

  private later(waitMs: number, then: () => void): void {
    const { visit } = this
    visit.resting++
    visit.clock.after(waitMs, () => {
      visit.resting--
      if (visit.phase === 'running') then()
      visit.touch()
    })
  }
}
