// The one gate for writes: who may put which rows, and which transitions are legal. Every store
// asks it under the run row's lock, before it writes anything.

import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { canonical } from '../../model/json/canonical.ts'
import type { Evidence, Run, RunRef, StopRequest } from '../../model/run/records.ts'
import { checkTransition, isEnded, type RunState } from '../../model/run/states.ts'
import type { Authority, Changes, Parent, RunChange } from '../store.ts'
import { checkForms } from './finality.ts'

const allowed: Record<Authority | 'holder', readonly (keyof Changes)[]> = {
  holder: [
    'records',
    'attempts',
    'evidence',
    'items',
    'decisions',
    'events',
    'checkpoints',
    'signals',
    'children',
    'notices',
    'run',
  ],
  // A checkpoint only by pinning an earlier one again, which rewinds the run (D11).
  client: ['items', 'decisions', 'events', 'checkpoints', 'signals', 'notices', 'run'],
  // A former holder reports what it learnt: the end of its attempt, and what follows from it (I11).
  evidence: ['evidence', 'attempts', 'items', 'decisions', 'events', 'notices', 'run'],
}

/** What a change is judged by. */
export type Target = Pick<Run, 'namespace' | 'runId' | 'state'>

export function checkChanges(run: Target, by: Authority | 'holder', changes: Changes): void {
  for (const key of Object.keys(changes) as (keyof Changes)[]) {
    if (changes[key] !== undefined && !allowed[by].includes(key)) {
      throw refused(run, `a ${by} may not write ${key}`)
    }
  }
  for (const row of rowsOf(changes)) {
    if (row.namespace !== run.namespace || row.runId !== run.runId) {
      throw refused(run, `a row of run ${row.runId} in a change of this run`)
    }
  }
  for (const record of changes.records ?? []) {
    const settled = record.status === 'committed' || record.status === 'failed'
    if (settled !== (record.settledAt !== null) || (settled && record.seq === null)) {
      throw refused(run, `${record.tool}: a settled record has a time and a seq, another has not`)
    }
  }
  checkForms(changes)
  if (by === 'evidence') checkEvidence(run, changes)
  for (const { usedBy, signalId } of changes.signals ?? []) {
    if ((usedBy === null) !== (by === 'client')) {
      throw refused(run, `signal ${signalId}: a client sends it, the holder takes it`)
    }
  }
  for (const { run: child } of changes.children ?? []) {
    if (child.namespace !== run.namespace || child.parentRunId !== run.runId) {
      throw refused(run, `run ${child.runId} is not a child of this run`)
    }
  }
  if (by === 'client' && changes.checkpoints !== undefined && changes.run?.rewind !== true) {
    throw refused(run, 'a client may not write checkpoints, unless it rewinds the run to one')
  }
  const { state: next = run.state, release = false } = changes.run ?? {}
  if (next !== run.state) checkTransition(run.runId, run.state, next)
  // It would be nobody's, and nobody would take it over.
  if (next === 'running' && (release || run.state !== 'running')) {
    throw refused(run, 'only a claim starts a run, and its holder gives it back with its state')
  }
}

function checkEvidence(run: Target, changes: Changes): void {
  if (changes.attempts?.some(({ endedAt, beatAt }) => endedAt === null && beatAt === null)) {
    throw refused(run, 'evidence may end an attempt, not begin one')
  }
  if (changes.decisions?.some((decision) => decision.voidedAt === null)) {
    throw refused(run, 'evidence may void a grant, not make one')
  }
  const change = changes.run
  if (change?.state !== undefined && change.state !== 'pending' && change.state !== run.state) {
    throw refused(run, 'evidence may wake a run, not end or stop it')
  }
}

function rowsOf(changes: Changes): RunRef[] {
  const rows: RunRef[] = [
    ...(changes.records ?? []),
    ...(changes.attempts ?? []),
    ...(changes.evidence ?? []),
    ...(changes.items ?? []),
    ...(changes.decisions ?? []),
    ...(changes.events ?? []),
    ...(changes.checkpoints ?? []),
    ...(changes.signals ?? []),
    ...(changes.notices ?? []),
  ]
  return rows
}

function refused(run: Target, why: string): CounterfoilError {
  return errorFor('WRITE_REFUSED', run.runId, why)
}

const stoppable: readonly RunState[] = ['running', 'pending']
const waiting: readonly RunState[] = ['waiting_tool', 'waiting_human']

/** The run row after a change; the same for every store. */
export function applyRunChange(run: Run, changes: Changes, now: number): Run {
  const change = changes.run ?? {}
  const state = change.state ?? run.state
  const visit = change.visit ?? run.visit
  const wakeAt = change.wakeAt === undefined && change.state === undefined ? run.wakeAt : null
  return {
    ...run,
    state,
    node: change.node ?? run.node,
    visit,
    reached: Math.max(run.reached, visit, change.reached ?? 0),
    // A wish to stop outlives a change of holders, and nothing else.
    stop: stoppable.includes(state) ? (change.stop === undefined ? run.stop : change.stop) : null,
    outputDigest: change.outputDigest === undefined ? run.outputDigest : change.outputDigest,
    waitingFor: change.waitingFor === undefined ? run.waitingFor : change.waitingFor,
    outputJson: change.outputJson === undefined ? run.outputJson : change.outputJson,
    errorJson: change.errorJson === undefined ? run.errorJson : change.errorJson,
    arrivals: run.arrivals + (change.arrive ? 1 : 0),
    workerId: change.release ? null : run.workerId,
    claims: change.progress ? 0 : run.claims,
    wakeAt: waiting.includes(state) ? (change.wakeAt ?? wakeAt) : null,
    endedAt: isEnded(state) ? (run.endedAt ?? now) : null,
    updatedAt: now,
  }
}

/** How a child ended, as its parent's `ctx.spawn` reads it: of a large output just the digest. */
export function newsOf(
  child: Pick<Run, 'namespace' | 'runId'>,
  parent: Parent,
  change: RunChange,
  now: number,
): Evidence {
  const { state, outputJson = null, outputDigest = null, errorJson = null } = change
  const output = outputJson === null ? null : JSON.parse(outputJson)
  const error = errorJson === null ? null : JSON.parse(errorJson)
  const envelope = { runId: child.runId, state, output, outputDigest, error }
  return {
    namespace: child.namespace,
    runId: parent.runId,
    attemptId: parent.attemptId,
    outcome: 'landed',
    resultJson: canonical(envelope),
    resultDigest: null,
    externalId: child.runId,
    errorJson: null,
    at: now,
    seq: null,
  }
}

/**
 * What becomes of a run when something arrives for it from outside its own lease: the end of a
 * child, a time that has come. One that waits is woken; any other sees it when it tries to park.
 */
export function arrival(run: Run): RunChange {
  if (!waiting.includes(run.state)) return { arrive: true }
  return { arrive: true, state: 'pending', waitingFor: null }
}

/** What a live child is asked when its parent wants its end; one that waits is woken to obey. */
export function cancelledBy(child: Run, asked: Omit<StopRequest, 'to'>): RunChange {
  const stop = child.stop?.to === 'cancelled' ? child.stop : { to: 'cancelled' as const, ...asked }
  const parked = waiting.includes(child.state) || child.state === 'paused'
  const woken = parked ? ({ state: 'pending', waitingFor: null } as const) : {}
  return { arrive: true, stop, ...woken }
}
