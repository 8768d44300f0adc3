// What the memory store keeps: plain maps of rows, one bundle a run.
import type { Clock } from '../../clock.ts'
import type { Item, Notice, RunRef } from '../../model/run/records.ts'
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
import { newRows, type RunRows } from '../whole-runs/run-rows.ts'
import { runNotFound } from '../whole-runs/write-rows.ts'

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
  readonly runs: Map<string, RunRows>
  /** Whose each item is, in the order they were made. */
  readonly items: Map<string, RunRows>
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
export function addRun(data: Data, made: NewRun): boolean {
  if (data.runs.has(refKey(made.run))) return false
  data.runs.set(refKey(made.run), newRows(made))
  return true
}

export function refKey(ref: RunRef): string {
  return JSON.stringify([ref.namespace, ref.runId])
}

export function itemKey({ namespace, itemId }: Pick<Item, 'namespace' | 'itemId'>): string {
  return JSON.stringify([namespace, itemId])
}

export function findItem(data: Data, of: Pick<Item, 'namespace' | 'itemId'>): Item | null {
  return data.items.get(itemKey(of))?.items.get(of.itemId) ?? null
}

export function mustFind(data: Data, ref: RunRef): RunRows {
  const found = data.runs.get(refKey(ref))
  if (found === undefined) throw runNotFound(ref)
  return found
}
