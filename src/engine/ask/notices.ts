// What a commit has to tell people outside: an item that waits from now on, and a run that failed.
import { noticeOfFailure, noticeOfItem } from '../../model/decisions/notice.ts'
import type { Notice, Run } from '../../model/run/records.ts'
import type { Changes } from '../../store/store.ts'

/** Nothing, and at no cost, for a commit without items that does not end its run. */
export function noticesOf(run: Run, changes: Changes, at: () => number, end: string): Notice[] {
  const opened = changes.items?.filter(({ state, version }) => state === 'open' && version === 1)
  const notices = opened?.map((item) => noticeOfItem(item, at())) ?? []
  if (changes.run?.state !== 'failed') return notices
  return [...notices, noticeOfFailure(run, changes.run.errorJson ?? null, at(), end)]
}
