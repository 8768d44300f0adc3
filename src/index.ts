// The public names, nothing else.
export type { BulkItem, BulkRequest, BulkResult } from './client/bulk.ts'
export type { CallbackStatus } from './client/callbacks.ts'
export type { Comment, ItemView } from './client/inbox.ts'
export type { PinRequest } from './client/pin.ts'
export type { Preview, PreviewAction, PreviewCall } from './client/preview.ts'
export type { FailedCall, Fate, RetryRequest } from './client/retry.ts'
export type { RunHandle, RunStatus } from './client/run.ts'
export type { PlacedCall, Scope, ScopeCallOptions } from './client/scope.ts'
export type { SentSignal, SignalOptions } from './client/signal.ts'
export type { Wish } from './client/stop.ts'
export type { Threads } from './client/threads.ts'
export type {
  ApprovalTerms,
  Escalation,
  Expiry,
  Queues,
  QueueTerms,
  Vote,
} from './model/approval.ts'
export type {
  Answer,
  Approval,
  ApprovalRequest,
  Call,
  CallOptions,
  Child,
  ChildEnd,
  Context,
  DecisionMessage,
  NodeContext,
  Question,
  ReceivedSignal,
  StepSpec,
} from './model/context.ts'
export type { DecideRequest } from './model/decisions/decide.ts'
export type { Dial } from './model/dial.ts'
export type { RunDocument } from './model/document.ts'
export {
  CallFailedError,
  CounterfoilError,
  isCounterfoilError,
  NotSentError,
  OutcomeUnknownError,
  RefusedError,
  ReplayUnsafeError,
  RunFailedError,
  ScopeHeldError,
  WithdrawnError,
} from './model/errors.ts'
export { type Graph, graph, type NodeEnd, type Patch, workflow } from './model/graph.ts'
export type { Attempt, CallRecord, Decision, Event, Item, Run } from './model/records.ts'
export type { RiskAnswer, RiskAsk, RiskCall, RiskPolicy } from './model/risk.ts'
export { type RiskRule, type RiskRules, type RiskWhen, riskPolicy } from './model/risk-policy.ts'
export type { RunState } from './model/run-state.ts'
export type { Frozen } from './model/schema.ts'
export {
  type Beat,
  type BlastRadius,
  type CallInfo,
  type LookInfo,
  type RateLimit,
  type ReplayClass,
  recordedKey,
  type Tool,
  tool,
  type Usage,
  type WhereToLook,
} from './model/tool.ts'
export { type Counterfoil, type OpenOptions, open } from './open.ts'
export type {
  OwnStore,
  Page,
  Seen,
  SpaceRef,
  StepFilter,
  Store,
  ThreadStep,
  ThreadWrite,
} from './store/store.ts'
export { asidePrefix, bodySum, isAside } from './store/thread-rules.ts'
export type {
  StopOptions,
  Stopped,
  Unfinished,
  Worker,
  WorkerOptions,
  WorkerStats,
} from './worker/worker.ts'
