// Workers and their leases, on the monotonic clock of this process.
import type { Run } from '../../model/records.ts'
import { askedOf, workerDead } from '../claim-rules.ts'
import { grouped, inTurn } from '../fair.ts'
import type { ClaimRequest, NewWorker, WorkerRow } from '../store.ts'
import type { Data, RunData } from './data.ts'

/** One that is over stays so: its runs are free, and others may have them. */
export function register(data: Data, worker: NewWorker, leaseMs: number): void {
  const known = data.workers.get(worker.workerId)
  if (known && isOver(known)) throw workerDead(worker.workerId)
  const ends = { expired: false, stoppedAt: null, diedAt: null, deathProof: null }
  const leaseUntil = data.clock.mono() + leaseMs
  data.workers.set(worker.workerId, { ...(known ?? { ...worker, ...ends }), leaseUntil })
}

function isOver({ diedAt, stoppedAt }: WorkerRow): boolean {
  return diedAt !== null || stoppedAt !== null
}

export function renew(data: Data, workerId: string, leaseMs: number): boolean {
  const row = data.workers.get(workerId)
  if (row === undefined || isOver(row)) return false
  data.workers.set(workerId, { ...row, leaseUntil: data.clock.mono() + leaseMs })
  return true
}

export function withExpiry(data: Data, row: WorkerRow): WorkerRow {
  return { ...row, expired: row.leaseUntil <= data.clock.mono() }
}

export function claim(data: Data, request: ClaimRequest): Run[] {
  const asked = askedOf(request)
  if (asked === null) return []
  const me = data.workers.get(request.workerId)
  if (me === undefined || isOver(me)) throw workerDead(request.workerId)
  const carried = new Set(request.graphs.map((graph) => `${graph.name}@${graph.version}`))
  const found: Candidate[] = []
  for (const of of data.runs.values()) {
    const { run } = of
    if ((asked.namespace ?? run.namespace) !== run.namespace) continue
    if ((asked.runId ?? run.runId) !== run.runId) continue
    const cause = claimable(data, of)
    if (cause === null || !carried.has(`${run.graph}@${run.version}`)) continue
    found.push({ of, cause })
  }
  const groups = grouped(found, ({ of }) => of.run)
  const { taken, last } = inTurn(groups, data.served, request.countMax)
  // One run that was asked for is nobody's turn.
  if (request.only === undefined) data.served = last
  return taken.map(({ of, cause }) => take(data, of, request.workerId, cause))
}

interface Candidate {
  of: RunData
  cause: string
}

export function claimable(data: Data, { run }: RunData): string | null {
  if (run.state === 'pending') return 'pending'
  if (run.state !== 'running' || run.workerId === null) return null
  const holder = data.workers.get(run.workerId)
  if (holder === undefined) return 'unknown'
  if (holder.diedAt !== null) return 'dead'
  if (holder.stoppedAt !== null) return 'stopped'
  return withExpiry(data, holder).expired ? 'expired' : null
}

function take(data: Data, of: RunData, workerId: string, cause: string): Run {
  const { run } = of
  of.events.push({
    namespace: run.namespace,
    runId: run.runId,
    at: data.clock.now(),
    kind: cause === 'pending' ? 'claimed' : 'taken_over',
    generation: run.generation,
    visit: run.visit,
    data: { worker: workerId, from: run.workerId, cause, fence: run.fence + 1 },
  })
  of.run = {
    ...run,
    state: 'running',
    waitingFor: null,
    fence: run.fence + 1,
    workerId,
    claims: run.claims + 1,
    updatedAt: data.clock.now(),
  }
  return of.run
}
