// What a SQLite file says about itself and how much is in it, by counting in the database: the
// lists of a store are for reading rows, and there may be millions. Reads only.
import { statSync } from 'node:fs'
import type { ItemKind } from '../model/records.ts'
import { type RunState, runStates } from '../model/run-state.ts'

export interface Adoption {
  readonly at: number
  readonly by: string
  readonly reason: string
}

export interface OldItem {
  readonly itemId: string
  readonly runId: string
  readonly createdAt: number
}

export interface StoreFacts {
  readonly bytes: number
  /** Of the write-ahead log beside it. */
  readonly walBytes: number
  readonly storeId: string | null
  readonly migrations: readonly { id: number; name: string; appliedAt: number }[]
  /** In the order of making: the last one signs. */
  readonly keyIds: readonly string[]
  readonly adoptions: readonly Adoption[]
  readonly runs: Readonly<Partial<Record<RunState, number>>>
  /** In other namespaces. */
  readonly otherRuns: number
  readonly openItems: Readonly<Partial<Record<ItemKind, number>>>
  readonly overdue: number
  readonly oldestDoubt: OldItem | null
}

export async function sqliteFacts(
  path: string,
  { namespace, now }: { namespace: string; now: number },
): Promise<StoreFacts> {
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 })
  const all = <T>(sql: string, ...values: unknown[]) => db.prepare(sql).all(...values) as T[]
  try {
    const runs = all<{ namespace: string; state: RunState; n: number }>(
      'select namespace, state, count(*) as n from runs group by namespace, state',
    )
    const items = all<{ kind: ItemKind; n: number; overdue: number }>(
      `select kind, count(*) as n, sum(due_at is not null and due_at < ?) as overdue
       from inbox_items where state = 'open' and namespace = ? group by kind`,
      ...[now, namespace],
    )
    const [doubt] = all<OldItem>(
      `select item_id as itemId, run_id as runId, created_at as createdAt from inbox_items
       where state = 'open' and namespace = ? and kind = 'doubt' order by created_at limit 1`,
      namespace,
    )
    const ours = runs.filter((row) => row.namespace === namespace)
    const inOrder = runStates.flatMap((state) => ours.filter((row) => row.state === state))
    const others = runs.filter((row) => row.namespace !== namespace)
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
      runs: Object.fromEntries(inOrder.map((row) => [row.state, row.n])),
      otherRuns: others.reduce((sum, row) => sum + row.n, 0),
      openItems: Object.fromEntries(items.map((row) => [row.kind, row.n])),
      overdue: items.reduce((sum, row) => sum + row.overdue, 0),
      oldestDoubt: doubt ?? null,
    }
  } finally {
    db.close()
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
