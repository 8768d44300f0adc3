// Adds to every write what people outside must be told because of it, so that the two are one
// transaction: an item that opens, a run that fails. Whoever writes notices of their own says all.
import type { Notice, Run, RunRef } from '../model/records.ts'
import type { Changes, Store } from './store.ts'

export function withNotices(store: Store): Store {
  const { clock } = store
  return {
    ...store,
    commit: (batch) =>
      store.commit(
        batch.map((one) => {
          const changes = told(one, one.changes, one.fence, clock.now)
          return changes === one.changes ? one : { ...one, changes }
        }),
      ),
    amend: (ref, by, change, at) =>
      store.amend(
        ref,
        by,
        (now) => {
          const { changes, value } = change(now)
          const more = changes && told(ref, changes, now.run.fence, clock.now, now.run)
          return { changes: more, value }
        },
        at,
      ),
  }
}

/** The same object if there is nothing to tell, which is nearly always. */
function told(ref: RunRef, changes: Changes, fence: number, now: () => number, run?: Run): Changes {
  const { items, run: change, notices } = changes
  const fails = change?.state === 'failed' && run?.state !== 'failed'
  if (notices !== undefined || (items === undefined && !fails)) return changes
  const { namespace, runId } = ref
  const made: Notice[] = []
  for (const item of items ?? []) {
    if (item.state !== 'open' || item.version !== 1 || item.overdueAt !== null) continue
    const { itemId, title, queue, reason, dueAt, kind: what } = item
    const kind = what === 'doubt' ? 'doubt' : 'waiting_human'
    const dataJson = JSON.stringify({ title, queue, reason, kind: what, due_at: dueAt })
    const noticeId = `${itemId}/opened`
    made.push({ namespace, runId, noticeId, kind, itemId, at: now(), dataJson })
  }
  if (fails) {
    const dataJson = JSON.stringify({ error: change.errorJson ?? null })
    // A run that is tried again and fails again has another fence by then.
    const noticeId = `${runId}/failed/${fence}`
    made.push({ namespace, runId, noticeId, kind: 'run_failed', itemId: null, at: now(), dataJson })
  }
  return made.length === 0 ? changes : { ...changes, notices: made }
}
