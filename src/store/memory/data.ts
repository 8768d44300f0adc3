// What the memory store keeps: plain maps of rows, one bundle a run.
import type { Clock } from '../../clock.ts'
import { CounterfoilError } from '../../model/errors.ts'
import type {
  Attempt,
  CallRecord,
  Checkpoint,
  Decision,
  Event,
  Evidence,
  Item,
  Run,
  RunRef,
} from '../../model/records.ts'
import type { GraphRow, WorkerRow } from '../store.ts'

export interface RunData {
  run: Run
  /** By generation and visit, in that order. */
  checkpoints: Map<string, Checkpoint>
  records: Map<string, CallRecord>
  attempts: Map<string, Attempt>
  evidence: Map<string, Evidence>
  items: Map<string, Item>
  decisions: Map<string, Decision>
  events: Event[]
}

export interface Data {
  readonly clock: Clock
  readonly runs: Map<string, RunData>
  readonly workers: Map<string, WorkerRow>
  readonly graphs: Map<string, GraphRow>
  closed: boolean
}

export function refKey(ref: RunRef): string {
  return JSON.stringify([ref.namespace, ref.runId])
}

export function checkpointKey(row: { generation: number; visit: number }): string {
  return `${row.generation}#${row.visit}`
}

export function recordKey(r: CallRecord): string {
  return JSON.stringify([r.nodeId, r.checkpointId, r.tool, r.inputHash, r.occurrence])
}

export function mustFind(data: Data, ref: RunRef): RunData {
  const found = data.runs.get(refKey(ref))
  if (found === undefined) {
    throw new CounterfoilError('RUN_NOT_FOUND', `there is no run ${ref.runId}`, {
      details: { runId: ref.runId, namespace: ref.namespace },
    })
  }
  return found
}
