// Owns: how a holder's, a client's and a former holder's changes reach the server. What happens to
// them there, under the run row's lock, is functions/02_commit.sql.
// Invariants: I2 the fence is checked in the transaction that writes. I4 a commit that was applied
// is recognised by its id, or its rows are there already; an earlier sending of it that comes late
// is recognised by the id of a later one. I10 a park that
// overlooked an arrival writes nothing; a child's end and its parent's arrival are one transaction.
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type { Run, RunRef } from '../../model/run/records.ts'
import { isEnded } from '../../model/run/states.ts'
import { checkCommit, isOrdinary } from '../rules/commit.ts'
import { isEnd, parentOf } from '../rules/family.ts'
import { checkChanges, newsOf } from '../rules/policy.ts'
import { checkNotSwept } from '../rules/retention.ts'
import * as schema from '../schema/index.ts'
import type {
  Amendment,
  Authority,
  Changes,
  Commit,
  CommitResult,
  LoadAt,
  Loaded,
  NewRun,
  Parent,
} from '../store.ts'
import { Gather } from './gather.ts'
import type { Connection, Query } from './opening/connection.ts'
import { isRefused } from './opening/errors.ts'
import { decodeLoaded, selectRun } from './read.ts'
import * as tables from './tables.ts'
import { addRows, changeColumns, listLiteral, newColumns, noRows, rowArguments } from './write.ts'

interface Started {
  readonly created: boolean
  readonly run: Run
}

/** Those of one statement: what is larger takes its time alone, and keeps nobody waiting. */
const startCharsMax = 1_000_000

/** Runs that are started together are one transaction. */
export function starter(c: Connection): (made: NewRun) => Promise<Started> {
  const gather = new Gather<{ run: Run; text: string }, Started>(c.clock, {
    countMax: 50,
    weigh: ({ text }) => text.length,
    weightMax: startCharsMax,
    send: async (made) => {
      const found = await sendStarts(
        c,
        made.map(({ text }) => text),
      )
      return made.map(({ run }, i) => {
        const old = found[i] ?? null
        if (old === null) return { created: true, run }
        return { created: false, run: tables.runs.decode(old) }
      })
    },
    // The server has refused, so that nothing was written. Of what nobody has heard, one may have
    // been started: asked again it would be answered as somebody else's.
    mayRepeat: isRefused,
  })
  // Written out before it meets others: what cannot be is nobody else's trouble.
  return async (made) => gather.ask({ run: made.run, text: JSON.stringify(newColumns(made)) })
}

/** The rows that have the ids already, or null. */
async function sendStarts(
  c: Connection,
  texts: readonly string[],
): Promise<(tables.Columns | null)[]> {
  if (texts.length === 1) return [await c.ask('start_run', [...texts])]
  return c.ask('start_runs', [`[${texts.join()}]`])
}

type Answer = CommitResult | 'other_parent'

/**
 * A run occurs once in a batch. A commit that policy refuses is not sent: the others are, and the
 * refusal is thrown when they are durable. A row that a trigger refuses takes the whole batch back;
 * either way, writing commits again one by one tells which it was.
 */
export async function commit(c: Connection, batch: readonly Commit[]): Promise<CommitResult[]> {
  const refusals: unknown[] = []
  const answers = new Map<Commit, Answer>()
  const plain: Commit[] = []
  const family: Commit[] = []
  for (const one of batch) {
    try {
      checkCommit(one)
    } catch (error) {
      refusals.push(error)
      continue
    }
    if (concernsFamily(one)) family.push(one)
    else plain.push(one)
  }
  const wait = batch.length === 1
  if (plain.length > 1) {
    const all = await sendBatch(c, plain)
    plain.forEach((one, i) => void answers.set(one, all[i] ?? 'stale_fence'))
  } else {
    for (const one of plain) answers.set(one, await sendOne(c, one, wait, null))
  }
  // One after the other: two of them may concern the same parent.
  for (const one of family) answers.set(one, await sendOne(c, one, wait, one.parent ?? null))
  for (const [one, answer] of answers) {
    if (answer === 'other_parent') answers.set(one, await sendToParent(c, one, wait))
  }
  if (refusals.length > 0) throw refusals[0]
  return batch.map((one) => answers.get(one) as CommitResult)
}

/** Whether other runs hear of it: the parent of one that ends, the children of one cancelled. */
function concernsFamily({ parent, changes }: Commit): boolean {
  const state = changes.run?.state
  return state === 'cancelled' || (parent !== undefined && state !== undefined && isEnded(state))
}

/** The run's own row says who its parent is. */
async function sendToParent(c: Connection, one: Commit, wait: boolean): Promise<CommitResult> {
  const run = await selectRun(c, one)
  if (run === null) return 'stale_fence'
  const answer = await sendOne(c, one, wait, parentOf(run, one.parent))
  return answer === 'other_parent' ? 'stale_fence' : answer
}

async function sendOne(
  c: Connection,
  one: Commit,
  wait: boolean,
  parent: Parent | null,
): Promise<Answer> {
  const { namespace, runId, commitId, workerId, fence, arrivalsSeen = null, changes } = one
  const rows = noRows()
  addRows(c, rows, changes)
  const tells = parent !== null && changes.run?.state !== undefined && isEnded(changes.run.state)
  const isFamily = tells || changes.run?.state === 'cancelled'
  const sent = c.askAtHome<Answer>('commit_one', [
    ...[namespace, runId, commitId, workerId, fence, arrivalsSeen, changeOf(changes)],
    ...rowArguments(rows),
    ...[leavesRun(c, one), wait, isFamily, ...news(c, one, tells ? parent : null, changes)],
  ])
  const [answer] = await heard(
    c,
    [one],
    sent.then((said) => [said]),
  )
  return answer as Answer
}

/**
 * What was sent over a line that was given up may still arrive, when later commits have landed. It
 * is known by the commit id on the run's row (`judge`), so whatever is written for that run next
 * leaves its own there, ordinary or not.
 */
function leavesRun(c: Connection, one: Commit): boolean {
  return isOrdinary(one.changes) && !c.unheard.has(runKey(one))
}

const runKey = ({ namespace, runId }: RunRef) => JSON.stringify([namespace, runId])

/** Sends commits, and keeps in mind of which runs nobody has heard what became of theirs. */
async function heard(
  c: Connection,
  batch: readonly Commit[],
  sent: Promise<Answer[]>,
): Promise<Answer[]> {
  try {
    const answers = await sent
    // Of any other answer nothing was written, the commit id included.
    const over = batch.filter((_, i) => answers[i] === 'done' || answers[i] === 'stale_fence')
    for (const one of over) c.unheard.delete(runKey(one))
    return answers
  } catch (error) {
    if (!isRefused(error) && !c.isUnsent(error)) {
      for (const one of batch) c.unheard.add(runKey(one))
    }
    throw error
  }
}

function changeOf({ run }: Changes): string | null {
  return run === undefined ? null : JSON.stringify(changeColumns(run))
}

async function sendBatch(c: Connection, batch: readonly Commit[]): Promise<Answer[]> {
  const rows = noRows()
  const heads = batch.map((one, i) => {
    addRows(c, rows, one.changes)
    const { namespace, runId, commitId, workerId, fence, arrivalsSeen, changes } = one
    // The columns of the type `commit_head`.
    const head = [i + 1, namespace, runId, commitId, workerId, fence, arrivalsSeen]
    return [...head, changeOf(changes), leavesRun(c, one)]
  })
  const sent = c.askAtHome<Answer[]>('commit_batch', [listLiteral(heads), ...rowArguments(rows)])
  return heard(c, batch, sent)
}

/** The parent's id, and the row of evidence that tells it of the end. */
function news(
  c: Connection,
  child: RunRef,
  parent: Parent | null,
  { run = {} }: Changes,
): [string | null, string | null] {
  if (parent === null) return [null, null]
  const row = tables.evidence.tidy(newsOf(child, parent, run, c.clock.now()))
  const columns = { ...tables.evidence.encode(row), mac: c.keys.sealer.row(schema.evidence, row) }
  return [parent.runId, JSON.stringify(columns)]
}

/** Thrown inside a transaction to begin it again with the parent's row locked first. */
class ParentFirst extends Error {
  readonly parentRunId: string

  constructor(parentRunId: string) {
    super('the parent has to be locked first')
    this.parentRunId = parentRunId
  }
}

export async function amend<T>(
  c: Connection,
  ref: RunRef,
  by: Authority,
  change: (now: Loaded) => Amendment<T>,
  at?: LoadAt,
): Promise<Amendment<T>> {
  const once = (parentRunId: string | null) =>
    c.transaction((query) => amendWithin(c, query, ref, by, change, at, parentRunId))
  try {
    return await once(null)
  } catch (error) {
    if (!(error instanceof ParentFirst)) throw error
    return once(error.parentRunId)
  }
}

async function amendWithin<T>(
  c: Connection,
  query: Query,
  ref: RunRef,
  by: Authority,
  change: (now: Loaded) => Amendment<T>,
  at: LoadAt | undefined,
  lockedParent: string | null,
): Promise<Amendment<T>> {
  const { namespace, runId } = ref
  const place = [at?.visit ?? null, at?.scope?.nodeId ?? null, at?.scope?.checkpointId ?? null]
  const [row] = await query(`select ${c.schema}.amend_load($1, $2, $3, $4, $5, $6) as loaded`, [
    ...[namespace, runId, ...place, lockedParent],
  ])
  const now = await decodeLoaded(c, row?.['loaded'])
  if (now === null) throw runNotFound(ref)
  const amendment = change(now)
  const { changes } = amendment
  if (changes === null) return amendment
  checkNotSwept(now.run)
  checkChanges(now.run, by, changes)
  const parent = isEnd(now.run, changes.run) ? parentOf(now.run, undefined) : null
  // Locked in the order of making, or two might wait for each other.
  if (parent !== null && lockedParent === null) throw new ParentFirst(parent.runId)
  const rows = noRows()
  addRows(c, rows, changes)
  await query(`select ${c.schema}.amend_write($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, [
    ...[namespace, runId, JSON.stringify(changeColumns(changes.run ?? {}))],
    ...rowArguments(rows),
    ...news(c, now.run, parent, changes),
  ])
  return amendment
}

function runNotFound({ namespace, runId }: RunRef): CounterfoilError {
  return errorFor('RUN_NOT_FOUND', runId, namespace)
}
