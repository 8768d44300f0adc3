// The conformance suite that every store passes (L5): an index of concerns. It takes the test API
// as an argument, so that it runs under vitest, jest or anything that looks like them.
import { alikeConcern } from './store/alike.ts'
import { amendConcern } from './store/amend.ts'
import { checkpointConcern } from './store/checkpoints.ts'
import { childConcern } from './store/children.ts'
import { commitConcern } from './store/commit.ts'
import { documentConcern } from './store/documents.ts'
import { dueConcern } from './store/due.ts'
import { fenceConcern } from './store/fence.ts'
import { createBench, type StoreUnderTest, type TestApi } from './store/fixtures.ts'
import { immutabilityConcern } from './store/immutability.ts'
import { leaseConcern } from './store/lease.ts'
import { listConcern } from './store/list.ts'
import { loadConcern } from './store/load.ts'
import { lookupConcern } from './store/lookup.ts'
import { notifyConcern } from './store/notify.ts'
import { recentConcern } from './store/recent.ts'
import { retentionConcern } from './store/retention.ts'
import { shareConcern } from './store/shares.ts'
import { signalConcern } from './store/signals.ts'
import { startConcern } from './store/start.ts'
import { survivalConcern } from './store/survival.ts'
import { threadConcern } from './store/threads.ts'
import { idleThreadConcern } from './store/threads-idle.ts'

/** Describes the tests of one store. */
export function storeSuite(name: string, store: StoreUnderTest, api: TestApi): void {
  const bench = createBench(store, api)
  api.describe(`${name} keeps the store contract (L5)`, () => {
    startConcern(bench)
    loadConcern(bench)
    checkpointConcern(bench)
    commitConcern(bench)
    fenceConcern(bench)
    amendConcern(bench)
    leaseConcern(bench)
    signalConcern(bench)
    childConcern(bench)
    dueConcern(bench)
    retentionConcern(bench)
    shareConcern(bench)
    documentConcern(bench)
    recentConcern(bench)
    immutabilityConcern(bench)
    listConcern(bench)
    lookupConcern(bench)
    notifyConcern(bench)
    threadConcern(bench)
    idleThreadConcern(bench)
    alikeConcern(bench)
    survivalConcern(bench)
  })
}
