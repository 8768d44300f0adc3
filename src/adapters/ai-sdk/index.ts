// The public names of `counterfoil/ai-sdk`, nothing else.
export type { CounterfoilData, DoubtData, OutcomeData } from './chat/data.ts'
export { type ChatRoute, chatRoute, type Reply, type Streams } from './chat/route.ts'
export type { ProviderToolClass, ToolClass } from './classes.ts'
export {
  type AgentSpec,
  type Bound,
  type GuardedAgent,
  guardAgent,
  type OpenTurn,
  type OpenTurnOptions,
} from './guard.ts'
export type { ModelLike } from './model.ts'
export type { ChatRequest, TurnIds, UiMessage } from './past.ts'
export { callInfo, type ToolReport } from './tools.ts'
