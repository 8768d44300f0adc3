// Writes rows, inside a transaction that someone else began, after policy.ts has agreed.
import type { Event, Run } from '../../model/records.ts'
import { applyRunChange } from '../policy.ts'
import type { Changes } from '../store.ts'
import type { Connection } from './connection.ts'
import { storeError } from './errors.ts'
import type { Table } from './tables.ts'
import * as tables from './tables.ts'

function insert<T>(table: Table<T>, extra: readonly string[] = []): string {
  const columns = [...table.columnList, ...extra]
  const marks = columns.map(() => '?').join(', ')
  return `insert into ${table.name} (${columns.join(', ')}) values (${marks})`
}

/** Put whole: what an earlier form may not become is said by the triggers, not here. */
function upsert<T>(table: Table<T>, key: readonly string[], extra: readonly string[] = []): string {
  const rest = [...table.columnList, ...extra].filter((column) => !key.includes(column))
  const set = rest.map((column) => `${column} = excluded.${column}`).join(', ')
  return `${insert(table, extra)} on conflict (${key.join(', ')}) do update set ${set}`
}

// `created_at` stays out of the update, which would rewrite the index by time for nothing. The MAC
// covers it, so a put that moves it must be refused and not half obeyed.
const recordKey = ['namespace', 'workflow_id', 'node_id', 'checkpoint_id', 'tool_name'].concat([
  'input_hash',
  'occurrence',
])
const recordRest = [...tables.records.columnList, 'mac'].filter(
  (column) => !recordKey.includes(column) && column !== 'created_at',
)
const putRecord =
  `${insert(tables.records, ['mac'])} on conflict (${recordKey.join(', ')}) do update set ` +
  `${recordRest.map((column) => `${column} = excluded.${column}`).join(', ')} ` +
  'where created_at = excluded.created_at'

const attemptKey = ['namespace', 'workflow_id', 'attempt_id']
const putAttempt = upsert(tables.attempts, attemptKey)
const putEvidence = upsert(tables.evidence, attemptKey, ['mac'])
const putItem = upsert(tables.items, ['namespace', 'item_id'])
const putDecision = upsert(tables.decisions, ['namespace', 'run_id', 'decision_id'], ['mac'])
const addEvent = insert(tables.events, ['nth'])
const lastEvent = 'select max(nth) from events where namespace = ? and run_id = ?'
const addCheckpoint = insert(tables.checkpoints)
const addRun = insert(tables.runs)

export function insertRun(c: Connection, run: Run): void {
  c.sql(addRun).run(...tables.runs.encode(run))
}

export function applyRows(c: Connection, changes: Changes): void {
  const { sealer } = c
  for (const row of changes.records ?? []) {
    const done = c.sql(putRecord).run(...tables.records.encode(row), sealer.record(row))
    if (done.changes === 0) {
      const says = `row is final: ${row.tool} was first recorded at another time`
      throw storeError('ROW_IMMUTABLE', c.path, { says })
    }
  }
  for (const row of changes.attempts ?? []) c.sql(putAttempt).run(...tables.attempts.encode(row))
  for (const row of changes.evidence ?? []) {
    c.sql(putEvidence).run(...tables.evidence.encode(row), sealer.evidence(row))
  }
  for (const row of changes.items ?? []) c.sql(putItem).run(...tables.items.encode(row))
  for (const row of changes.decisions ?? []) {
    c.sql(putDecision).run(...tables.decisions.encode(row), sealer.decision(row))
  }
  if (changes.events?.length) addEvents(c, changes.events)
  if (changes.checkpoint) {
    c.sql(addCheckpoint).run(...tables.checkpoints.encode(changes.checkpoint))
  }
}

/** All of one run. */
function addEvents(c: Connection, rows: readonly Event[]): void {
  const [first] = rows
  if (first === undefined) return
  let nth = (c.sql(lastEvent).get(first.namespace, first.runId)?.[0] ?? 0) as number
  for (const row of rows) c.sql(addEvent).run(...tables.events.encode(row), ++nth)
}

const still = ['version', 'state', 'node', 'generation', 'visit', 'outputJson'] as const
const moving = [...still, 'errorJson', 'waitingFor', 'fence', 'workerId'] as const

const touch = `update runs set arrivals = ?, claims = ?, commit_id = ?, updated_at = ?
  where namespace = ? and run_id = ?`
const rewrite = `update runs set ${tables.runs.columnList.map((column) => `${column} = ?`).join(', ')}
  where namespace = ? and run_id = ?`

/** The run row after `changes`; most commits leave what is indexed as it is, and only touch it. */
export function changeRun(
  c: Connection,
  run: Run,
  changes: Changes,
  commitId: string | null,
): void {
  const next = { ...applyRunChange(run, changes, c.clock.now()), commitId }
  putRun(c, run, next)
}

export function putRun(c: Connection, run: Run, next: Run): void {
  const { namespace, runId } = run
  if (moving.every((key) => run[key] === next[key])) {
    c.sql(touch).run(next.arrivals, next.claims, next.commitId, next.updatedAt, namespace, runId)
  } else {
    c.sql(rewrite).run(...tables.runs.encode(next), namespace, runId)
  }
}
