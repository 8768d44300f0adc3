// The public names of `counterfoil/ai-sdk`, nothing else.
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
export {
  type ChatRoute,
  type CounterfoilData,
  chatRoute,
  type DoubtData,
  type Reply,
  type Streams,
} from './route.ts'
export { callInfo, type ToolReport } from './tools.ts'
