// The public names, nothing else.
export type { ItemView } from './client/inbox.ts'
export type { RunHandle, RunStatus } from './client/run.ts'
export type { Answer, Call, Context, Question, StepSpec } from './model/context.ts'
export type { DecideRequest } from './model/decide.ts'
export {
  CallFailedError,
  CounterfoilError,
  isCounterfoilError,
  NotSentError,
  OutcomeUnknownError,
  RefusedError,
  ReplayUnsafeError,
  RunFailedError,
} from './model/errors.ts'
export { type Graph, workflow } from './model/graph.ts'
export type { Attempt, CallRecord, Decision, Event, Item, Run } from './model/records.ts'
export type { RunState } from './model/run-state.ts'
export {
  type CallInfo,
  type ReplayClass,
  recordedKey,
  type Tool,
  tool,
} from './model/tool.ts'
export { type Counterfoil, type OpenOptions, open } from './open.ts'
export type { Store } from './store/store.ts'
export type { Worker, WorkerOptions } from './worker/worker.ts'
