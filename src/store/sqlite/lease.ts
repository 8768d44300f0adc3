// Owns: workers and their leases. Leases count on the machine's monotonic clock, which all its
// processes share and which begins anew with a boot; hence the boot id beside it.
// Does not own: which runs a worker is given (claim.ts).
// Invariants: I9 a death on record, or another boot, ends a lease at once.

import type { Run } from '../../model/run/records.ts'
import { isOtherBoot } from '../boot.ts'
import { workerDead } from '../rules/claim.ts'
import type { NewWorker, WorkerRow } from '../store.ts'
import type { Connection } from './opening/connection.ts'
import { bootProof } from './read.ts'
import * as tables from './tables.ts'

const register = `insert into workers
  (worker_id, pid, host, boot_id, socket_path, socket_inode, started_at, lease_until)
  values (?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (worker_id) do update set lease_until = excluded.lease_until
  where stopped_at is null and died_at is null`

export function registerWorker(c: Connection, worker: NewWorker, leaseMs: number): void {
  const { workerId, pid, host, bootId, socketPath, socketInode, startedAt } = worker
  const until = c.clock.mono() + leaseMs
  const done = c.plain(() =>
    c.sql(register).run(workerId, pid, host, bootId, socketPath, socketInode, startedAt, until),
  )
  if (done.changes === 0) throw workerDead(workerId)
}

export const renewal = `update workers set lease_until = ?
  where worker_id = ? and stopped_at is null and died_at is null`
const stop = `update workers set stopped_at = ?, socket_path = iif(?, null, socket_path)
  where worker_id = ? and stopped_at is null`
const declareDead = `update workers set died_at = ?, death_proof = ?
  where worker_id = ? and died_at is null`

export function renewWorker(c: Connection, workerId: string, leaseMs: number): boolean {
  return c.plain(() => c.sql(renewal).run(c.clock.mono() + leaseMs, workerId)).changes === 1
}

export function stopWorker(c: Connection, workerId: string, ended: boolean): void {
  c.plain(() => c.sql(stop).run(c.clock.now(), ended ? 1 : 0, workerId))
}

export function declareWorkerDead(c: Connection, workerId: string, proof: string): void {
  c.plain(() => c.sql(declareDead).run(c.clock.now(), proof, workerId))
}

/** At open: who was here before the machine was started again is dead. */
export function noteOtherBoots(c: Connection): void {
  if (c.bootId === 'unknown') return
  c.sql(
    `update workers set died_at = ?, death_proof = ?
     where boot_id <> ? and boot_id <> 'unknown' and died_at is null`,
  ).run(c.clock.now(), bootProof, c.bootId)
}

const workerColumns = `worker_id, pid, host, boot_id, socket_path, socket_inode, started_at,
  lease_until, stopped_at, died_at, death_proof`
const allWorkers = `select ${workerColumns} from workers order by rowid`
const provableWorkers = `select ${workerColumns} from workers
  where died_at is null and socket_path is not null order by rowid`
const oneWorker = `select ${workerColumns} from workers where worker_id = ?`

export function listWorkers(c: Connection, provable: boolean): WorkerRow[] {
  return c
    .plain(() => c.sql(provable ? provableWorkers : allWorkers).all())
    .map((row) => decodeWorker(c, row))
}

function decodeWorker(c: Connection, row: unknown[]): WorkerRow {
  const [workerId, pid, host, bootId, socketPath, socketInode, startedAt, leaseUntil] = row
  const [stoppedAt, diedAt, deathProof] = row.slice(8)
  const other = isOtherBoot(bootId as string, c.bootId)
  const expired = other || (leaseUntil as number) <= c.clock.mono()
  return {
    ...{ workerId, pid, host, bootId, socketPath, socketInode, startedAt, leaseUntil },
    ...{ expired, stoppedAt, diedAt, deathProof },
  } as WorkerRow
}

export type Cause = 'pending' | 'dead' | 'boot' | 'stopped' | 'expired' | 'unknown'

/** Why a holder holds no longer, or null. */
export function lapse(c: Connection, workerId: string): Cause | null {
  const row = c.sql(oneWorker).get(workerId)
  if (row === undefined) return 'unknown'
  const worker = decodeWorker(c, row)
  if (isOtherBoot(worker.bootId, c.bootId)) return 'boot'
  if (worker.diedAt !== null) return 'dead'
  if (worker.stoppedAt !== null) return 'stopped'
  return worker.expired ? 'expired' : null
}

// The plus keeps SQLite to the index of wishes, which are few, from the one of all runs held.
const stopping = `select ${tables.runs.columns} from runs
  where worker_id = ? and stop is not null and +state = 'running'`

export function listStops(c: Connection, workerId: string): Run[] {
  return c.plain(() => c.sql(stopping).all(workerId)).map(tables.runs.decode)
}

// By jumping: one seek for a worker, however many runs it holds.
const holders = `with recursive holder (id) as (
    select min(worker_id) from runs where state = 'running'
    union all
    select (select min(worker_id) from runs where state = 'running' and worker_id > holder.id)
      from holder where holder.id is not null)
  select id from holder where id is not null`

/** Workers that have runs and hold them no longer. */
export function lapsedHolders(c: Connection): { holder: string; cause: Cause }[] {
  return c
    .sql(holders)
    .all()
    .flatMap(([id]) => {
      const holder = id as string
      const cause = lapse(c, holder)
      return cause === null ? [] : [{ holder, cause }]
    })
}
