// Reads the facts of a SQLite file, on a connection of its own that cannot write.
import { statSync } from 'node:fs'
import {
  countsOf,
  type ItemCount,
  type OldItem,
  type RunCount,
  type StoreFacts,
  type Which,
} from './store-facts.ts'

export async function sqliteFacts(path: string, { namespace, now }: Which): Promise<StoreFacts> {
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 })
  const all = <T>(sql: string, ...values: unknown[]) => db.prepare(sql).all(...values) as T[]
  try {
    const runs = all<RunCount>(
      'select namespace, state, count(*) as n from runs group by namespace, state',
    )
    const items = all<ItemCount>(
      `select kind, count(*) as n, sum(due_at is not null and due_at < ?) as overdue
       from inbox_items where state = 'open' and namespace = ? group by kind`,
      ...[now, namespace],
    )
    const [doubt] = all<OldItem>(
      `select item_id as itemId, run_id as runId, created_at as createdAt from inbox_items
       where state = 'open' and namespace = ? and kind = 'doubt' order by created_at limit 1`,
      namespace,
    )
    return {
      bytes: sizeOf(path),
      walBytes: sizeOf(`${path}-wal`),
      storeId:
        all<{ value: string }>("select value from meta where name = 'store_id'")[0]?.value ?? null,
      migrations: all(
        'select id, name, applied_at as appliedAt from schema_migrations order by id',
      ),
      keyIds: all<{ id: string }>(
        "select substr(name, 11) as id from meta where name glob 'key_check:*' order by rowid",
      ).map((row) => row.id),
      adoptions: all('select at, adopted_by as "by", reason from adoptions order by id'),
      ...countsOf(runs, items, namespace),
      oldestDoubt: doubt ?? null,
    }
  } finally {
    db.close()
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
