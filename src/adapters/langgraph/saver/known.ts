// Whether a space has a value already, under the version that a host gives it.
import type { Threads } from '../../../index.ts'
import type { Space } from './chain.ts'
import { configOf } from './config.ts'
import { type Document, has } from './document.ts'
import { pagesOf } from './list.ts'
import { StepReader } from './reader.ts'

/** A copy of a checkpoint is put beside it, with none of its versions as new ones. */
export async function isKnownIn(
  threads: Threads,
  space: Space,
  latest: Document | undefined,
  channel: string,
  version: unknown,
): Promise<boolean> {
  const holds = (document: Document | undefined) =>
    document !== undefined && document.versions[channel] === version && has(document, channel)
  if (holds(latest)) return true
  const reader = new StepReader(threads)
  for await (const page of pagesOf(threads, configOf(space, ''), {})) {
    for (const row of page) if (holds((await reader.stepOf(row))?.document)) return true
  }
  return false
}
