// The public names, nothing else.

export type { CallbackStatus } from './client/callbacks.ts'
export type { BulkItem, BulkRequest, BulkResult } from './client/inbox/bulk.ts'
export type { Comment, ItemView } from './client/inbox/inbox.ts'
export type { PinRequest } from './client/run/pin.ts'
export type { Preview, PreviewAction, PreviewCall } from './client/run/preview.ts'
export type { FailedCall, Fate, RetryRequest } from './client/run/retry.ts'
export type { RunHandle, RunStatus } from './client/run/run.ts'
export type { SentSignal, SignalOptions } from './client/run/signal.ts'
export type { Wish } from './client/run/stop.ts'
export type { PlacedCall, Scope, ScopeCallOptions } from './client/scope.ts'
export type { Threads } from './client/threads.ts'
export type {
  ApprovalTerms,
  Escalation,
  Expiry,
  Queues,
  QueueTerms,
  Vote,
} from './model/decisions/approval.ts'
export type { DecideRequest } from './model/decisions/decide.ts'
export { CounterfoilError, isCounterfoilError } from './model/errors/public.ts'
export {
  CallFailedError,
  NotSentError,
  OutcomeUnknownError,
  RefusedError,
  ReplayUnsafeError,
  RunFailedError,
  ScopeHeldError,
  WithdrawnError,
} from './model/errors.ts'
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
} from './model/graph/context.ts'
export type { Dial } from './model/graph/dial.ts'
export { type Graph, graph, type NodeEnd, type Patch, workflow } from './model/graph/graph.ts'
export type { RunDocument } from './model/run/document.ts'
export type { Attempt, CallRecord, Decision, Event, Item, Run } from './model/run/records.ts'
export type { RunState } from './model/run/states.ts'
export type { RiskAnswer, RiskAsk, RiskCall, RiskPolicy } from './model/tool/risk.ts'
export {
  type RiskRule,
  type RiskRules,
  type RiskWhen,
  riskPolicy,
} from './model/tool/risk-policy.ts'
export type { Frozen } from './model/tool/schema.ts'
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
} from './model/tool/tool.ts'
export { type Counterfoil, type OpenOptions, open } from './open.ts'
export { asidePrefix, bodySum, isAside } from './store/rules/threads.ts'
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
export type {
  StopOptions,
  Stopped,
  Unfinished,
  Worker,
  WorkerOptions,
  WorkerStats,
} from './worker/worker.ts'
