// An agent of the AI SDK, made replay-safe: its model's replies and its tool calls go through the
// ledger, in a node of ours or in a scope of any other process.
import type { Context, Counterfoil, Scope, Tool } from '../../index.ts'
import { isCounterfoilError } from '../../model/errors.ts'
import { checkName } from '../../model/name.ts'
import { type CallInfo, makeTool } from '../../model/tool/tool.ts'
import type { OutcomeData } from './chat/data.ts'
import { lookBack, replacedOutcomes } from './chat/earlier.ts'
import { goesOnFrom } from './chat/goes-on.ts'
import {
  agentInvalid,
  anyInput,
  checkClasses,
  executes,
  ledgerTool,
  modelClass,
  type ProviderToolClass,
  type ToolClass,
} from './classes.ts'
import { nodeHost, openPlace, scopeHost } from './host.ts'
import { type Asking, type ModelLike, type ModelRules, recordModel } from './model.ts'
import {
  type ChatRequest,
  Past,
  type PlainIds,
  type TurnIds,
  turnIdsOf,
  type UiMessage,
} from './past.ts'
import { envelopeSchema, usageOf } from './reply.ts'
import { type AiTool, guardTool, type ToolReport, type ToolRules } from './tools.ts'
import { Turn } from './turn.ts'

/** Models think for minutes; the default of a tool would cut them off. */
const modelTimeoutMs = 10 * 60_000
/** Longer than a lease: whoever died elsewhere is found out within it. */
export const heldMs = 20_000
const heldAgainMs = 250

type Tools = Readonly<Record<string, object>>

type Told<T> = [T] extends [never] ? unknown : T
// A tool's type is a union of one with `execute` and one without.
type Execute<T> = T extends { execute?: infer F } ? Exclude<F, undefined> : never
type TakenBy<F> = F extends (input: infer In, options: never) => unknown ? In : never
type GivenBy<F> = F extends (input: never, options: never) => infer Out ? Settled<Out> : never
type Settled<Out> = Out extends AsyncIterable<infer Each> ? Each : Awaited<Out>
type In<T> = Told<TakenBy<Execute<T>>>
type Out<T> = Told<GivenBy<Execute<T>>>

export interface AgentSpec<M extends ModelLike, T extends Tools> {
  model: M
  tools?: T
  /** What a second call of each tool would do. */
  classes?: {
    readonly [K in keyof T]?: ToolClass<In<T[K]>, Out<T[K]>> | ProviderToolClass
  }
  /** What the model's calls are called in the ledger: `model`, unless another agent has that. */
  name?: string
  /** How long a reply may take: ten minutes, unless told. */
  modelTimeoutMs?: number
  /** Told of every tool call that was answered, fresh or replayed. */
  onCall?: (report: ToolReport) => void
}

/** What `generateText`, `streamText` or an agent of the AI SDK is given. */
export interface Bound<M, T> {
  readonly model: M
  readonly tools: T
  /** Another model of the same agent, recorded like the first. */
  record<N extends ModelLike>(model: N): N
}

/** An agent at work in a scope of its own. */
export interface OpenTurn<M, T> extends Bound<M, T> {
  /** Why it was stopped: a doubt has its `itemId`. Null if it was not. */
  readonly error: Error | null
  /** Ids of the tool calls that have no answer, because it was stopped. */
  readonly unanswered: ReadonlySet<string>
  /**
   * Those that it was opened with, as the model is to be given them: with what is known of calls
   * that earlier turns have left open, and as far as the last answer is whole.
   */
  readonly messages: readonly UiMessage[]
  /** What the client does not know yet of calls of earlier turns, and of a replaced answer. */
  readonly outcomes: readonly OutcomeData[]
  /** Some calls of the last reply wait for an approval: the model is not to be asked yet. */
  readonly waits: boolean
  /** Whether the client shows the words of the reply that is read back first, and it is. */
  readonly shown: boolean
  /** Waits for what is under way, and gives the hold back. */
  close(): Promise<void>
}

export interface OpenTurnOptions {
  /** All messages of the chat, as `useChat` sends them. */
  messages?: readonly UiMessage[]
  /** Whoever waits for the turn has gone. */
  signal?: AbortSignal
  /** How long to wait for whoever has the conversation: 20 seconds, unless told. */
  waitMs?: number
}

export interface GuardedAgent<M extends ModelLike, T extends Tools> {
  /** What the model's calls are called in the ledger. */
  readonly name: string
  /** For `tools` of the graph or workflow whose nodes the agent runs in. */
  readonly declared: readonly Tool[]
  /** In a node: `const { model, tools } = agent.at(ctx)`. A doubt parks the run, as any other. */
  at(ctx: Pick<Context, 'call'>): Bound<M, T>
  /**
   * In any process. Rejects with a ReplayUnsafeError where a person has to decide; after that the
   * same ids again read back what was done, and go on.
   */
  run<R>(cf: Counterfoil, ids: TurnIds, work: (agent: Bound<M, T>) => Promise<R>): Promise<R>
  /**
   * Which turn of a chat a request of `useChat` is about: the ids for `run` and `open`. The same
   * for every request of an unfinished turn, whatever its trigger.
   */
  turn(cf: Counterfoil, request: ChatRequest): Promise<TurnIds>
  /** The same for work that outlives the function that begins it, such as a stream. Close it. */
  open(cf: Counterfoil, ids: TurnIds, options?: OpenTurnOptions): Promise<OpenTurn<M, T>>
}

/** Makes the calls of an agent replay-safe. */
export function guardAgent<M extends ModelLike, T extends Tools = Record<never, never>>(
  spec: AgentSpec<M, T>,
): GuardedAgent<M, T> {
  const { model, name = 'model', onCall = () => {} } = spec
  const given = (spec.tools ?? {}) as Readonly<Record<string, AiTool>>
  const classes = (spec.classes ?? {}) as Parameters<typeof checkClasses>[1]
  checkModel(model)
  if (Object.hasOwn(given, name)) {
    throw agentInvalid(`a tool is called ${name}, as the model: give the model another \`name\``)
  }
  checkClasses(given, classes)
  const rules = Object.entries(given)
    .filter(([, ai]) => executes(ai))
    .map(([key, ai]): ToolRules => {
      const said = classes[key] ?? { replayClass: undefined }
      const tool = ledgerTool(key, ai, said)
      const collapses = tool.replayClass === 'unsafe_on_replay' && said.allowIdentical !== true
      return { name: key, ai, tool, collapses, onCall }
    })
  const asked = modelRules(name, modelClass(given, classes), spec, new Set(Object.keys(given)))
  const bind = (turn: Turn): Bound<M, T> => ({
    model: recordModel(turn, model, asked),
    tools: { ...given, ...guarded(turn, rules) } as unknown as T,
    record: (other) => recordModel(turn, checkModel(other), asked),
  })
  const byName = new Map(rules.map(({ name: key, tool }) => [key, tool]))
  const open = async (cf: Counterfoil, ids: TurnIds, options: OpenTurnOptions = {}) => {
    const { generation = 0, nodeId = 'agent', ...where } = ids
    const plain = { ...where, nodeId }
    let scope = await openScope(cf, plain, options)
    const anew = async () => {
      await scope.close()
      scope = await openPlace(cf, plain)
    }
    try {
      const at = { cf, ids: plain, model: name, tools: byName, anew }
      const earlier = await lookBack(options.messages ?? [], at)
      const past = await Past.load(cf, plain, name)
      const goesOn = goesOnFrom(earlier.messages, past, generation)
      const { approved } = goesOn
      const turn = new Turn(scopeHost(scope), { generation, past, approved, earlier })
      const replaced = replacedOutcomes(earlier.messages, past, generation)
      const outcomes = [...earlier.outcomes, ...replaced]
      return openTurn(turn, scope, { ...bind(turn), ...goesOn, outcomes })
    } catch (error) {
      await scope.close()
      throw error
    }
  }
  return {
    name,
    declared: [asked.tool, ...rules.map(({ tool }) => tool)],
    at: (ctx) => bind(new Turn(nodeHost(ctx))),
    open,
    turn: async (cf, request) => {
      const ids = turnIdsOf(request)
      const { generation, finished } = await Past.load(cf, ids, name)
      const anew = finished && request.trigger === 'regenerate-message'
      return { ...ids, generation: anew ? generation + 1 : generation }
    },
    run: async (cf, ids, work) => runIn(await open(cf, ids), work),
  }
}

type Opened<M, T> = Bound<M, T> & Pick<OpenTurn<M, T>, 'messages' | 'outcomes' | 'waits' | 'shown'>

function openTurn<M, T>(turn: Turn, scope: Scope, opened: Opened<M, T>): OpenTurn<M, T> {
  const { model, tools, record, messages, outcomes, waits, shown } = opened
  return {
    model,
    tools,
    record,
    messages,
    outcomes,
    waits,
    unanswered: turn.unanswered,
    get error() {
      return turn.error
    },
    get shown() {
      return shown && !turn.fresh
    },
    close: () => scope.close(),
  }
}

/** Whatever the agent made of it: work that was stopped has not ended. */
async function runIn<M, T, R>(
  turn: OpenTurn<M, T>,
  work: (agent: Bound<M, T>) => Promise<R>,
): Promise<R> {
  const { model, tools, record } = turn
  try {
    const result = await work({ model, tools, record })
    if (turn.error) throw turn.error
    return result
  } catch (error) {
    throw turn.error ?? error
  } finally {
    await turn.close()
  }
}

function guarded(turn: Turn, rules: readonly ToolRules[]): Record<string, AiTool> {
  return Object.fromEntries(rules.map((each) => [each.name, guardTool(turn, each)]))
}

function modelRules(
  name: string,
  replayClass: 'pure' | 'unsafe_on_replay',
  spec: { modelTimeoutMs?: number },
  known: ReadonlySet<string>,
): ModelRules {
  const tool = makeTool(checkName('tool', name), {
    replayClass,
    input: anyInput(null),
    output: envelopeSchema,
    timeoutMs: spec.modelTimeoutMs ?? modelTimeoutMs,
    // The AI SDK tries again by itself (`maxRetries`), and only it knows what is worth it.
    retry: { attemptMax: 1 },
    usage: usageOf,
    beat: 'reason',
    run: async (_: unknown, { live, abortSignal }: CallInfo) => {
      if (live) return (live as Asking).ask(abortSignal)
      throw agentInvalid(`${name} is the model's own: an agent calls it, no node does`)
    },
  })
  return { tool, known }
}

function checkModel<M extends ModelLike>(model: M): M {
  const { doGenerate, doStream } = model ?? {}
  if (typeof doGenerate === 'function' && typeof doStream === 'function') return model
  throw agentInvalid(
    `\`model\` is ${JSON.stringify(model)}: give it as an object, such as ` +
      "gateway('…') or openai('…')",
  )
}

/** Somebody may hold it who is about to end, or has died elsewhere a moment ago. */
async function openScope(
  cf: Counterfoil,
  ids: PlainIds,
  { signal, waitMs = heldMs }: OpenTurnOptions,
): Promise<Scope> {
  const { clock } = cf.store
  const giveUpAt = clock.mono() + waitMs
  for (;;) {
    try {
      return await openPlace(cf, ids)
    } catch (error) {
      const late = clock.mono() > giveUpAt || signal?.aborted === true
      if (!isCounterfoilError(error, 'SCOPE_HELD') || late) throw error
      await new Promise<void>((resolve) => {
        clock.after(heldAgainMs, resolve)
      })
    }
  }
}
