// Which steps a list of the host asks for.
import type { RunnableConfig } from '@langchain/core/runnables'
import type { CheckpointListOptions, CheckpointMetadata } from '@langchain/langgraph-checkpoint'
import type { Threads } from '../../../index.ts'
import { isSame } from '../../../model/run/state.ts'
import type { Row } from './chain.ts'
import { stepIdOf } from './config.ts'

const pageSize = 100

/** The latest first. Without a thread: those of all threads; without a namespace: of all of it. */
export async function* pagesOf(
  threads: Threads,
  config: RunnableConfig,
  { limit, before, filter }: CheckpointListOptions,
): AsyncGenerator<Row[]> {
  const {
    thread_id: threadId,
    checkpoint_ns: space,
    checkpoint_id: only,
  } = config.configurable ?? {}
  const end = stepIdOf(before)
  const wanted = {
    ...(threadId ? { threadId: String(threadId) } : {}),
    ...(typeof space === 'string' ? { space } : {}),
    ...(end === null ? {} : { before: end }),
    countMax: filter === undefined && !only ? Math.min(limit ?? pageSize, pageSize) : pageSize,
  }
  for (let cursor: string | undefined; ; ) {
    const page = await threads.listSteps(cursor === undefined ? wanted : { ...wanted, cursor })
    const rows = only ? page.items.filter(({ stepId }) => stepId === only) : page.items
    if (rows.length > 0) yield [...rows]
    if (page.next === null) return
    cursor = page.next
  }
}

/** Whether the metadata has these members, each as a whole. */
export function matches(metadata: CheckpointMetadata, filter: CheckpointListOptions['filter']) {
  const has = metadata as Record<string, unknown>
  return Object.entries(filter ?? {}).every(
    ([key, value]) => value === undefined || isSame(has[key], value),
  )
}
