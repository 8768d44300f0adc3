// Reads the facts of a Postgres store, on a connection of its own.
import { systemClock } from '../clock.ts'
import { type Query, readPostgres } from '../store/postgres/index.ts'
import {
  type Adoption,
  countsOf,
  type ItemCount,
  type OldItem,
  type RunCount,
  type StoreFacts,
  type Which,
} from './store-facts.ts'

export function postgresFacts(url: string, which: Which): Promise<StoreFacts> {
  return readPostgres({ url, clock: systemClock }, (query, schema) => read(query, schema, which))
}

async function read(query: Query, schema: string, { namespace, now }: Which): Promise<StoreFacts> {
  const all = async <T>(sql: string, ...values: unknown[]) =>
    (await query(sql.replaceAll('@', `${schema}.`), values)) as unknown as T[]
  const runs = await all<RunCount>(
    'select namespace, state, count(*) as n from @runs group by namespace, state',
  )
  const items = await all<ItemCount>(
    `select kind, count(*) as n, count(*) filter (where due_at < $1) as overdue
     from @inbox_items where state = 'open' and namespace = $2 group by kind`,
    ...[now, namespace],
  )
  const [doubt] = await all<OldItem>(
    `select item_id as "itemId", run_id as "runId", created_at as "createdAt" from @inbox_items
     where state = 'open' and namespace = $1 and kind = 'doubt' order by created_at limit 1`,
    namespace,
  )
  const [size] = await all<{ bytes: number }>(
    `select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as bytes from pg_class c
     where c.relnamespace = $1::regnamespace and c.relkind = 'r'`,
    schema,
  )
  const meta = await all<{ name: string; value: string }>(
    "select name, value from @meta where name = 'store_id' or name like 'key\\_check:%'",
  )
  return {
    bytes: size?.bytes ?? 0,
    walBytes: 0,
    storeId: meta.find(({ name }) => name === 'store_id')?.value ?? null,
    migrations: await all(
      `select id, name, extract(epoch from applied_at)::double precision * 1000 as "appliedAt"
       from @schema_migrations order by id`,
    ),
    keyIds: meta.flatMap(({ name }) => /^key_check:(.+)$/.exec(name)?.[1] ?? []).sort(),
    adoptions: await all<Adoption>(
      'select at, adopted_by as "by", reason from @adoptions order by id',
    ),
    ...countsOf(runs, items, namespace),
    oldestDoubt: doubt ?? null,
  }
}
