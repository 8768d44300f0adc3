// Workers as they travel: by --json and by the API.
import type { WorkerRow } from '../../store/store.ts'
import { lifeOf } from '../worker.ts'
import { iso } from './iso.ts'

export function workerJson(row: WorkerRow, runs: readonly string[]) {
  return {
    worker_id: row.workerId,
    state: lifeOf(row),
    pid: row.pid,
    host: row.host,
    boot_id: row.bootId,
    started_at: iso(row.startedAt),
    lease_ended: row.expired,
    stopped_at: iso(row.stoppedAt),
    died_at: iso(row.diedAt),
    death_proof: row.deathProof,
    runs,
  }
}
