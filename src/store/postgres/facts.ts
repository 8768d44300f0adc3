// What a database tells of itself, and what is in it.

import type { Adoption, OldItem, StoreFacts } from '../store.ts'
import { countsOf, type ItemCount, type RunCount } from '../whole-runs/counts.ts'
import type { Connection } from './opening/connection.ts'
import { readServer } from './opening/server.ts'

const runs = 'select namespace, state, count(*) as n from @runs group by namespace, state'
const items = `select kind, count(*) as n, count(*) filter (where due_at <= $1) as overdue
  from @inbox_items where state = 'open' and namespace = $2 group by kind`
const oldest = `select item_id as "itemId", run_id as "runId", created_at as "createdAt"
  from @inbox_items where state = 'open' and namespace = $1 and kind = 'doubt'
  order by created_at limit 1`
const size = `select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as bytes
  from pg_class c where c.relnamespace = $1::regnamespace and c.relkind = 'r'`
const metas = "select name, value from @meta where name = 'store_id' or name like 'key\\_check:%'"
const migrations = `select id, name,
    extract(epoch from applied_at)::double precision * 1000 as "appliedAt"
  from @schema_migrations order by id`
const adoptions = 'select at, adopted_by as "by", reason from @adoptions order by id'

export async function facts(c: Connection, namespace: string): Promise<StoreFacts> {
  const all = async <T>(sql: string, ...values: unknown[]) =>
    (await c.query(sql.replaceAll('@', `${c.schema}.`), values)) as unknown as T[]
  const meta = await all<{ name: string; value: string }>(metas)
  const counts = await all<ItemCount>(items, c.clock.now(), namespace)
  return {
    bytes: (await all<{ bytes: number }>(size, c.schema))[0]?.bytes ?? 0,
    walBytes: 0,
    storeId: meta.find(({ name }) => name === 'store_id')?.value ?? null,
    migrations: await all(migrations),
    keyIds: meta.flatMap(({ name }) => /^key_check:(.+)$/.exec(name)?.[1] ?? []).sort(),
    keyFile: null,
    durability: await durabilityOf(c),
    adoptions: await all<Adoption>(adoptions),
    ...countsOf(await all<RunCount>(runs), counts, namespace),
    oldestDoubt: (await all<OldItem>(oldest, namespace))[0] ?? null,
  }
}

async function durabilityOf(c: Connection): Promise<StoreFacts['durability']> {
  const { fsync, fullPageWrites, synchronousCommit, synchronousStandbyNames } = await readServer(c)
  return {
    fsync,
    full_page_writes: fullPageWrites,
    synchronous_commit: synchronousCommit,
    synchronous_standby_names: synchronousStandbyNames,
  }
}
