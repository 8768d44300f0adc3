// Owns: what a node waits for without a worker: a time, a signal, a child, or the callback of a
// call that was deferred. It is on record before it is waited for; what has come already answers at
// once, and a visit that only waits parks.
// Does not own: the park itself (visit.ts), nor what has come before the load (arrivals.ts).
// Invariants: I10 what comes while the visit is loaded is found by its park, or by `hear`, never
// lost between the two. A wait is answered once, by its record.

import type { Graph } from '../../model/graph/graph.ts'
import { parseResult } from '../../model/replay/answers.ts'
import { childJson, usedSignal } from '../../model/replay/arrivals.ts'
import { deadlineOf } from '../../model/replay/callback.ts'
import type { Settled } from '../../model/replay/entry.ts'
import { overJson, signalJson, trustedSignals } from '../../model/replay/waits.ts'
import { attemptPlace, placeOfAttempt } from '../../model/run/attempt-id.ts'
import type { CallRecord, Signal, WaitKind } from '../../model/run/records.ts'
import type { Loaded } from '../../store/store.ts'
import { usedGrant } from '../attempt/rows.ts'
import type { IssuedCall } from '../call/call.ts'
import { hear } from '../visit/hear.ts'
import type { Visit } from '../visit/visit.ts'
import { childId, childOf } from './children.ts'

/** What the node itself asked to wait for. */
export type WaitSpec =
  | { readonly kind: 'timer'; readonly dueAt: () => number }
  | { readonly kind: 'signal'; readonly name: string; readonly dueAt: () => number | null }
  | { readonly kind: 'child'; readonly graph: Graph }

/** One wait of a visit, as its park tells it. */
export interface Waiting {
  readonly kind: WaitKind
  readonly name: string
  readonly since: number
  readonly dueAt: number | null
  readonly cancel: () => void
}

// A timer that is longer fires at once.
const timerMsMax = 2 ** 31 - 1

export interface WaitHooks {
  settle: (call: IssuedCall, settled: Settled) => void
  judge: (call: IssuedCall) => void
  intent: (call: IssuedCall) => CallRecord
}

export class Waits {
  private readonly visit: Visit
  private readonly hooks: WaitHooks
  private readonly calls = new Map<IssuedCall, Waiting>()
  /** The arrivals that this visit has looked at. */
  heard: number

  constructor(visit: Visit, hooks: WaitHooks) {
    this.visit = visit
    this.heard = visit.run.arrivals
    this.hooks = hooks
  }

  /** Whether something that comes from outside could answer a call here. */
  listens(): boolean {
    return [...this.calls.values()].some(({ kind }) => kind !== 'timer')
  }

  /** Puts a wait on record; with a child, the child's own rows. */
  begin(call: IssuedCall): void {
    const { visit } = this
    const spec = call.wait
    if (spec === null) return
    visit.secure()
    call.dueAt = spec.kind === 'child' ? null : spec.dueAt()
    const record = this.hooks.intent(call)
    const decisions = usedGrant(visit, call)
    const signal = spec.kind === 'signal' ? visit.signals.take(spec.name) : null
    if (signal) {
      visit.append({ decisions })
      this.settle(call, record, signalJson(signal), signal)
      return
    }
    const children = spec.kind === 'child' ? [childOf(visit, call, spec.graph)] : []
    visit.append({ records: [record], decisions, children })
    visit.touch({ flush: true })
    this.hold(call)
  }

  /** Waits for what is on record: a wait of the node, or a call that was deferred. */
  hold(call: IssuedCall): void {
    const { visit } = this
    const { record } = call
    if (record === null || this.calls.has(call)) return
    const dueAt = this.deadline(call)
    let cancel = () => {}
    const arm = () => {
      if (dueAt === null) return
      const leftMs = Math.max(0, dueAt - visit.clock.now())
      cancel = visit.clock.after(Math.min(leftMs, timerMsMax), () => {
        if (visit.clock.now() < dueAt) return arm()
        this.over(call)
      })
    }
    const waiting: Waiting = {
      kind: call.wait?.kind ?? 'callback',
      name: shownName(visit, call),
      since: record.createdAt,
      dueAt,
      cancel: () => cancel(),
    }
    this.calls.set(call, waiting)
    visit.pauses.add(waiting)
    visit.touch()
    arm()
  }

  /** What came from outside while the visit was loaded: only what a wait of it can use. */
  hear(now: Loaded, outputs: ReadonlyMap<string, string>): void {
    const { visit } = this
    this.heard = now.run.arrivals
    visit.signals.add(trustedSignals(now.signals))
    for (const [call] of [...this.calls]) {
      const { record, wait } = call
      if (record === null || visit.phase !== 'running') continue
      if (wait?.kind === 'signal') {
        const signal = visit.signals.take(wait.name)
        if (signal) this.settle(call, record, signalJson(signal), signal)
        continue
      }
      const number = wait === null ? record.attempt : 0
      const place = attemptPlace(visit.run.generation, visit.run.visit, call.key, number)
      const isOwn = ({ attemptId }: { attemptId: string }) => placeOfAttempt(attemptId) === place
      call.beatAt = now.attempts.find(isOwn)?.beatAt ?? call.beatAt
      const heard = now.evidence.find((row) => isOwn(row) && row.verifies)
      if (heard?.outcome !== 'landed' || heard.seq !== null) continue
      const { verifies: _, ...evidence } = heard
      const json = wait ? childJson(heard.resultJson, outputs) : heard.resultJson
      const seq = this.settle(call, record, json, null, heard.externalId)
      visit.append({ evidence: [{ ...evidence, seq }] })
    }
  }

  /** Its time is over, unless something has come for it that nobody has looked at yet. */
  private over(call: IssuedCall): void {
    const { visit } = this
    if (visit.phase !== 'running') return
    if (call.wait?.kind === 'timer') return this.end(call)
    const ended = () => {
      if (visit.phase !== 'running' || !this.calls.has(call)) return
      this.release(call)
      const dueAt = this.deadline(call)
      // It was heard of meanwhile.
      if (dueAt !== null && visit.clock.now() < dueAt) this.hold(call)
      else this.end(call)
    }
    hear(visit).then(ended, (error) => visit.log.lose(error))
  }

  private end(call: IssuedCall): void {
    const { record } = call
    this.release(call)
    if (record === null) return
    if (call.wait === null) this.hooks.judge(call)
    else this.settle(call, record, overJson(call.tool.name), null)
    this.visit.touch()
  }

  private deadline(call: IssuedCall): number | null {
    const { record, tool } = call
    return record && deadlineOf(record, tool.rules, this.visit.loaded.attempts, call)
  }

  private release(call: IssuedCall): void {
    const waiting = this.calls.get(call)
    if (waiting === undefined) return
    this.calls.delete(call)
    waiting.cancel()
    this.visit.pauses.delete(waiting)
  }

  private settle(
    call: IssuedCall,
    record: CallRecord,
    resultJson: string | null,
    signal: Signal | null,
    externalId: string | null = null,
  ): number {
    const { visit } = this
    this.release(call)
    const seq = visit.nextSeq()
    const settledAt = visit.clock.now()
    call.record = { ...record, status: 'committed', seq, resultJson, externalId, settledAt }
    const signals = signal ? [usedSignal(signal, visit.run, call.key)] : []
    visit.append({ records: [call.record], signals })
    this.hooks.settle(call, { seq, ok: true, value: parseResult(resultJson) })
    visit.touch({ flush: true })
    return seq
  }
}

function shownName(visit: Visit, call: IssuedCall): string {
  if (call.wait?.kind === 'signal') return call.wait.name
  return call.wait?.kind === 'child' ? childId(visit, call) : call.tool.name
}
