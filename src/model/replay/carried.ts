// Which records answer in a visit that has records of several versions, because its run was moved
// in the midst of it (DESIGN §9, Migrate). What is not pure answers whatever the version: an effect
// is never forgotten. A pure result of another version answers only as far as an effect may have
// followed from it; what came later is for the present code to find out.
import { type CallRecord, checkpointId, type Run } from '../run/records.ts'
import { scopeGraph } from '../run/scope.ts'

type Here = Pick<Run, 'graph' | 'version' | 'generation' | 'visit'>

/** The pure records of other versions that no longer answer a pure call. */
export function setAside<T extends CallRecord>(rows: readonly T[], run: Here): ReadonlySet<T> {
  const own = checkpointId(run.version, run.generation, run.visit)
  // The checkpoint ids of a foreign workflow are its host's, and have no version of ours.
  const others = run.graph === scopeGraph.name ? [] : rows.filter((row) => row.checkpointId !== own)
  // By version: what the next one had set aside stays so when there is a third.
  const lastAfter = new Map<string, number>()
  for (const { replayClass, checkpointId: at, after } of others) {
    if (replayClass !== 'pure') lastAfter.set(at, Math.max(after, lastAfter.get(at) ?? 0))
  }
  const isCarried = ({ replayClass, checkpointId: at, seq }: T) =>
    replayClass !== 'pure' || (seq !== null && seq <= (lastAfter.get(at) ?? 0))
  return new Set(others.filter((row) => !isCarried(row)))
}
