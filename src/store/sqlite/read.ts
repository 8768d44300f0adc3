// Reads what a visit needs, in one go.

import type { Attempt, Checkpoint, Run, RunRef } from '../../model/run/records.ts'
import { isOtherBoot } from '../boot.ts'
import type { Held } from '../rules/commit.ts'
import * as schema from '../schema/index.ts'
import { firstAttempt, withFirst } from '../sql/first-attempt.ts'
import { besides } from '../sql/statements.ts'
import type { LoadAt, Loaded, Sealed } from '../store.ts'
import { found, foundVisit, sentIn } from './calls/first.ts'
import type { Connection } from './opening/connection.ts'
import type { Table } from './tables.ts'
import * as tables from './tables.ts'

const runByKey = `select ${tables.runs.columns} from runs where namespace = ? and run_id = ?`

export function selectRun(c: Connection, ref: RunRef): Run | null {
  const row = c.sql(runByKey).get(ref.namespace, ref.runId)
  return row === undefined ? null : tables.runs.decode(row)
}

const heldByKey = `select state, fence, worker_id, arrivals, commit_id from runs
  where namespace = ? and run_id = ?`

export function selectHeld(c: Connection, { namespace, runId }: RunRef): Held | null {
  const row = c.sql(heldByKey).get(namespace, runId)
  if (row === undefined) return null
  const [state, fence, workerId, arrivals, commitId] = row as [
    Held['state'],
    number,
    string | null,
    number,
    string | null,
  ]
  return { state, fence, workerId, arrivals, commitId }
}

/** Rows with the answer to "is its MAC right?"; the MAC is the column after the table's own. */
export function decodeSealed<T extends object>(
  c: Connection,
  codec: Table<T>,
  rows: readonly unknown[][],
): Sealed<T>[] {
  return rows.map((values) => {
    const row = codec.decodeSealed(values)
    const mac = values[codec.columnList.length] as string | null
    row.verifies = c.sealer.verifiesRow(codec.table, row, mac)
    return row
  })
}

// The visit's records whatever their node and version. Of the primary key's (…, node_id,
// checkpoint_id) just the end of the last is known, `#generation#visit`, so the nodes and versions
// this run has been through are found first.
const written = [...tables.records.columnList, 'mac', ...besides(schema.records)]
const sentFrom = written.length - besides(schema.records).length
const recordsOfVisit = `
with ${found}
select ${written.map((column) => `r.${column}`).join(', ')}
from found cross join tool_call_results r
where r.namespace = @namespace and r.workflow_id = @runId and r.node_id = found.node
  and r.checkpoint_id = ${foundVisit}
order by r.rowid`

// A scope's ids are its host's, whatever they look like.
const recordsOfScope = `select ${written.join(', ')} from tool_call_results
  where namespace = ? and workflow_id = ? and node_id = ? and checkpoint_id = ? order by rowid`

// An attempt's id begins with `generation#visit/`; `0` is the character after `/`.
const attemptsOfVisit = `select ${tables.attempts.columns}, mac from tool_call_attempts
  where namespace = ? and workflow_id = ? and attempt_id >= ? || '/' and attempt_id < ? || '0'
  order by dispatched_at, attempt_id`
const evidenceOfVisit = `select ${tables.evidence.columns}, mac from call_evidence
  where namespace = ? and workflow_id = ? and attempt_id >= ? || '/' and attempt_id < ? || '0'
  order by rowid`

const ofVisit = 'where namespace = ? and run_id = ? and generation = ? and visit = ?'
const itemsOfVisit = `select ${tables.items.columns} from inbox_items ${ofVisit} order by rowid`
const decisionsOfVisit = `select ${tables.decisions.columns}, mac from decisions ${ofVisit}
  order by rowid`

const signalsOfRun = `select ${tables.signals.columns}, mac from signals
  where namespace = ? and run_id = ? and used_by is null order by rowid`

const chainOfVisit = `select ${tables.checkpoints.columns} from checkpoints
  where namespace = @namespace and run_id = @runId and generation = @generation
    and visit <= @visit and visit >= (
      select base_visit from checkpoints
      where namespace = @namespace and run_id = @runId and generation = @generation
        and visit = @visit)
  order by visit`

/** The rows that the state at this visit is made of; none if the visit has no checkpoint. */
export function selectChain(
  c: Connection,
  { namespace, runId }: RunRef,
  generation: number,
  visit: number,
): Checkpoint[] {
  return c
    .sql(chainOfVisit)
    .all({ namespace, runId, generation, visit })
    .map(tables.checkpoints.decode)
}

const unresolvedOfRun = `select tool_name, input_hash from tool_call_results
  where namespace = ? and workflow_id = ? and unresolved = 1 order by rowid`

export type LoadedRows = Omit<Loaded, 'deaths'>

/** Everything but the deaths, which may have to be written down. Within one transaction. */
export function loadRows(c: Connection, ref: RunRef, at?: LoadAt): LoadedRows | null {
  const run = selectRun(c, ref)
  if (run === null) return null
  const { namespace, runId, generation } = run
  const visit = at?.visit ?? run.visit
  const here = [namespace, runId, generation, visit]
  const prefix = `${generation}#${visit}`
  const scope = at?.scope
  const rows = scope
    ? c.sql(recordsOfScope).all(namespace, runId, scope.nodeId, scope.checkpointId)
    : c.sql(recordsOfVisit).all({ namespace, runId, suffix: `#${prefix}` })
  const records = decodeSealed(c, tables.records, rows)
  const own = c.sql(attemptsOfVisit).all(namespace, runId, prefix, prefix)
  const first = records.flatMap(
    (record, i) => firstAttempt(record, sentIn(rows[i] ?? [], sentFrom)) ?? [],
  )
  return {
    run,
    checkpoints: at === undefined ? selectChain(c, run, generation, visit) : [],
    records,
    attempts: withFirst(decodeSealed(c, tables.attempts, own), first),
    evidence: decodeSealed(
      c,
      tables.evidence,
      c.sql(evidenceOfVisit).all(namespace, runId, prefix, prefix),
    ),
    items: c
      .sql(itemsOfVisit)
      .all(...here)
      .map(tables.items.decode),
    decisions: decodeSealed(c, tables.decisions, c.sql(decisionsOfVisit).all(...here)),
    signals: decodeSealed(c, tables.signals, c.sql(signalsOfRun).all(namespace, runId)),
    unresolved: c
      .sql(unresolvedOfRun)
      .all(namespace, runId)
      .map(([tool, inputHash]) => ({ tool: tool as string, inputHash: inputHash as string })),
  }
}

const workerEnd = 'select died_at, boot_id from workers where worker_id = ?'
const noteDeath = `update workers set died_at = ?, death_proof = ?
  where worker_id = ? and died_at is null`

export const bootProof = 'the machine has been started again since'

/**
 * Which workers of these attempts are dead on record. One of an earlier boot is dead without being
 * asked; the time it was first noticed is kept, so that the quiet time counts from one moment.
 */
export function deathsOf(c: Connection, attempts: readonly Attempt[]): Map<string, number> {
  const deaths = new Map<string, number>()
  for (const workerId of new Set(attempts.map((attempt) => attempt.workerId))) {
    const row = c.sql(workerEnd).get(workerId)
    if (row === undefined) continue
    if (row[0] === null && isOtherBoot(row[1] as string, c.bootId)) {
      const now = c.clock.now()
      c.sql(noteDeath).run(now, bootProof, workerId)
      deaths.set(workerId, now)
    } else if (row[0] !== null) {
      deaths.set(workerId, row[0] as number)
    }
  }
  return deaths
}
