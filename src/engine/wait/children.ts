// Owns: what a child run is made of, and what is asked of it later.
// Invariants: I10 a child's row is made in the transaction of the record that asks for it, and its
// id is a hash of that record's key: a child is one, however often its parent is replayed.

import { isCounterfoilError } from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { canonical, sha256 } from '../../model/json/canonical.ts'
import { keyOf, type RunRef } from '../../model/run/records.ts'
import { isEnded } from '../../model/run/states.ts'
import { askedToEnd } from '../../store/rules/family.ts'
import { newRun } from '../../store/rules/new-run.ts'
import type { NewRun, Store } from '../../store/store.ts'
import { placeOf } from '../attempt/rows.ts'
import type { IssuedCall } from '../call/call.ts'
import type { Visit } from '../visit/visit.ts'

/** Where the parent is told of the end. A record that a person gave to the call has its own key. */
function endPlace({ run }: Visit, { record, key }: IssuedCall): string {
  return placeOf(run, record ? keyOf(record) : key, 0)
}

export function childId(visit: Visit, call: IssuedCall): string {
  const { namespace, runId } = visit.run
  return `child_${sha256(canonical([namespace, runId, endPlace(visit, call)])).slice(0, 32)}`
}

export function childOf(visit: Visit, call: IssuedCall, graph: Graph): NewRun {
  const { namespace, runId, traceId, startedBy } = visit.run
  const parent = { runId, attemptId: endPlace(visit, call) }
  const { input } = JSON.parse(call.inputJson) as { input: unknown }
  const of = { namespace, runId: childId(visit, call), input, parent, traceId }
  // Whoever started the parent started this: they may not decide here what they may not there.
  return newRun(visit.clock, graph, startedBy === null ? of : { ...of, by: startedBy })
}

/** Asked a second time, or of a child that has ended or is gone, it changes nothing. */
export async function cancelChild(store: Store, child: RunRef, why: string): Promise<void> {
  try {
    await store.amend(child, 'client', ({ run }) => {
      const done = isEnded(run.state) || run.stop?.to === 'cancelled'
      return { changes: done ? null : askedToEnd(run, why, store.clock.now()), value: undefined }
    })
  } catch (error) {
    if (!isCounterfoilError(error, 'RUN_NOT_FOUND')) throw error
  }
}
