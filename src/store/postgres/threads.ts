// The steps of foreign runtimes' threads, and what their tasks have written. That none of them
// loses the one it is a change to is held by 010_threads.sql; that nobody writes to what he has not
// seen, by 012_seen_steps.sql; that
// one of those that follow the same head is written, by 015_heads.sql.

import { checked, onLine, stepPage, stepsOf } from '../rules/threads.ts'
import type { Seen, SpaceRef, StepFilter, ThreadStep, ThreadsPort } from '../store.ts'
import { conditions } from './list.ts'
import type { Connection } from './opening/connection.ts'
import * as tables from './tables.ts'

const steps = tables.threadSteps
const writes = tables.threadWrites
const ofSpace = 'namespace = $1 and thread_id = $2 and space = $3'
const seenJson = (seen: Seen) => JSON.stringify(Object.fromEntries(seen))
const spaceOf = ({ namespace, threadId, space }: SpaceRef) => [namespace, threadId, space]

export function threads(c: Connection): ThreadsPort {
  return checked({
    putStep: (step, seen, head) => {
      const { stepId, parentId, whole, createdAt, noteJson, bodyJson } = step
      const row = [...spaceOf(step), stepId, parentId, whole, createdAt, noteJson, bodyJson]
      if (head !== undefined) {
        return c.ask('put_next_step', [...row, seenJson(seen ?? new Map()), head])
      }
      return seen ? c.ask('put_seen_step', [...row, seenJson(seen)]) : c.ask('put_step', row)
    },
    putWrites: async (all, replace, seen) => {
      const given = [JSON.stringify(all.map(writes.encode)), replace]
      if (seen) {
        const here = spaceOf(all[0] as SpaceRef)
        return c.ask('put_seen_writes', [...here, ...given, seenJson(seen)])
      }
      await c.call('put_thread_writes', given)
      return true
    },
    loadSteps: (ref, stepId) => loadChain(c, ref, stepId ?? null),
    headOf: async (ref) => {
      const text = `select max(step_id) as head from ${c.schema}.thread_steps
        where ${ofSpace} and ${onLine}`
      const [row] = await c.query(text, spaceOf(ref))
      return (row?.['head'] ?? null) as string | null
    },
    listSteps: (filter) => list(c, filter),
    listWrites: async (ref, stepIds) => {
      const text = `select ${writes.columns} from ${c.schema}.thread_writes
        where ${ofSpace} and step_id = any ($4) order by step_id, task_id, place`
      return (await c.query(text, [...spaceOf(ref), stepIds])).map(writes.decode)
    },
    pruneSteps: (ref, { whole, drop, seen }) => {
      const given = [...spaceOf(ref), JSON.stringify(whole.map(steps.encode)), drop]
      return seen
        ? c.ask('prune_seen_steps', [...given, seenJson(seen)])
        : c.ask('prune_steps', given)
    },
    dropThread: async (namespace, threadId) => {
      await c.call('drop_thread', [namespace, threadId])
    },
    listIdleThreads: async (namespace, before, countMax) => {
      const rows = await c.call('idle_threads', [namespace, before, countMax])
      return rows.map((row) => row['idle_threads'] as string)
    },
  })
}

async function loadChain(
  c: Connection,
  ref: SpaceRef,
  stepId: string | null,
): Promise<ThreadStep[]> {
  const table = `${c.schema}.thread_steps`
  const own = steps.columns.replace(/\w+/g, 's.$&')
  const text = `with recursive chain as (
      select *, 0 as depth from ${table}
      where ${ofSpace} and step_id = coalesce($4, (
        select max(step_id) from ${table} where ${ofSpace} and ${onLine}))
      union all
      select s.*, chain.depth + 1 from chain join ${table} s
        on s.namespace = $1 and s.thread_id = $2 and s.space = $3 and s.step_id = chain.parent_id
      where not chain.whole)
    select ${own} from chain s order by depth desc`
  return (await c.query(text, [...spaceOf(ref), stepId])).map(steps.decode)
}

async function list(c: Connection, filter: StepFilter) {
  const { after, count } = stepPage(filter)
  const { namespace, threadId, space, before } = filter
  const where = conditions({ namespace, thread_id: threadId, space })
  const earlier = before === undefined ? '' : `and step_id < ${where.mark(before)}`
  const line = filter.aside === true ? '' : `and ${onLine}`
  const places = after?.map(where.mark).join(', ')
  const behind = after === null ? '' : `and (step_id, thread_id, space) < (${places})`
  const text = `select ${steps.columns} from ${c.schema}.thread_steps
    where ${where.text} ${earlier} ${line} ${behind}
    order by step_id desc, thread_id desc, space desc limit ${count + 1}`
  return stepsOf((await c.query(text, where.values)).map(steps.decode), count)
}
