// What the end or the cancelling of a run means for its parent and its children. Pure; every store
// writes it in the transaction of the change that it follows from (I10).
import { errorFor } from '../../model/errors.ts'
import { type Evidence, eventOf, type Run } from '../../model/run/records.ts'
import { isEnded } from '../../model/run/states.ts'
import type { Changes, Parent, RunChange } from '../store.ts'
import { arrival, cancelledBy, newsOf } from './policy.ts'

/** Whether this change is the one that ends the run. */
export function isEnd(run: Pick<Run, 'state'>, change: RunChange | undefined): boolean {
  return change?.state !== undefined && isEnded(change.state) && !isEnded(run.state)
}

/** By the run's own row; a writer who means another parent is refused. */
export function parentOf(run: Run, said?: Parent): Parent | null {
  const { parentRunId: runId, parentAttemptId: attemptId } = run
  const parent = runId === null || attemptId === null ? null : { runId, attemptId }
  if (said === undefined) return parent
  if (said.runId === parent?.runId && said.attemptId === parent.attemptId) return parent
  throw errorFor(
    'WRITE_REFUSED',
    run.runId,
    `its parent is ${runId ?? 'nobody'}, not ${said.runId}`,
  )
}

/** What a run is given by something that arrives from outside its lease. */
export interface Arrived {
  readonly evidence: Evidence
  readonly changes: Changes
}

/** Something has come for the run: it is raised, and woken if it waits. */
export function woken(run: Run, now: number, cause: string): Changes {
  const change = arrival(run)
  if (change.state === undefined) return { run: change }
  const data = { from: run.state, to: change.state, cause }
  return { run: change, events: [eventOf(run, now, 'state', data)] }
}

/**
 * The end of a child, for its parent. The evidence is put only if there is none yet: the first end
 * is the one that the parent may have read.
 */
export function toldOfEnd(
  parent: Run,
  child: Run,
  attemptId: string,
  change: RunChange,
  now: number,
): Arrived {
  const to = { runId: parent.runId, attemptId }
  return {
    evidence: newsOf(child, to, change, now),
    changes: woken(parent, now, `its child ${child.runId} ended`),
  }
}

/** The cancelling of a parent, for one of its live children. */
export function toldOfCancel(child: Run, parentRunId: string, now: number): Changes {
  return askedToEnd(child, `its parent run ${parentRunId} was cancelled`, now)
}

/** What a live child is told when its parent wants its end. */
export function askedToEnd(child: Run, why: string, now: number): Changes {
  const event = eventOf(child, now, 'stop_asked', { to: 'cancelled', by: 'parent', why })
  return { run: cancelledBy(child, { by: 'parent', why, at: now }), events: [event] }
}
