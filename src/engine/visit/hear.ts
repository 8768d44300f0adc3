// Brings what has come from outside to a visit that is still busy elsewhere. A park does not rely
// on this: it counts the arrivals since the load (I10).

import { childDigests } from '../../model/replay/arrivals.ts'
import type { Loaded, Store } from '../../store/store.ts'
import type { Visit } from './visit.ts'

/** Looks only if something has come since the last look. */
export async function hearNew(visit: Visit): Promise<void> {
  const row = await visit.store.getRun(visit.run)
  if (row !== null && row.arrivals !== visit.waiting?.heard) await hear(visit)
}

export async function hear(visit: Visit): Promise<void> {
  const { store, run, at } = visit
  const now = await store.load(run, at)
  if (now === null || now.run.fence !== run.fence || visit.phase !== 'running') return
  const outputs = await outputsOf(store, now)
  if (visit.phase === 'running') visit.waiting?.hear(now, outputs)
}

/** Large outputs of children whose end this run has not seen yet. */
export async function outputsOf(store: Store, loaded: Loaded): Promise<Map<string, string>> {
  const outputs = new Map<string, string>()
  for (const { runId, digest } of childDigests(loaded)) {
    const child = await store.getRun({ namespace: loaded.run.namespace, runId })
    const output = child && (await store.readOutput(child))
    if (output) outputs.set(digest, output)
  }
  return outputs
}
