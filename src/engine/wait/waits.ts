// Owns: what a node waits for without a worker: a time, a signal, a child, or the callback of a
// call that was deferred. It is on record before it is waited for; what has come already answers at
// once, and a visit that only waits parks.
// Does not own: the park itself (visit/leave.ts), nor what has come before the load (arrivals.ts).
// Invariants: I10 what comes while the visit is loaded is found by its park, or by `hear`, never
// lost between the two. A wait is answered once, by its record.

import { parseResult } from '../../model/replay/answers.ts'
import { childJson, usedSignal } from '../../model/replay/arrivals.ts'
import { deadlineOf } from '../../model/replay/callback.ts'
import { overJson, signalJson, trustedSignals } from '../../model/replay/waits.ts'
import { placeOfAttempt } from '../../model/run/attempt-id.ts'
import type { CallRecord, Signal } from '../../model/run/records.ts'
import type { Loaded } from '../../store/store.ts'
import { intent } from '../attempt/intent-row.ts'
import { placeOf, usedGrant } from '../attempt/rows.ts'
import type { IssuedCall } from '../call/call.ts'
import { answer, type Go, judgeIt, type Next, stop, until } from '../call/next.ts'
import type { Visit } from '../visit/visit.ts'
import { childId, childOf } from './children.ts'
import { outputsOf } from './outputs.ts'
import type { Waiting } from './spec.ts'

// A timer that is longer fires at once.
const timerMsMax = 2 ** 31 - 1

/** Whether something that comes from outside could answer a call here. */
export function listens({ phase, pauses }: Visit): boolean {
  return phase === 'running' && [...pauses.values()].some(({ kind }) => kind !== 'timer')
}

/** Puts a wait on record; with a child, the child's own rows. */
export function beginWait(visit: Visit, call: IssuedCall): Next {
  const spec = call.wait
  if (spec === null) return stop
  visit.secure()
  call.dueAt = spec.kind === 'child' ? null : spec.dueAt()
  const record = intent(visit, call)
  const decisions = usedGrant(visit, call)
  const signal = spec.kind === 'signal' ? visit.signals.take(spec.name) : null
  if (signal) {
    visit.append({ decisions })
    return settled(visit, call, record, { json: signalJson(signal), signal })
  }
  const children = spec.kind === 'child' ? [childOf(visit, call, spec.graph)] : []
  visit.append({ records: [record], decisions, children })
  visit.touch({ flush: true })
  return awaitIt(visit, call)
}

/** Waits for what is on record: a wait of the node, or a call that was deferred. */
export function awaitIt(visit: Visit, call: IssuedCall): Next {
  const { record } = call
  if (record === null) return stop
  return until('waiting', (go) => hold(visit, call, record, go))
}

function hold(visit: Visit, call: IssuedCall, record: CallRecord, go: Go): void {
  const dueAt = deadline(visit, call)
  let cancel = () => {}
  const arm = () => {
    if (dueAt === null) return
    const leftMs = Math.max(0, dueAt - visit.clock.now())
    cancel = visit.clock.after(Math.min(leftMs, timerMsMax), () => {
      if (visit.clock.now() < dueAt) return arm()
      over(visit, call)
    })
  }
  visit.pauses.set(call, {
    kind: call.wait?.kind ?? 'callback',
    name: shownName(visit, call),
    since: record.createdAt,
    dueAt,
    cancel: () => cancel(),
    go,
  })
  visit.touch()
  arm()
}

/** Looks only if something has come since the last look. */
export async function hearNew(visit: Visit): Promise<void> {
  const row = await visit.store.getRun(visit.run)
  if (row !== null && row.arrivals !== visit.heard) await hear(visit)
}

/**
 * Brings what has come from outside to a visit that is still busy elsewhere. A park does not rely
 * on this: it counts the arrivals since the load (I10).
 */
async function hear(visit: Visit): Promise<void> {
  const { store, run, at } = visit
  const now = await store.load(run, at)
  if (now === null || now.run.fence !== run.fence || visit.phase !== 'running') return
  const outputs = await outputsOf(store, now)
  if (visit.phase !== 'running') return
  visit.heard = now.run.arrivals
  visit.signals.add(trustedSignals(now.signals))
  for (const call of [...visit.pauses.keys()]) {
    if (visit.phase === 'running') bring(visit, call, now, outputs)
  }
}

/** Only what the wait of the call can use. */
function bring(
  visit: Visit,
  call: IssuedCall,
  now: Loaded,
  outputs: ReadonlyMap<string, string>,
): void {
  const { record, wait } = call
  if (record === null) return
  if (wait?.kind === 'signal') {
    const signal = visit.signals.take(wait.name)
    if (signal)
      end(visit, call, () => settled(visit, call, record, { json: signalJson(signal), signal }))
    return
  }
  const place = placeOf(visit.run, call.key, record.attempt)
  const isOwn = ({ attemptId }: { attemptId: string }) => placeOfAttempt(attemptId) === place
  call.beatAt = now.attempts.find(isOwn)?.beatAt ?? call.beatAt
  const heard = now.evidence.find((row) => isOwn(row) && row.verifies)
  if (heard?.outcome !== 'landed' || heard.seq !== null) return
  const { verifies: _, externalId, ...evidence } = heard
  const json = wait ? childJson(heard.resultJson, outputs) : heard.resultJson
  end(visit, call, () => {
    const next = settled(visit, call, record, { json, externalId })
    visit.append({ evidence: [{ ...evidence, externalId, seq: call.record?.seq ?? null }] })
    return next
  })
}

/** Its time is over, unless something has come for it that nobody has looked at yet. */
function over(visit: Visit, call: IssuedCall): void {
  if (visit.phase !== 'running') return
  if (call.wait?.kind === 'timer') return end(visit, call, () => timeOver(visit, call))
  const looked = () => {
    if (visit.phase !== 'running' || !visit.pauses.has(call)) return
    const dueAt = deadline(visit, call)
    // It was heard of meanwhile.
    if (call.record && dueAt !== null && visit.clock.now() < dueAt) {
      const waiting = release(visit, call)
      if (waiting) hold(visit, call, call.record, waiting.go)
    } else end(visit, call, () => timeOver(visit, call))
  }
  hear(visit).then(looked, (error) => visit.log.lose(error))
}

function timeOver(visit: Visit, call: IssuedCall): Next {
  const { record } = call
  if (record === null) return stop
  if (call.wait === null) return judgeIt
  return settled(visit, call, record, { json: overJson(call.tool.name) })
}

function deadline(visit: Visit, call: IssuedCall): number | null {
  const { record, tool } = call
  return record && deadlineOf(record, tool.rules, visit.loaded.attempts, call)
}

function release(visit: Visit, call: IssuedCall): Waiting | null {
  const waiting = visit.pauses.get(call)
  if (waiting === undefined) return null
  visit.pauses.delete(call)
  waiting.cancel()
  return waiting
}

/** The wait is over: what is next is asked for once it is no wait of its visit any more. */
function end(visit: Visit, call: IssuedCall, next: () => Next): void {
  const waiting = release(visit, call)
  if (waiting === null) return
  waiting.go(next())
  visit.touch()
}

interface Came {
  readonly json: string | null
  readonly signal?: Signal
  readonly externalId?: string | null
}

function settled(visit: Visit, call: IssuedCall, record: CallRecord, came: Came): Next {
  const { json: resultJson, signal, externalId = null } = came
  const seq = visit.nextSeq()
  const settledAt = visit.clock.now()
  call.record = { ...record, status: 'committed', seq, resultJson, externalId, settledAt }
  const signals = signal ? [usedSignal(signal, visit.run, call.key)] : []
  visit.append({ records: [call.record], signals })
  visit.touch({ flush: true })
  return answer({ seq, ok: true, value: parseResult(resultJson) }, false)
}

function shownName(visit: Visit, call: IssuedCall): string {
  if (call.wait?.kind === 'signal') return call.wait.name
  return call.wait?.kind === 'child' ? childId(visit, call) : call.tool.name
}
