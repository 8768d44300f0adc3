// Finds the first attempts that lie in the rows of their calls (sql/first-attempt.ts).
import { callKeyOfAttempt } from '../../../model/run/attempt-id.ts'
import type { Attempt, CallRecord, RunRef } from '../../../model/run/records.ts'
import * as schema from '../../schema/index.ts'
import { firstAttempt, type Sender, type Sent, senders } from '../../sql/first-attempt.ts'
import { besides, columnsOf } from '../../sql/statements.ts'
import type { Connection } from '../opening/connection.ts'

const of = [...columnsOf(schema.records, senders), ...besides(schema.records)]
const columns = of.join(', ')
const recordKey = columnsOf(schema.records, schema.records.key)

function decode(row: readonly unknown[]): Attempt | null {
  const sender = Object.fromEntries(senders.map((name, i) => [name, row[i]]))
  return firstAttempt(sender as unknown as Sender, sentIn(row, senders.length))
}

/** What lies in a row from this column on. */
export function sentIn(row: readonly unknown[], from: number): Sent {
  const [tail, quietMs, dispatchedAt] = [row[from], row[from + 2], row[from + 3]]
  return { tail, outlives: row[from + 1] === 1, quietMs, dispatchedAt } as Sent
}

const ofRun = `select ${columns} from tool_call_results
  where namespace = ? and workflow_id = ? and attempt = 1 and dispatched_at is not null`

export function firstOfRun(c: Connection, { namespace, runId }: RunRef): Attempt[] {
  return c
    .sql(ofRun)
    .all(namespace, runId)
    .flatMap((row) => decode(row) ?? [])
}

// The nodes and versions that a run has been through, by jumping from one to the next: all ids of a
// version lie between `version#` and `version$`. Two seeks for each, however many records there
// are, and no index of its own, which every commit of a call would pay for.
export const found = `recursive found (node, id) as (
  select node_id, checkpoint_id from (
    select node_id, checkpoint_id from tool_call_results
      where namespace = @namespace and workflow_id = @runId
      order by node_id, checkpoint_id limit 1)
  union all
  select r.node_id, r.checkpoint_id from found cross join tool_call_results r
  where r.rowid = (
    select n.rowid from tool_call_results n
      where n.namespace = @namespace and n.workflow_id = @runId
        and (n.node_id, n.checkpoint_id) >
          (found.node, substr(found.id, 1, instr(found.id || '#', '#') - 1) || '$')
      order by n.node_id, n.checkpoint_id limit 1)
)`
/** The id that the visit `@suffix` has in a version that was found. */
export const foundVisit = "substr(found.id, 1, instr(found.id || '#', '#') - 1) || @suffix"

const call = 'tool_name = @tool and input_hash = @inputHash and occurrence = @occurrence'
const ofVisit = `with ${found}
  select ${of.map((column) => `r.${column}`).join(', ')}
  from found cross join tool_call_results r
  where r.namespace = @namespace and r.workflow_id = @runId and r.node_id = found.node
    and r.checkpoint_id = ${foundVisit} and ${call}`
// The ids of a scope are its host's: through the run's part of the primary key.
const anywhere = `select ${columns} from tool_call_results
  where namespace = @namespace and workflow_id = @runId and ${call}`
const byKey = `select ${columns} from tool_call_results
  where ${recordKey.map((column) => `${column} = ?`).join(' and ')}`

/** What the row of its call says of this attempt; `record`: its call, if that is known. */
export function firstInCall(
  c: Connection,
  { namespace, runId, attemptId }: Attempt,
  record: CallRecord | null,
): Attempt | null {
  const pick = (rows: readonly (readonly unknown[])[]) =>
    rows.map(decode).find((one) => one?.attemptId === attemptId) ?? null
  if (record) return pick(c.sql(byKey).all(...schema.records.key.map((name) => record[name])))
  const key = callKeyOfAttempt(attemptId).split('/')
  const [occurrence, inputHash] = [Number(key.pop()), key.pop()]
  const named = { namespace, runId, tool: key.join('/'), inputHash, occurrence }
  const suffix = `#${attemptId.slice(0, attemptId.indexOf('/'))}`
  return pick(c.sql(ofVisit).all({ ...named, suffix })) ?? pick(c.sql(anywhere).all(named))
}
