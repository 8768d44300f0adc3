// Takes the rows of ended runs when their time is over (B6).
import { callKeyOfAttempt } from '../../model/run/attempt-id.ts'
import { type CallRecord, keyOf, type Swept } from '../../model/run/records.ts'
import { checkRetention, dueOf, keepsChildren, tombstone } from '../rules/retention.ts'
import type { Retention } from '../store.ts'
import { isOpenCall } from '../whole-runs/read-rows.ts'
import type { RunRows } from '../whole-runs/run-rows.ts'
import { type Data, itemKey, refKey } from './data.ts'
import { dropDocuments } from './documents.ts'

export function retain(data: Data, keep: Retention, countMax: number): number {
  checkRetention(keep)
  const now = data.clock.now()
  const due = [...data.runs.values()]
    .filter((of) => dueOf(of.run, keep, now) !== null && !isNeeded(data, of))
    .sort((a, b) => (a.run.endedAt ?? 0) - (b.run.endedAt ?? 0))
    .slice(0, countMax)
  for (const of of due) take(data, of, dueOf(of.run, keep, now))
  dropWorkers(data, now - keep.unsafeMs)
  for (const [key, { until }] of data.shares) if (until <= now) data.shares.delete(key)
  dropDocuments(data)
  return due.length
}

function isNeeded(data: Data, { run }: RunRows): boolean {
  if (run.parentRunId === null) return false
  const parent = data.runs.get(refKey({ namespace: run.namespace, runId: run.parentRunId }))
  return keepsChildren(parent?.run ?? null)
}

function take(data: Data, of: RunRows, what: Swept | null): void {
  if (what === null) return
  if (what === 'all') {
    for (const rows of [of.records, of.attempts, of.evidence, of.checkpoints]) rows.clear()
    for (const item of of.items.values()) data.items.delete(itemKey(item))
    for (const rows of [of.items, of.decisions, of.signals]) rows.clear()
    of.events.length = 0
    of.run = tombstone(of.run)
    return
  }
  const goes = ({ replayClass }: CallRecord) =>
    replayClass === 'pure' || (what === 'keyed' && replayClass === 'idempotent_with_key')
  const gone = new Set<string>()
  for (const [key, row] of of.records) {
    if (!goes(row) || isOpenCall(row)) continue
    of.records.delete(key)
    gone.add(keyOf(row))
  }
  // A call of another visit may have the same key: what is left of it stays whole.
  for (const row of of.records.values()) gone.delete(keyOf(row))
  for (const rows of [of.attempts, of.evidence]) {
    for (const id of rows.keys()) if (gone.has(callKeyOfAttempt(id))) rows.delete(id)
  }
  of.run = { ...of.run, swept: what }
}

/** Those that ended before this, unless an attempt names them, or a run that they have left. */
function dropWorkers(data: Data, before: number): void {
  const named = new Set<string | null>()
  for (const of of data.runs.values()) {
    if (of.run.state === 'running') named.add(of.run.workerId)
    for (const { workerId } of of.attempts.values()) named.add(workerId)
  }
  for (const { workerId, diedAt, stoppedAt } of data.workers.values()) {
    const endedAt = diedAt ?? stoppedAt
    if (endedAt !== null && endedAt < before && !named.has(workerId)) data.workers.delete(workerId)
  }
}
