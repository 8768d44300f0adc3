// Workers and their leases, on the monotonic clock of this process.
import type { Run } from '../../model/run/records.ts'
import { askedOf, workerDead } from '../rules/claim.ts'
import type { ClaimRequest, NewWorker, WorkerRow } from '../store.ts'
import {
  type Claimable,
  claimableOf,
  claimCause,
  claimed,
  hasEnded,
  newWorker,
} from '../whole-runs/claims.ts'
import type { RunRows } from '../whole-runs/run-rows.ts'
import { type Data, mustFind } from './data.ts'

export function register(data: Data, worker: NewWorker, leaseMs: number): void {
  const known = data.workers.get(worker.workerId)
  if (known && hasEnded(known)) throw workerDead(worker.workerId)
  const leaseUntil = data.clock.mono() + leaseMs
  const row = known ? { ...known, leaseUntil } : newWorker(worker, leaseUntil)
  data.workers.set(worker.workerId, row)
}

export function renew(data: Data, workerId: string, leaseMs: number): boolean {
  const row = data.workers.get(workerId)
  if (row === undefined || hasEnded(row)) return false
  data.workers.set(workerId, { ...row, leaseUntil: data.clock.mono() + leaseMs })
  return true
}

export function withExpiry(data: Data, row: WorkerRow): WorkerRow {
  return { ...row, expired: row.leaseUntil <= data.clock.mono() }
}

export function claim(data: Data, request: ClaimRequest): Run[] {
  if (askedOf(request) === null) return []
  const me = data.workers.get(request.workerId)
  if (me === undefined || hasEnded(me)) throw workerDead(request.workerId)
  const runs = [...data.runs.values()].map(({ run }) => run)
  const { taken, last } = claimableOf(runs, request, data.served, (id) => holderOf(data, id))
  data.served = last
  return taken.map((one) => take(data, one, request.workerId))
}

function holderOf(data: Data, workerId: string): WorkerRow | undefined {
  const row = data.workers.get(workerId)
  return row && withExpiry(data, row)
}

/** Whether somebody may take it. */
export function isFree(data: Data, { run }: RunRows): boolean {
  const holder = run.workerId === null ? undefined : holderOf(data, run.workerId)
  return claimCause(run, holder) !== null
}

function take(data: Data, one: Claimable, workerId: string): Run {
  const rows = mustFind(data, one.run)
  const { run, event } = claimed(one, workerId, data.clock.now())
  rows.events.push(event)
  rows.run = run
  return run
}
