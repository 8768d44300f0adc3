// Calls of a branch that a person compares with others, and that have no id of a model's: the n-th
// call of a tool in one run of a task.
import type { CallRecord, Counterfoil } from '../../../index.ts'
import { occurrenceOf } from '../../../model/run/scope.ts'
import type { Task } from '../guard/task.ts'
import type { Anchor } from './anchor.ts'
import { recordsOf } from './branch-records.ts'

/** By the object that LangGraph makes for each run of a task. */
const counts = new WeakMap<object, Map<string, number>>()

export function placeIn({ scratchpad }: Task, tool: string): string {
  const own = counts.get(scratchpad) ?? new Map<string, number>()
  counts.set(scratchpad, own)
  const nth = own.get(tool) ?? 0
  own.set(tool, nth + 1)
  return `${tool}#${nth}`
}

/** Whether the call at this place was compared before, whatever words it had then. */
export async function hasRecordAt(
  cf: Counterfoil,
  threadId: string,
  { nodeId, checkpointId }: Anchor,
  tool: string,
  place: string,
): Promise<boolean> {
  const occurrence = occurrenceOf(place, 0)
  const rows = await recordsOf(cf, threadId, tool)
  return rows.some(
    (row) =>
      row.nodeId === nodeId && row.checkpointId === checkpointId && row.occurrence === occurrence,
  )
}

export function resultOf({ resultJson }: CallRecord): unknown {
  return resultJson === null ? undefined : JSON.parse(resultJson)
}
