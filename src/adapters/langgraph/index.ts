// The public names of `counterfoil/langgraph`, nothing else.
export type { Answer, Asked } from './answer.ts'
export { type AnsweredCall, callInfo, type GuardedCallInfo } from './call.ts'
export { type GuardableTool, type GuardOptions, guard } from './guard.ts'
export { type GuardedRules, guardNode, guardTask } from './node.ts'
export type { GuardRules } from './rules.ts'
export { CounterfoilSaver, type CounterfoilSaverOptions } from './saver.ts'
export type { Pruned } from './saver-prune.ts'
export { type Watch, type WatchedGraph, type WatchOptions, watch } from './watch.ts'
