// Where rules/write-rows.ts finds and puts the runs of this store.

import type { Changes } from '../store.ts'
import { putRows, type RunRows } from '../whole-runs/run-rows.ts'
import type { RunsAt } from '../whole-runs/write-rows.ts'
import { addRun, type Data, findItem, itemKey, refKey } from './data.ts'
import { addNotice } from './documents.ts'

export function runsAt(data: Data): RunsAt {
  return {
    now: data.clock.now(),
    find: (ref) => data.runs.get(refKey(ref)),
    childrenOf: ({ namespace, runId }) =>
      [...data.runs.values()].filter(
        ({ run }) => run.namespace === namespace && run.parentRunId === runId,
      ),
    findItem: (of) => findItem(data, of),
    add: (made) => addRun(data, made),
    put: (rows, changes, commitId) => {
      put(data, rows, changes)
      if (commitId !== undefined) rows.run = { ...rows.run, commitId }
    },
  }
}

export function put(data: Data, rows: RunRows, changes: Changes): void {
  putRows(rows, changes, data.clock.now())
  for (const item of changes.items ?? []) data.items.set(itemKey(item), rows)
  for (const notice of changes.notices ?? []) addNotice(data, notice)
}
