// counterfoil/testing: what others need to test their stores and tools against ours.
export { addFailpoints } from './failpoints.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export type { StoreUnderTest, TestApi } from './store/fixtures.ts'
export { storeSuite } from './store-suite.ts'
