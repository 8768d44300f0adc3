// counterfoil/testing: what others need to test their graphs, stores and tools against ours.
export type { ChaosFileOptions, ChaosSettings } from '../cli/chaos/file.ts'
export type {
  ChaosDoubt,
  ChaosFinding,
  ChaosPoint,
  ChaosReport,
  ChaosTool,
} from '../cli/chaos/report/report.ts'
export type {
  Agent,
  AgentInput,
  Answers,
  Asked,
  MockCall,
  Mocks,
  Signals,
  Unguarded,
} from '../cli/chaos/types.ts'
export {
  type ChaosAgentOptions,
  type ChaosGraphOptions,
  type ChaosOptions,
  chaos,
  expectSafe,
} from './chaos/chaos.ts'
export { addFailpoints } from './failpoints.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export type { StoreUnderTest, TestApi } from './store/fixtures.ts'
export { storeSuite } from './store-suite.ts'
