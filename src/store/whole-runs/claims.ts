// Who may hold what, for a store that goes through runs one by one.
import { type Event, eventOf, type Run } from '../../model/run/records.ts'
import { askedOf } from '../rules/claim.ts'
import { grouped, inTurn, type Turn } from '../rules/fair.ts'
import type { ClaimRequest, NewWorker, WakePass, WorkerRow } from '../store.ts'

/** One that has ended stays so: its runs are free, and others may have them. */
export function hasEnded({ diedAt, stoppedAt }: WorkerRow): boolean {
  return diedAt !== null || stoppedAt !== null
}

export function newWorker(worker: NewWorker, leaseUntil: number): WorkerRow {
  const ends = { expired: false, stoppedAt: null, diedAt: null, deathProof: null }
  return { ...worker, ...ends, leaseUntil }
}

/** Whether its death can still be proven by its socket. */
export function isProvable({ diedAt, socketPath }: WorkerRow): boolean {
  return diedAt === null && socketPath !== null
}

/** Why the run may be taken; null if it may not. `holder`: the worker that its row names. */
export function claimCause(run: Run, holder: WorkerRow | undefined): string | null {
  if (run.state === 'pending') return 'pending'
  if (run.state !== 'running' || run.workerId === null) return null
  if (holder === undefined) return 'unknown'
  if (holder.diedAt !== null) return 'dead'
  if (holder.stoppedAt !== null) return 'stopped'
  return holder.expired ? 'expired' : null
}

export interface Claimable {
  readonly run: Run
  readonly cause: string
}

/**
 * The runs that a claim takes, of all there are in the order they were started; `served` is the
 * group whose turn was last.
 */
export function claimableOf(
  runs: Iterable<Run>,
  request: ClaimRequest,
  served: string,
  holderOf: (workerId: string) => WorkerRow | undefined,
): Turn<Claimable> {
  const asked = askedOf(request)
  if (asked === null) return { taken: [], last: served }
  const carried = new Set(request.graphs.map((graph) => `${graph.name}@${graph.version}`))
  const found: Claimable[] = []
  for (const run of runs) {
    if ((asked.namespace ?? run.namespace) !== run.namespace) continue
    if ((asked.runId ?? run.runId) !== run.runId) continue
    const cause = claimCause(run, run.workerId === null ? undefined : holderOf(run.workerId))
    if (cause === null || !carried.has(`${run.graph}@${run.version}`)) continue
    found.push({ run, cause })
  }
  const { taken, last } = inTurn(
    grouped(found, ({ run }) => run),
    served,
    request.countMax,
  )
  // One run that was asked for is nobody's turn.
  return { taken, last: request.only === undefined ? last : served }
}

/** The row of a run that was taken, and the event that tells of it. */
export function claimed(
  { run, cause }: Claimable,
  workerId: string,
  now: number,
): { run: Run; event: Event } {
  const fence = run.fence + 1
  const kind = cause === 'pending' ? 'claimed' : 'taken_over'
  const data = { worker: workerId, from: run.workerId, cause, fence }
  const next = { ...run, state: 'running' as const, waitingFor: null, fence, workerId }
  return {
    run: { ...next, claims: run.claims + 1, updatedAt: now },
    event: eventOf(run, now, kind, data),
  }
}

/** The runs to be woken, the longest overdue first, and what a pass tells of them. */
export function dueRuns(
  runs: readonly Run[],
  now: number,
  countMax: number,
): { due: readonly Run[]; pass: WakePass } {
  const all = sleepers(runs)
  const due = all.filter(({ wakeAt }) => wakeAt <= now).slice(0, countMax)
  const [first] = due
  const nextAt = all[due.length]?.wakeAt ?? null
  const lagMs = first === undefined ? 0 : now - first.wakeAt
  return { due: due.map(({ run }) => run), pass: { woken: due.length, lagMs, nextAt } }
}

/** Runs that have a time to wake, the earliest first. */
export function sleepers(runs: readonly Run[]): { run: Run; wakeAt: number }[] {
  return runs
    .flatMap((run) => (run.wakeAt === null ? [] : [{ run, wakeAt: run.wakeAt }]))
    .sort((a, b) => a.wakeAt - b.wakeAt)
}
