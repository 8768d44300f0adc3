// Owns: who holds which run, as far as this process knows. The rules are functions/04_lease.sql;
// leases count on the server's clock.
// Invariants: D2 a claim whose answer was lost gives its runs to the next claim of the same worker:
// else they would be held, and renewed, by one who knows nothing of them.
import { isCounterfoilError } from '../../model/errors.ts'
import type { Run } from '../../model/run/records.ts'
import { askedOf, workerDead } from '../rules/claim.ts'
import { grouped, inTurn } from '../rules/fair.ts'
import type { ClaimRequest, NewWorker, WorkerRow } from '../store.ts'
import { movedSince } from './identity/incarnation.ts'
import type { Connection } from './opening/connection.ts'
import { keepsConnection, storeError } from './opening/errors.ts'
import type { Columns } from './tables.ts'
import * as tables from './tables.ts'

export async function registerWorker(
  c: Connection,
  worker: NewWorker,
  leaseMs: number,
): Promise<void> {
  const { workerId, pid, host, bootId, socketPath, socketInode, startedAt } = worker
  const row = {
    ...{ worker_id: workerId, pid, host, boot_id: bootId, started_at: startedAt },
    ...{ socket_path: socketPath, socket_inode: socketInode },
  }
  const done = await c.ask<boolean>('register_worker', [JSON.stringify(row), leaseMs])
  if (!done) throw workerDead(workerId)
}

export async function renewWorker(
  c: Connection,
  workerId: string,
  leaseMs: number,
): Promise<boolean> {
  const sentMs = c.clock.mono()
  const [row] = await c.call('renew_worker', [workerId, leaseMs])
  c.clock.heard(sentMs, row?.['at'] as number)
  return row?.['renewed'] === true
}

export async function listWorkers(c: Connection, provable: boolean): Promise<WorkerRow[]> {
  const which = provable ? 'where died_at is null and socket_path is not null' : ''
  const rows = await c.query(
    `select *, lease_until <= ${c.schema}.now_ms() as expired
     from ${c.schema}.workers ${which} order by id`,
  )
  return rows.map(decodeWorker)
}

function decodeWorker(row: Columns): WorkerRow {
  return {
    workerId: row['worker_id'],
    pid: row['pid'],
    host: row['host'],
    bootId: row['boot_id'],
    socketPath: row['socket_path'],
    socketInode: row['socket_inode'],
    startedAt: row['started_at'],
    leaseUntil: row['lease_until'],
    expired: row['expired'],
    stoppedAt: row['stopped_at'],
    diedAt: row['died_at'],
    deathProof: row['death_proof'],
  } as WorkerRow
}

export async function listStops(c: Connection, workerId: string): Promise<Run[]> {
  const rows = await c.query(
    `select ${tables.runs.columns} from ${c.schema}.runs
     where worker_id = $1 and stop is not null and state = 'running'`,
    [workerId],
  )
  return rows.map(tables.runs.decode)
}

interface LostClaim {
  readonly claimId: string
  readonly workerId: string
  readonly runId: string | null
  readonly atMs: number
}

/** Longer than any statement can be on its way. */
const lostMs = 600_000

export class Claims {
  private readonly c: Connection
  /** The group that was served last, so that the next claim begins after it. */
  private served = '\n'
  private lost: LostClaim[] = []

  constructor(c: Connection) {
    this.c = c
  }

  async claim(request: ClaimRequest): Promise<Run[]> {
    const { workerId, graphs, countMax } = request
    const asked = askedOf(request)
    if (asked === null) return []
    const { namespace = null, runId = null } = asked
    const claimId = this.c.clock.uuid()
    const sentMs = this.c.clock.mono()
    const ids = this.lost.filter((one) => one.workerId === workerId).map((one) => one.claimId)
    try {
      const rows = await this.c.call('claim_runs', [
        ...[workerId, namespace, graphs.map(({ name }) => name)],
        ...[graphs.map(({ version }) => version), countMax, runId, claimId, ids],
        this.served.split('\n'),
      ])
      // The server takes a group's share at once; whose turn comes next is as if one by one.
      const groups = grouped(rows.map(tables.runs.decode), (run) => run)
      const { taken, last } = inTurn(groups, this.served, countMax)
      // One run that was asked for is nobody's turn.
      if (runId === null) this.served = last
      if (taken.length < countMax) this.forget(ids, sentMs, runId)
      return [...taken]
    } catch (error) {
      throw await this.explain(error, request, claimId)
    }
  }

  /** A claim that was asked for when nothing of it can come any more, and gave nothing. */
  private forget(ids: readonly string[], sentMs: number, runId: string | null): void {
    this.lost = this.lost.filter(
      (one) =>
        !ids.includes(one.claimId) ||
        sentMs - one.atMs < lostMs ||
        (runId !== null && runId !== one.runId),
    )
  }

  private async explain(error: unknown, request: ClaimRequest, claimId: string): Promise<unknown> {
    const { workerId } = request
    const runId = request.only?.runId ?? null
    if (isCounterfoilError(error, 'WORKER_DEAD')) return workerDead(workerId)
    if (isCounterfoilError(error, 'STORE_MOVED')) {
      const says = (await movedSince(this.c)) ?? undefined
      return says === undefined ? error : storeError('STORE_MOVED', this.c.url, { says })
    }
    // Kept until it is answered for, not for a while: a server that is away for long must not push
    // out the one claim that had reached it. So only those that may have: not what the server has
    // taken back, nor what found no connection, which an outage brings ten of a second.
    const takenBack = keepsConnection((error as { cause?: unknown } | null)?.cause ?? error)
    if (!takenBack && !this.c.isUnsent(error)) {
      this.lost.push({ claimId, workerId, runId, atMs: this.c.clock.mono() })
    }
    return error
  }
}
