// The conformance suite that every store passes (L5): an index of concerns, by port. It takes the
// test API as an argument, so that it runs under vitest, jest or anything that looks like them.
import type { Port } from '../store/store.ts'
import { alikeConcern } from './store/alike.ts'
import { amendConcern } from './store/amend.ts'
import { attemptsConcern } from './store/attempts.ts'
import { checkpointConcern } from './store/checkpoints.ts'
import { childConcern } from './store/children.ts'
import { commitConcern } from './store/commit.ts'
import { dueConcern } from './store/due.ts'
import { fenceConcern } from './store/fence.ts'
import { type Bench, createBench, type StoreUnderTest, type TestApi } from './store/fixtures.ts'
import { historyConcern } from './store/history.ts'
import { immutabilityConcern } from './store/immutability.ts'
import { leaseConcern } from './store/lease.ts'
import { listConcern } from './store/list.ts'
import { loadConcern } from './store/load.ts'
import { lookupConcern } from './store/lookup.ts'
import { notifyConcern } from './store/notify.ts'
import { documentConcern } from './store/ports/documents.ts'
import { factConcern } from './store/ports/facts.ts'
import { recentConcern } from './store/ports/recent.ts'
import { retentionConcern } from './store/ports/retention.ts'
import { shareConcern } from './store/ports/shares.ts'
import { threadConcern } from './store/ports/threads.ts'
import { idleThreadConcern } from './store/ports/threads-idle.ts'
import { signalConcern } from './store/signals.ts'
import { startConcern } from './store/start.ts'
import { survivalConcern } from './store/survival.ts'

type Concern = (bench: Bench) => void

/** Ledger, leases and inbox: what they promise they promise together. */
const core: readonly Concern[] = [
  startConcern,
  loadConcern,
  checkpointConcern,
  commitConcern,
  fenceConcern,
  amendConcern,
  attemptsConcern,
  leaseConcern,
  signalConcern,
  childConcern,
  dueConcern,
  immutabilityConcern,
  listConcern,
  lookupConcern,
  historyConcern,
  notifyConcern,
  alikeConcern,
  survivalConcern,
]

/** What the others add. Those of one or two tests stand in the concerns of the core. */
const added: Partial<Record<Port, readonly Concern[]>> = {
  retention: [retentionConcern],
  shares: [shareConcern],
  documents: [documentConcern],
  threads: [threadConcern, idleThreadConcern],
  facts: [factConcern, recentConcern],
}

/**
 * Describes the tests of one store: of its core, and of the other ports that it has (`ports`; all
 * of them, if it is not said).
 */
export function storeSuite(name: string, store: StoreUnderTest, api: TestApi): void {
  const bench = createBench(store, api)
  api.describe(`${name} keeps the store contract (L5)`, () => {
    for (const concern of core) concern(bench)
    for (const [port, concerns] of Object.entries(added)) {
      if (bench.has(port as Port)) for (const concern of concerns) concern(bench)
    }
  })
}
