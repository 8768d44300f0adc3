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
  Notice,
  Run,
  RunRef,
  Signal,
} from '../../model/records.ts'
import type {
  Document,
  GraphRow,
  NewRun,
  Shared,
  SpaceRef,
  ThreadStep,
  ThreadWrite,
  WorkerRow,
} from '../store.ts'

export interface RunData {
  run: Run
  /** By generation and visit, in that order. */
  checkpoints: Map<string, Checkpoint>
  records: Map<string, CallRecord>
  attempts: Map<string, Attempt>
  evidence: Map<string, Evidence>
  items: Map<string, Item>
  decisions: Map<string, Decision>
  /** In the order they came, with those that were taken. */
  signals: Map<string, Signal>
  events: Event[]
}

/** The steps of a thread, or of a part of it, by id. */
export interface SpaceData {
  readonly ref: SpaceRef
  readonly steps: Map<string, ThreadStep>
  readonly writes: Map<string, ThreadWrite>
}

/** A result, or the right to make it. */
export interface Share {
  readonly maker: string | null
  readonly shared: Shared
  readonly until: number
}

export interface Data {
  readonly clock: Clock
  readonly runs: Map<string, RunData>
  /** Whose each item is, in the order they were made. */
  readonly items: Map<string, RunData>
  readonly workers: Map<string, WorkerRow>
  readonly graphs: Map<string, GraphRow>
  readonly shares: Map<string, Share>
  readonly documents: Map<string, Document>
  /** With the time until which somebody is at it. */
  readonly notices: Map<string, { readonly notice: Notice; readonly takenUntil: number }>
  readonly spaces: Map<string, SpaceData>
  /** The group that a claim served last (fair.ts). */
  served: string
  closed: boolean
}

export function openData(clock: Clock): Data {
  return {
    clock,
    runs: new Map(),
    items: new Map(),
    workers: new Map(),
    graphs: new Map(),
    shares: new Map(),
    documents: new Map(),
    notices: new Map(),
    spaces: new Map(),
    served: '',
    closed: false,
  }
}

/** False if there is a run with this id: then nothing was made. */
export function addRun(data: Data, { run, checkpoint, event }: NewRun): boolean {
  if (data.runs.has(refKey(run))) return false
  data.runs.set(refKey(run), {
    run,
    checkpoints: new Map(checkpoint ? [[checkpointKey(checkpoint), checkpoint]] : []),
    records: new Map(),
    attempts: new Map(),
    evidence: new Map(),
    items: new Map(),
    decisions: new Map(),
    signals: new Map(),
    events: [event],
  })
  return true
}

export function refKey(ref: RunRef): string {
  return JSON.stringify([ref.namespace, ref.runId])
}

export function checkpointKey(row: { generation: number; visit: number }): string {
  return `${row.generation}#${row.visit}`
}

export function itemKey({ namespace, itemId }: Pick<Item, 'namespace' | 'itemId'>): string {
  return JSON.stringify([namespace, itemId])
}

export function findItem(data: Data, of: Pick<Item, 'namespace' | 'itemId'>): Item | null {
  return data.items.get(itemKey(of))?.items.get(of.itemId) ?? null
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
