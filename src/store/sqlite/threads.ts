// Owns: the steps of foreign runtimes' threads, and what their tasks have written.
// Invariant: a step that is not whole has its parent: both are looked at and changed under the
// write lock, whoever appends and whoever prunes.

import { checked, isAsSeen, onLine, stepPage, stepsOf } from '../rules/threads.ts'
import type { Pruning, SpaceRef, StepFilter, ThreadStep, ThreadsPort } from '../store.ts'
import { where } from './list.ts'
import type { Connection } from './opening/connection.ts'
import * as tables from './tables.ts'
import { listIdle } from './threads-idle.ts'

const steps = tables.threadSteps
const writes = tables.threadWrites
const ofSpace = 'namespace = ? and thread_id = ? and space = ?'
const spaceOf = ({ namespace, threadId, space }: SpaceRef) => [namespace, threadId, space] as const
const marks = (count: number) => Array.from({ length: count }, () => '?').join(', ')

const putOne = `insert into thread_steps (${steps.columns})
  values (${marks(steps.columnList.length)})
  on conflict (namespace, thread_id, space, step_id) do update set
    parent_id = excluded.parent_id, whole = excluded.whole, created_at = excluded.created_at,
    note_json = excluded.note_json, body_json = excluded.body_json`
const addWrite = `insert into thread_writes (${writes.columns})
  values (${marks(writes.columnList.length)})
  on conflict (namespace, thread_id, space, step_id, task_id, place) do`
const ignored = `${addWrite} nothing`
const replaced = `${addWrite} update set channel = excluded.channel, body_json = excluded.body_json`
const writesOf = `select ${writes.columns} from thread_writes
  where ${ofSpace} and step_id in (select value from json_each(?))
  order by step_id, task_id, place`

export function threads(c: Connection): ThreadsPort {
  return checked({
    putStep: async (step, seen, head) =>
      c.write(() => {
        if (head !== undefined && headOf(c, step) !== head) return false
        if (!isAsSeen(seen, bodiesOf(c, step))) return false
        if (!step.whole && !mayStandOn(c, step)) return false
        c.sql(putOne).run(...steps.encode(step))
        return true
      }),
    putWrites: async (all, replace, seen) =>
      c.write(() => {
        if (!isAsSeen(seen, bodiesOf(c, all[0] as SpaceRef))) return false
        for (const row of all) c.sql(replace ? replaced : ignored).run(...writes.encode(row))
        return true
      }),
    loadSteps: async (ref, stepId) =>
      c.plain(() => c.sql(chainOf).all({ ...ref, from: stepId ?? null })).map(steps.decode),
    headOf: async (ref) => c.plain(() => headOf(c, ref)),
    listSteps: async (filter) => list(c, filter),
    listWrites: async (ref, stepIds) =>
      c
        .plain(() => c.sql(writesOf).all(...spaceOf(ref), JSON.stringify(stepIds)))
        .map(writes.decode),
    pruneSteps: async (ref, pruning) => c.write(() => prune(c, ref, pruning)),
    dropThread: async (namespace, threadId) =>
      c.write(() => {
        for (const table of ['thread_steps', 'thread_writes']) {
          const sql = `delete from ${table} where namespace = ? and thread_id = ?`
          c.sql(sql).run(namespace, threadId)
        }
      }),
    listIdleThreads: async (namespace, before, countMax) =>
      c.read(() => listIdle(c, namespace, before, countMax)),
  })
}

const inSpace = 'namespace = :namespace and thread_id = :threadId and space = :space'

// Bodies are read once, by their places: a recursion would carry them along. `cross` has SQLite go
// along the chain and seek; by itself it may read the whole table.
const chain = `with recursive chain (place, parent, depth) as (
    select rowid, iif(whole, null, parent_id), 0 from thread_steps
      where ${inSpace} and step_id = ifnull(:from, (
        select max(step_id) from thread_steps where ${inSpace} and ${onLine}))
    union all
    select s.rowid, iif(s.whole, null, s.parent_id), depth + 1
      from chain cross join thread_steps s on ${inSpace} and s.step_id = chain.parent)`
export const chainOf = `${chain} select ${steps.columns} from chain
  cross join thread_steps s on s.rowid = place order by depth desc`
const latestOf = `select max(step_id) from thread_steps where ${ofSpace} and ${onLine}`
const placeOf = `select rowid from thread_steps where ${ofSpace} and step_id = ?`
const bodyOf = `select body_json from thread_steps where ${ofSpace} and step_id = ?`
const isIn = `${chain} select 1 from chain where place = :place`

function bodiesOf(c: Connection, ref: SpaceRef): (stepId: string) => string | undefined {
  return (stepId) => {
    const [body] = c.sql(bodyOf).get(...spaceOf(ref), stepId) ?? []
    return body as string | undefined
  }
}

function headOf(c: Connection, ref: SpaceRef): string | null {
  const [head = null] = c.sql(latestOf).get(...spaceOf(ref)) ?? []
  return head as string | null
}

/** Its parent is there, and does not stand on this step itself, if there is one already. */
function mayStandOn(c: Connection, step: ThreadStep): boolean {
  const { namespace, threadId, space, parentId: from, stepId } = step
  const here = spaceOf(step)
  if (c.sql(placeOf).get(...here, from) === undefined) return false
  const own = c.sql(placeOf).get(...here, stepId)
  if (own === undefined) return true
  return c.sql(isIn).get({ namespace, threadId, space, from, place: own[0] }) === undefined
}

function list(c: Connection, filter: StepFilter) {
  const { after, count } = stepPage(filter)
  const [conditions, values] = where({
    'namespace = ?': filter.namespace,
    'thread_id = ?': filter.threadId,
    'space = ?': filter.space,
    'step_id < ?': filter.before,
  })
  const line = filter.aside === true ? '' : `and ${onLine}`
  const behind = after === null ? '' : 'and (step_id, thread_id, space) < (?, ?, ?)'
  const order = 'order by step_id desc, thread_id desc, space desc'
  // Places are sorted, and only the bodies of one page are read.
  const sql = `select ${steps.columns} from thread_steps where rowid in (
    select rowid from thread_steps where ${conditions} ${line} ${behind} ${order} limit ?) ${order}`
  const rows = c.plain(() => c.sql(sql).all(...values, ...(after ?? []), count + 1))
  return stepsOf(rows.map(steps.decode), count)
}

const bereft = `select 1 from thread_steps where ${ofSpace} and whole = 0
  and parent_id in (select value from json_each(?))
  and step_id not in (select value from json_each(?)) limit 1`
const dropFrom = (table: string) =>
  `delete from ${table} where ${ofSpace} and step_id in (select value from json_each(?))`

/** Within a transaction. */
function prune(c: Connection, ref: SpaceRef, { whole, drop, seen }: Pruning): boolean {
  const here = spaceOf(ref)
  if (!isAsSeen(seen, bodiesOf(c, ref))) return false
  for (const { stepId } of whole) {
    if (c.sql(placeOf).get(...here, stepId) === undefined) return false
  }
  const gone = JSON.stringify(drop)
  const free = JSON.stringify([...drop, ...whole.map(({ stepId }) => stepId)])
  if (c.sql(bereft).get(...here, gone, free) !== undefined) return false
  for (const step of whole) c.sql(putOne).run(...steps.encode(step))
  c.sql(dropFrom('thread_steps')).run(...here, gone)
  c.sql(dropFrom('thread_writes')).run(...here, gone)
  return true
}
