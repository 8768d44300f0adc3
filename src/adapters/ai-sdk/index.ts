// The public names of `counterfoil/ai-sdk`, nothing else.
export type { ProviderToolClass, ToolClass } from './classes.ts'
export {
  type AgentSpec,
  type Bound,
  type GuardedAgent,
  guardAgent,
  type OpenTurn,
  type TurnIds,
} from './guard.ts'
export type { ModelLike } from './model.ts'
export { callInfo, type ToolReport } from './tools.ts'
