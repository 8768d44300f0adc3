// Reads what a visit needs, in one go; what the server does for it is functions/03_read.sql.
import type { Attempt, Checkpoint, Run, RunRef } from '../../model/run/records.ts'
import * as schema from '../schema/index.ts'
import { firstAttempt, type Sender, type Sent, senders, withFirst } from '../sql/first-attempt.ts'
import { columnsOf } from '../sql/statements.ts'
import type { LoadAt, Loaded, Sealed } from '../store.ts'
import { Gather } from './gather.ts'
import type { Connection } from './opening/connection.ts'
import type { Columns, Table } from './tables.ts'
import * as tables from './tables.ts'
import { clean } from './text.ts'

export async function selectRun(c: Connection, ref: RunRef): Promise<Run | null> {
  const text = `select ${tables.runs.columns} from ${c.schema}.runs
    where namespace = $1 and run_id = $2`
  const [row] = await c.query(text, [ref.namespace, ref.runId])
  return row === undefined ? null : tables.runs.decode(row)
}

/** Every handle looks at its run when something has changed: those of a turn are one statement. */
export function runReader(c: Connection): Gather<RunRef, Run | null> {
  return new Gather(c.clock, {
    countMax: 1_000,
    send: async (refs) => {
      const [first, ...others] = refs
      if (first && others.length === 0) return [await selectRun(c, first)]
      const runs = await selectRuns(c, refs)
      return refs.map((ref) => runs.get(keyOf(ref)) ?? null)
    },
    mayRepeat: () => false,
  })
}

async function selectRuns(
  c: Connection,
  refs: readonly RunRef[],
): Promise<ReadonlyMap<string, Run>> {
  const text = `select ${tables.runs.columns} from ${c.schema}.runs
    join (select distinct * from unnest($1::text[], $2::text[]) u (namespace, run_id)) k
    using (namespace, run_id)`
  const runs = (await c.query(text, idsOf(refs))).map(tables.runs.decode)
  return new Map(runs.map((run) => [keyOf(run), run]))
}

/** As two lists. */
function idsOf(refs: readonly RunRef[]): [namespaces: string[], runIds: string[]] {
  return [refs.map((ref) => clean(ref.namespace)), refs.map((ref) => clean(ref.runId))]
}

function keyOf({ namespace, runId }: RunRef): string {
  return JSON.stringify([clean(namespace), clean(runId)])
}

/** Rows with the answer to "is its MAC right?". */
export async function decodeSealed<T extends object>(
  c: Connection,
  codec: Table<T>,
  rows: readonly Columns[],
): Promise<Sealed<T>[]> {
  await c.keys.meet(rows)
  const { sealer } = c.keys
  return rows.map((columns) => {
    const row = codec.decodeSealed(columns)
    row.verifies = sealer.verifiesRow(codec.table, row, columns['mac'] as string | null)
    return row
  })
}

/** The rows that the state at this visit is made of; none if the visit has no checkpoint. */
export async function selectChain(
  c: Connection,
  { namespace, runId }: RunRef,
  generation: number,
  visit: number,
): Promise<Checkpoint[]> {
  const rows = await c.call('chain_of_visit', [namespace, runId, generation, visit])
  return rows.map(tables.checkpoints.decode)
}

export async function load(c: Connection, ref: RunRef, at?: LoadAt): Promise<Loaded | null> {
  const { nodeId = null, checkpointId = null } = at?.scope ?? {}
  const place = [at?.visit ?? null, nodeId, checkpointId]
  return decodeLoaded(c, await c.ask('load_run', [ref.namespace, ref.runId, ...place]))
}

/** Runs that were claimed together are loaded together, each by a row of its own. */
export function runLoader(c: Connection): Gather<RunRef, Loaded | null> {
  const text = `select ${c.schema}.load_run(u.namespace, u.run_id, null, null, null) as loaded
    from unnest($1::text[], $2::text[]) with ordinality u (namespace, run_id, nth) order by nth`
  return new Gather(c.clock, {
    countMax: 25,
    send: async (refs) => {
      const [first, ...others] = refs
      if (first && others.length === 0) return [await load(c, first)]
      const rows = await c.query(text, idsOf(refs))
      return Promise.all(rows.map((row) => decodeLoaded(c, row['loaded'])))
    },
    // A damaged row, or more than can be answered in time: the others are loaded all the same.
    mayRepeat: () => true,
  })
}

/** The first attempt, if it lies in the row of its call (sql/first-attempt.ts). */
export function firstIn(row: Columns): Attempt[] {
  const { attempt_id: tail, outlives, quiet_ms: quietMs, dispatched_at: dispatchedAt } = row
  if (dispatchedAt === null) return []
  const sender = Object.fromEntries(senders.map((name, i) => [name, row[sendersIn[i] as string]]))
  const sent = { tail, outlives, quietMs, dispatchedAt } as Sent
  const first = firstAttempt(sender as unknown as Sender, sent)
  return first === null ? [] : [first]
}

export const sendersIn = columnsOf(schema.records, senders)

/** The server's answer: a list for each kind of row, null for none. */
type Answer = { readonly run: Columns } & Readonly<Record<string, Columns[] | null>>

export async function decodeLoaded(c: Connection, answer: unknown): Promise<Loaded | null> {
  if (answer === null || answer === undefined) return null
  const found = answer as Answer
  const rows = (kind: string) => found[kind] ?? []
  const sealed = <T extends object>(kind: string, table: Table<T>) =>
    decodeSealed(c, table, rows(kind))
  const own = await decodeSealed(c, tables.attempts, rows('attempts'))
  return {
    run: tables.runs.decode(found.run),
    checkpoints: rows('checkpoints').map(tables.checkpoints.decode),
    records: await sealed('records', tables.records),
    attempts: withFirst(own, rows('records').flatMap(firstIn)),
    evidence: await sealed('evidence', tables.evidence),
    items: rows('items').map(tables.items.decode),
    decisions: await sealed('decisions', tables.decisions),
    signals: await sealed('signals', tables.signals),
    unresolved: rows('unresolved') as never,
    deaths: new Map(rows('deaths') as never),
  }
}
