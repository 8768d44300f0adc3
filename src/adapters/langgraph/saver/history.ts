// The history of channels whose values are not in every checkpoint (LangGraph's DeltaChannel): what
// was written to them since the last one that has their value.
import type { DeltaChannelHistory, SerializerProtocol } from '@langchain/langgraph-checkpoint'
import type { Threads } from '../../../index.ts'
import type { Space } from './chain.ts'
import { channelOf, has } from './document.ts'
import { StepReader } from './reader.ts'
import { openWrite } from './write.ts'

interface Target {
  readonly space: Space | undefined
  readonly stepId: string | undefined
  readonly channels: readonly string[]
}

/** One walk for all channels, a chain at a time. */
export async function deltaHistory(
  threads: Threads,
  serde: SerializerProtocol,
  { space, stepId, channels }: Target,
): Promise<Record<string, DeltaChannelHistory>> {
  const wanted = new Set(channels)
  const found: Record<string, DeltaChannelHistory> = {}
  for (const channel of channels) found[channel] = { writes: [] }
  if (space === undefined || channels.length === 0) return found
  for await (const { row, step, writes } of ancestors(threads, space, stepId)) {
    for (const channel of wanted) {
      const entry = found[channel] as DeltaChannelHistory
      const of = writes.filter((write) => write.channel === channel)
      const read = of.map((write) => openWrite(threads, serde, write, step))
      entry.writes.unshift(...(await Promise.all(read)))
      if (!has(step.document, channel)) continue
      const seed = await channelOf(serde, step.document, channel)
      if (seed === undefined) continue
      found[channel] = { ...entry, seed }
      wanted.delete(channel)
    }
    if (wanted.size === 0 || row.parentId === null) break
  }
  return found
}

/** Those of a step, the nearest first, with their writes. */
async function* ancestors(threads: Threads, space: Space, stepId: string | undefined) {
  const reader = new StepReader(threads)
  let rows = await reader.loadAny(space, stepId)
  let nextId = rows.pop()?.parentId ?? null
  while (nextId !== null) {
    if (rows.length === 0) rows = await reader.load(space, nextId)
    if (rows.length === 0) return
    const ids = rows.map((row) => row.stepId)
    const all = await threads.listWrites(space, ids)
    for (const row of rows.toReversed()) {
      const step = await reader.stepOf(row)
      if (step === null) return
      yield { row, step, writes: all.filter((write) => write.stepId === row.stepId) }
      nextId = row.parentId
    }
    rows = []
  }
}
