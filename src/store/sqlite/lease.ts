// Owns: who holds which run, and until when. Leases count on the machine's monotonic clock, which
// all its processes share and which begins anew with a boot; hence the boot id beside it.
// Invariants: D2 a claim raises the fence in the transaction that changes the holder, so that from
// then on nothing of the former holder lands (I2). I9 a death on record, or another boot, ends a
// lease at once.

import { CounterfoilError } from '../../model/errors.ts'
import type { Run } from '../../model/records.ts'
import { isOtherBoot } from '../boot.ts'
import type { ClaimRequest, NewWorker, WorkerRow } from '../store.ts'
import type { Connection } from './connection.ts'
import { storeError } from './errors.ts'
import { movedSince } from './incarnation.ts'
import { bootProof } from './read.ts'
import * as tables from './tables.ts'
import { applyRows, putRun } from './write.ts'

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

const renew = `update workers set lease_until = ?
  where worker_id = ? and stopped_at is null and died_at is null`
const stop = `update workers set stopped_at = ?, socket_path = iif(?, null, socket_path)
  where worker_id = ? and stopped_at is null`
const declareDead = `update workers set died_at = ?, death_proof = ?
  where worker_id = ? and died_at is null`

export function renewWorker(c: Connection, workerId: string, leaseMs: number): boolean {
  return c.plain(() => c.sql(renew).run(c.clock.mono() + leaseMs, workerId)).changes === 1
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

type Cause = 'pending' | 'dead' | 'boot' | 'stopped' | 'expired' | 'unknown'

/** Why a holder holds no longer, or null. */
function lapse(c: Connection, workerId: string): Cause | null {
  const row = c.sql(oneWorker).get(workerId)
  if (row === undefined) return 'unknown'
  const worker = decodeWorker(c, row)
  if (isOtherBoot(worker.bootId, c.bootId)) return 'boot'
  if (worker.diedAt !== null) return 'dead'
  if (worker.stoppedAt !== null) return 'stopped'
  return worker.expired ? 'expired' : null
}

const waiting = `select ${tables.runs.columns}, rowid from runs
  where state = 'pending' and graph = ? and version = ? and namespace = ifnull(?, namespace)
  order by rowid limit ?`
const oneWaiting = `select ${tables.runs.columns}, rowid from runs
  where state = 'pending' and run_id = ? and namespace = ifnull(?, namespace)`
const stopping = `select ${tables.runs.columns} from runs
  where worker_id = ? and stop is not null and state = 'running'`

export function listStops(c: Connection, workerId: string): Run[] {
  return c.plain(() => c.sql(stopping).all(workerId)).map(tables.runs.decode)
}

const holders = `select distinct worker_id from runs where state = 'running'`
const heldBy = `select ${tables.runs.columns}, rowid from runs
  where state = 'running' and worker_id is ? order by rowid`

interface Candidate {
  run: Run
  rowid: number
  cause: Cause
}

/** Looks first without the lock, since most looks of an idle worker find nothing. */
export function claim(c: Connection, request: ClaimRequest): Run[] {
  if (c.plain(() => claimable(c, request)).length === 0) return []
  return c.write(() => claimable(c, request).map((one) => take(c, request, one)))
}

function claimable(c: Connection, request: ClaimRequest): Candidate[] {
  const moved = movedSince(c)
  if (moved !== null) throw storeError('STORE_MOVED', c.path, { says: moved })
  const own = lapse(c, request.workerId)
  if (own !== null && own !== 'expired') throw workerDead(request.workerId)
  const found = [...waitingRuns(c, request), ...lapsedRuns(c, request)]
  found.sort((a, b) => a.rowid - b.rowid)
  return found.slice(0, Math.max(0, request.countMax))
}

function waitingRuns(c: Connection, request: ClaimRequest): Candidate[] {
  if (request.runId !== undefined) {
    const { runId, namespace = null, graphs } = request
    const rows = c
      .sql(oneWaiting)
      .all(runId, namespace)
      .map((row) => candidate(row, 'pending'))
    return rows.filter(({ run }) =>
      graphs.some(({ name, version }) => name === run.graph && version === run.version),
    )
  }
  return request.graphs.flatMap(({ name, version }) =>
    c
      .sql(waiting)
      .all(name, version, request.namespace ?? null, Math.max(0, request.countMax))
      .map((row) => candidate(row, 'pending')),
  )
}

/** One look per worker that holds runs; only those whose hold has ended are read further. */
function lapsedRuns(c: Connection, request: ClaimRequest): Candidate[] {
  const carried = new Set(request.graphs.map(({ name, version }) => `${name}@${version}`))
  return c
    .sql(holders)
    .all()
    .flatMap(([workerId]) => {
      const cause = lapse(c, workerId as string)
      if (cause === null) return []
      const rows = c
        .sql(heldBy)
        .all(workerId)
        .map((row) => candidate(row, cause))
      const ours = ({ namespace, runId }: Run) =>
        (request.namespace ?? namespace) === namespace && (request.runId ?? runId) === runId
      return rows.filter(({ run }) => ours(run) && carried.has(`${run.graph}@${run.version}`))
    })
}

function candidate(row: unknown[], cause: Cause): Candidate {
  return { run: tables.runs.decode(row), rowid: row.at(-1) as number, cause }
}

function take(c: Connection, { workerId }: ClaimRequest, { run, cause }: Candidate): Run {
  const { namespace, runId, generation, visit } = run
  const now = c.clock.now()
  const next: Run = {
    ...run,
    state: 'running',
    waitingFor: null,
    fence: run.fence + 1,
    workerId,
    claims: run.claims + 1,
    updatedAt: now,
  }
  putRun(c, run, next)
  const kind = cause === 'pending' ? 'claimed' : 'taken_over'
  const data = { worker: workerId, from: run.workerId, cause, fence: next.fence }
  applyRows(c, { events: [{ namespace, runId, at: now, kind, generation, visit, data }] })
  return next
}

function workerDead(workerId: string): CounterfoilError {
  return new CounterfoilError(
    'WORKER_DEAD',
    `worker ${workerId} is not registered, has stopped or was declared dead; start a new one`,
    { details: { workerId } },
  )
}
