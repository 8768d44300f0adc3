// Owns: deleting. Rows of ended runs go when their time is over (B6), each run in a transaction and
// a turn of its own, so that nobody waits for more than one run's rows.
// Invariants: the triggers let rows go only while their run stands in `sweeping`, which is empty
// outside such a transaction. Whether the run has ended, and whether its parent may still ask for
// it, is looked at again under the write lock. The run's row stays: its id is never a new run.
import { callKeyOfAttempt } from '../../model/run/attempt-id.ts'
import type { RunRef, Swept } from '../../model/run/records.ts'
import { checkRetention, dueOf, keepsChildren, stages, tombstone } from '../rules/retention.ts'
import { firstToOwnRow } from '../sql/first-attempt.ts'
import type { Retention } from '../store.ts'
import { dropDocuments } from './documents.ts'
import type { Connection } from './opening/connection.ts'
import { sqlite } from './opening/triggers.ts'
import { selectRun } from './read.ts'
import { putRun } from './write.ts'

// Which workers attempts still name takes a look at every attempt.
const workersEveryMs = 24 * 3_600_000
const sharesMax = 1_000

export function createRetention(c: Connection): (keep: Retention, max: number) => Promise<number> {
  let workersAt: number | null = null
  return async (keep, countMax) => {
    checkRetention(keep)
    const now = c.clock.now()
    let count = 0
    for (const ref of c.plain(() => endedRuns(c, keep, now, Math.max(0, countMax)))) {
      if (c.write(() => takeOf(c, ref, keep, now))) count++
      await new Promise<void>((resolve) => c.clock.turn(resolve))
    }
    c.plain(() => c.sql(overShares).run(now, sharesMax))
    dropDocuments(c, now)
    if (workersAt === null || now >= workersAt + workersEveryMs) {
      workersAt = now
      dropWorkers(c, now - keep.unsafeMs)
    }
    return count
  }
}

const endedOf = `select namespace, run_id, ended_at from runs r
  where state = ? and swept is ? and ended_at <= ? and (parent_run_id is null or not exists (
    select 1 from runs p where p.namespace = r.namespace and p.run_id = r.parent_run_id
      and (p.ended_at is null or (p.state = 'failed' and p.swept is null))))
  order by ended_at limit ?`

function endedRuns(c: Connection, keep: Retention, now: number, countMax: number): RunRef[] {
  return stages(keep)
    .flatMap(({ state, swept, ageMs }) => c.sql(endedOf).all(state, swept, now - ageMs, countMax))
    .sort((a, b) => (a[2] as number) - (b[2] as number))
    .slice(0, countMax)
    .map(([namespace, runId]) => ({ namespace, runId }) as RunRef)
}

const beginSweep = 'insert into sweeping (namespace, run_id) values (?, ?)'
const endSweep = 'delete from sweeping'

/** False if somebody else was first, or the run is needed after all. */
function takeOf(c: Connection, ref: RunRef, keep: Retention, now: number): boolean {
  const run = selectRun(c, ref)
  const what = run && dueOf(run, keep, now)
  if (run === null || what === null) return false
  const { namespace, parentRunId } = run
  const parent = parentRunId === null ? null : selectRun(c, { namespace, runId: parentRunId })
  if (keepsChildren(parent)) return false
  c.sql(beginSweep).run(ref.namespace, ref.runId)
  if (what === 'all') takeAll(c, ref)
  else takeClasses(c, ref, what)
  putRun(c, run, what === 'all' ? tombstone(run) : { ...run, swept: what })
  c.sql(endSweep).run()
  return true
}

const tablesOfCalls = ['tool_call_results', 'tool_call_attempts', 'call_evidence']
const tablesOfRuns = ['decisions', 'inbox_items', 'checkpoints', 'signals', 'events']

function takeAll(c: Connection, { namespace, runId }: RunRef): void {
  for (const [column, names] of [
    ['workflow_id', tablesOfCalls],
    ['run_id', tablesOfRuns],
  ] as const) {
    for (const name of names) {
      c.sql(`delete from ${name} where namespace = ? and ${column} = ?`).run(namespace, runId)
    }
  }
}

// An intent that has no end is nobody's to take before the whole run goes.
const callsOf = (what: Swept) =>
  what === 'pure'
    ? `replay_class = 'pure'`
    : `(replay_class = 'pure'
        or (replay_class = 'idempotent_with_key' and status in ('committed', 'failed')))`
const keysOf = (which: string) =>
  `select distinct tool_name || '/' || input_hash || '/' || occurrence from tool_call_results
    where workflow_id = ? and namespace = ? and ${which}`

const firstOf = (calls: string) =>
  firstToOwnRow(
    't',
    sqlite.position,
    ` from tool_call_results t where ${calls} and attempt = 1 and dispatched_at is not null`,
  )

function takeClasses(c: Connection, { namespace, runId }: RunRef, what: Swept): void {
  const keys = (which: string) =>
    c
      .sql(keysOf(which))
      .all(runId, namespace)
      .map(([key]) => key as string)
  const gone = new Set(keys(callsOf(what)))
  if (gone.size === 0) return
  const calls = `workflow_id = ? and namespace = ? and ${callsOf(what)}`
  // What lies in a row that goes may be about a call that stays.
  c.sql(firstOf(calls)).run(runId, namespace)
  c.sql(`delete from tool_call_results where ${calls}`).run(runId, namespace)
  // A call of another visit may have the same key: what is left of it stays whole.
  for (const key of keys('true')) gone.delete(key)
  for (const table of ['tool_call_attempts', 'call_evidence']) {
    const ids = c
      .sql(`select attempt_id from ${table} where namespace = ? and workflow_id = ?`)
      .all(namespace, runId)
    const drop = c.sql(
      `delete from ${table} where namespace = ? and workflow_id = ? and attempt_id = ?`,
    )
    for (const [id] of ids) {
      if (gone.has(callKeyOfAttempt(id as string))) drop.run(namespace, runId, id)
    }
  }
}

const overShares = `delete from shares where rowid in (
  select rowid from shares where until <= ? limit ?)`
const endedWorkers = 'select worker_id from workers where ifnull(died_at, stopped_at) < ?'
const namedWorkers = `select worker_id from tool_call_attempts
  union select worker_id from tool_call_results where attempt = 1 and dispatched_at is not null`
const dropWorker = `delete from workers where worker_id = ? and not exists (
  select 1 from runs where state = 'running' and worker_id = ?)`

/** Those that ended before this, unless an attempt still names them: its end is told by theirs. */
function dropWorkers(c: Connection, before: number): void {
  const old = c.plain(() => c.sql(endedWorkers).all(before)).map(([id]) => id as string)
  if (old.length === 0) return
  const named = new Set(c.plain(() => c.sql(namedWorkers).all()).map(([id]) => id))
  const gone = old.filter((id) => !named.has(id))
  if (gone.length > 0) c.write(() => gone.forEach((id) => void c.sql(dropWorker).run(id, id)))
}
