// Outputs of children that are too large for the message of their end.
import { childDigests } from '../../model/replay/arrivals.ts'
import type { Loaded, Store } from '../../store/store.ts'

/** Those of children whose end this run has not seen yet, by their digest. */
export async function outputsOf(store: Store, loaded: Loaded): Promise<Map<string, string>> {
  const outputs = new Map<string, string>()
  for (const { runId, digest } of childDigests(loaded)) {
    const child = await store.getRun({ namespace: loaded.run.namespace, runId })
    const output = child && (await store.readOutput(child))
    if (output) outputs.set(digest, output)
  }
  return outputs
}
