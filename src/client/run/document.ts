// Reads a run's state and its document from the store, for people and for other processes.

import { errorFor } from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { expectedAt, readChain } from '../../model/run/checkpoint.ts'
import { documentOf, type RunDocument } from '../../model/run/document.ts'
import type { Run } from '../../model/run/records.ts'
import { trustedRecords } from '../../store/pages.ts'
import type { InboxPort, LedgerPort } from '../../store/store.ts'

export async function readState(
  store: LedgerPort & InboxPort,
  run: Run,
  visit = run.visit,
): Promise<unknown> {
  const chain = await store.loadCheckpoints(run, run.generation, visit)
  if (chain.length === 0) {
    throw errorFor('CHECKPOINT_NOT_FOUND', run.runId, `it is at visit ${run.visit}`, { visit })
  }
  const read = readChain(chain, expectedAt(run, visit))
  if (read.ok) return read.state
  throw errorFor('CHECKPOINT_DAMAGED', `run ${run.runId}: ${read.why}`)
}

export async function readDocument(
  { store, graphs }: { store: LedgerPort & InboxPort; graphs: ReadonlyMap<string, Graph> },
  run: Run,
): Promise<RunDocument> {
  const state = await readState(store, run)
  const read = graphs.get(`${run.graph}@${run.version}`)?.document ?? null
  const decisions = (await store.listDecisions(run)).filter((row) => row.verifies)
  return documentOf({ run, state, records: await trustedRecords(store, run), decisions, read })
}
