// Which steps of a thread have to stay when the latest `count` of each space are wanted.
//
// A step stays if it is one of those; if it ends a branch and has writes, because then somebody may
// go on with them (an open interrupt, a task that failed); if a value of a step that stays is told
// by its writes (a DeltaChannel, or packets in the old format); and if a subgraph would begin from
// it when its parent is gone back to.
import type { CheckpointMetadata } from '@langchain/langgraph-checkpoint'
import type { Row } from './chain.ts'
import { has } from './document.ts'
import type { StepReader } from './reader.ts'

export interface SpaceSteps {
  /** The latest first. */
  readonly rows: readonly Row[]
  /** The row of a turn at one of them, if there is one: it goes with the thread. */
  readonly turns: readonly Row[]
  /** The channels of the writes of each step without a child. */
  readonly open: ReadonlyMap<string, readonly string[]>
}

/** By space. */
export type Keeping = Map<string, Set<string>>

type MetadataOf = (row: Row) => Promise<unknown>

/** Null if a step was pruned by somebody else meanwhile. */
export async function keeping(
  spaces: ReadonlyMap<string, SpaceSteps>,
  count: number,
  reader: StepReader,
  metadataOf: MetadataOf,
): Promise<Keeping | null> {
  const kept: Keeping = new Map()
  for (const [space, { rows, open }] of spaces) {
    const stays = new Set<string>()
    kept.set(space, stays)
    const [latest] = rows
    if (latest === undefined) continue
    const { parents } = (await metadataOf(latest)) as Partial<CheckpointMetadata>
    if (isTask(space) && isOver(parents ?? {}, spaces, kept)) continue
    for (const { stepId } of rows.slice(0, count)) stays.add(stepId)
    for (const stepId of open.keys()) stays.add(stepId)
    if (space !== '' && !isTask(space)) keepBefore(rows, kept.get('') ?? new Set(), stays)
    if (!(await keepTold(rows, stays, reader, metadataOf))) return null
  }
  return kept
}

/** The space of a subgraph in a task of its own; others last as long as the thread. */
function isTask(space: string): boolean {
  return space.includes(':')
}

/** Whether a step that the task belongs to is gone or goes. One that is not put yet is neither. */
function isOver(
  parents: Readonly<Record<string, string>>,
  spaces: ReadonlyMap<string, SpaceSteps>,
  kept: Keeping,
): boolean {
  return Object.entries(parents).some(([space, stepId]) => {
    const latest = spaces.get(space)?.rows[0]
    return latest !== undefined && stepId <= latest.stepId && !kept.get(space)?.has(stepId)
  })
}

/** A thread that goes back to a step takes its subgraphs back to their last step before that. */
function keepBefore(rows: readonly Row[], roots: ReadonlySet<string>, stays: Set<string>): void {
  for (const root of roots) {
    const last = rows.find(({ stepId }) => stepId < root)
    if (last !== undefined) stays.add(last.stepId)
  }
}

/** Adds the steps whose writes tell values of those that stay. */
async function keepTold(
  rows: readonly Row[],
  stays: Set<string>,
  reader: StepReader,
  metadataOf: MetadataOf,
): Promise<boolean> {
  const byId = new Map(rows.map((row) => [row.stepId, row]))
  for (const stepId of [...stays]) {
    const row = byId.get(stepId)
    const step = row === undefined ? null : await reader.stepOf(row)
    if (row === undefined || step === null) return false
    const metadata = (await metadataOf(row)) as Partial<CheckpointMetadata>
    const counted = Object.keys(metadata.counters_since_delta_snapshot ?? {})
    const missing = new Set(counted.filter((channel) => !has(step.document, channel)))
    if (step.document.v < 4 && row.parentId !== null) stays.add(row.parentId)
    for (let at = byId.get(row.parentId ?? ''); at && missing.size > 0; ) {
      stays.add(at.stepId)
      const ancestor = await reader.stepOf(at)
      if (ancestor === null) return false
      for (const channel of missing) if (has(ancestor.document, channel)) missing.delete(channel)
      at = byId.get(at.parentId ?? '')
    }
  }
  return true
}
