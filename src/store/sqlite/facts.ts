// What a file tells of itself, and what is in it.
import { statSync } from 'node:fs'
import type { Adoption, OldItem, StoreFacts } from '../store.ts'
import { countsOf, type ItemCount, type RunCount } from '../whole-runs/counts.ts'
import type { Connection } from './opening/connection.ts'
import { keyPath } from './opening/key.ts'

const runs = 'select namespace, state, count(*) as n from runs group by namespace, state'
const items = `select kind, count(*) as n, sum(due_at is not null and due_at <= ?) as overdue
  from inbox_items where state = 'open' and namespace = ? group by kind`
const oldest = `select item_id as itemId, run_id as runId, created_at as createdAt from inbox_items
  where state = 'open' and namespace = ? and kind = 'doubt' order by created_at limit 1`
const migrations = 'select id, name, applied_at as appliedAt from schema_migrations order by id'
const keys = "select substr(name, 11) as id from meta where name glob 'key_check:*' order by rowid"
const adoptions = 'select at, adopted_by as "by", reason from adoptions order by id'
const storeId = "select value from meta where name = 'store_id'"

/** Within one transaction. */
export function facts(c: Connection, namespace: string): StoreFacts {
  // Not by `c.sql`: asked for once in a while, and read by name.
  const all = <T>(sql: string, ...values: unknown[]) => c.db.prepare(sql).all(...values) as T[]
  const counts = all<ItemCount>(items, c.clock.now(), namespace)
  return {
    bytes: sizeOf(c.path),
    walBytes: sizeOf(`${c.path}-wal`),
    storeId: all<{ value: string }>(storeId)[0]?.value ?? null,
    migrations: all(migrations),
    keyIds: all<{ id: string }>(keys).map((row) => row.id),
    keyFile: c.sealer.given ? null : keyPath(c.path),
    durability: durabilityOf(c),
    adoptions: all<Adoption>(adoptions),
    ...countsOf(all<RunCount>(runs), counts, namespace),
    oldestDoubt: all<OldItem>(oldest, namespace)[0] ?? null,
  }
}

const levels = ['off', 'normal', 'full', 'extra']

function durabilityOf({ db }: Connection): StoreFacts['durability'] {
  const pragma = (name: string) => db.pragma(name, { simple: true })
  return {
    journal_mode: String(pragma('journal_mode')),
    synchronous: levels[Number(pragma('synchronous'))] ?? 'unknown',
    // Only there does a sync not reach the disk without it.
    ...(process.platform === 'darwin' ? { fullfsync: pragma('fullfsync') ? 'on' : 'off' } : {}),
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
