// What a run's end or cancelling means for its parent and its children, inside the transaction of
// the change that it follows from (I10).
import type { Run } from '../../model/run/records.ts'
import { toldOfCancel, toldOfEnd } from '../rules/family.ts'
import type { Changes, Parent, RunChange } from '../store.ts'
import type { Connection } from './opening/connection.ts'
import { selectRun } from './read.ts'
import * as tables from './tables.ts'
import { applyRows, changeRun, writeNews } from './write.ts'

/** Something that comes from outside the run's lease. */
export function arrive(c: Connection, run: Run, changes: Changes): void {
  applyRows(c, changes)
  changeRun(c, run, changes, run.commitId)
}

export function tellParent(c: Connection, child: Run, to: Parent, change: RunChange): void {
  const parent = selectRun(c, { namespace: child.namespace, runId: to.runId })
  if (parent === null || parent.swept === 'all') return
  const told = toldOfEnd(parent, child, to.attemptId, change, c.clock.now())
  writeNews(c, told.evidence)
  arrive(c, parent, told.changes)
}

const liveChildren = `select ${tables.runs.columns} from runs
  where namespace = ? and parent_run_id = ? and ended_at is null order by rowid`

export function tellChildren(c: Connection, { namespace, runId }: Run): void {
  const children = c.sql(liveChildren).all(namespace, runId).map(tables.runs.decode)
  for (const child of children) arrive(c, child, toldOfCancel(child, runId, c.clock.now()))
}
