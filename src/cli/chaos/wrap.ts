// Gives a graph's tools another upstream, and a boundary before and after each dispatch. All else
// is the user's own: nodes, schemas, classes, keys, timeouts.
import type { LiveCall } from '../../engine/attempt/attempt.ts'
import { errorFor, NotSentError, RefusedError } from '../../model/errors.ts'
import type { Call, Context, StepSpec } from '../../model/graph/context.ts'
import type { Graph, NodeFunction } from '../../model/graph/graph.ts'
import { canonical, sha256 } from '../../model/json/canonical.ts'
import type { CallInfo, Tool } from '../../model/tool/tool.ts'
import type { Counterfoil } from '../../open.ts'
import type { Hit } from './stage/points.ts'
import type { AgentInput, Ask, Reply } from './types.ts'
import { failureOf, unguarded } from './upstream.ts'

export interface Outside {
  readonly hit: Hit
  /** Asks the upstream. */
  ask(ask: Ask): Promise<Reply>
  /** A tool's own function begins; the returned function says how it ended. */
  begin(ask: Ask): Promise<(reply: Reply) => Promise<void>>
  isReal(tool: string, replayClass: string): boolean
  /** Whether the tool's mock has a probe. */
  hasProbe(tool: string): boolean
  readonly seed: number
}

type Run = (input: unknown, call: CallInfo) => unknown

export class Wrapper {
  private readonly outside: Outside
  private readonly known = new Map<Tool, Tool>()
  private readonly graphsByOriginal = new Map<Graph, Graph>()

  constructor(outside: Outside) {
    this.outside = outside
  }

  graphs(graphs: readonly Graph[]): Graph[] {
    return graphs.map((graph) => this.graph(graph))
  }

  graph(graph: Graph): Graph {
    const known = this.graphsByOriginal.get(graph)
    if (known) return known
    const made: Graph = {
      ...graph,
      tools: new Map([...graph.tools].map(([name, tool]) => [name, this.tool(tool)])),
      nodes: new Map([...graph.nodes].map(([name, node]) => [name, this.node(node)])),
    }
    this.graphsByOriginal.set(graph, made)
    return made
  }

  /** The same, as a foreign runtime sees it: its scopes call through here too. */
  counterfoil(cf: Counterfoil): Counterfoil {
    const scope: Counterfoil['scope'] = async (ids) => {
      const opened = await cf.scope(ids)
      const call: typeof opened.call = (tool, input, options) =>
        opened.call(this.tool(tool as Tool) as typeof tool, input, options)
      return Object.create(opened, { call: { value: call } })
    }
    return { ...cf, scope }
  }

  /** For what is not called through a Counterfoil: the same upstream, the same boundaries. */
  upstream(runId: string): AgentInput['upstream'] {
    const { hit, ask } = this.outside
    let count = 0
    return async (tool, input = null, { replayClass = null, idempotencyKey = null } = {}) => {
      await hit(`before ${tool}`)
      const of = { what: 'run', runId, node: '', tool, replayClass, attempt: 1 } as const
      const callId = `${unguarded}${tool}/${++count}`
      const sent = {
        ...of,
        attemptId: callId,
        callId,
        key: idempotencyKey,
        input,
        token: null,
        real: false,
      }
      const reply = await ask(sent)
      await hit(`after ${tool}`)
      return saidOf(reply)
    }
  }

  /** What is no tool is left to whoever refuses it. */
  private tool(tool: Tool): Tool {
    if (typeof tool?.rules !== 'object') return tool
    const known = this.known.get(tool)
    if (known) return known
    const { rules, replayClass, name } = tool
    const real = this.outside.isReal(name, replayClass)
    const own = real ? rules : { ...rules, rateLimit: null, heartbeatMs: null }
    const run = this.served(tool, rules.run)
    const probe = real ? rules.probe : this.probe(tool)
    const made = Object.create(tool, {
      rules: { value: Object.freeze({ ...own, run, probe }), enumerable: true },
    }) as Tool
    this.known.set(tool, made)
    return made
  }

  private node(node: NodeFunction): NodeFunction {
    return (state, ctx) => node(state, this.context(ctx as Context))
  }

  private context(ctx: Context): Context {
    const call: Context['call'] = (tool, input, options) =>
      ctx.call(this.tool(tool) as typeof tool, input, options)
    const step = (spec: StepSpec<unknown, unknown>, run: Run) => {
      const tool = toolOfStep(spec)
      return ctx.step(this.step(spec, tool), this.served(tool, run) as never)
    }
    const spawn = (graph: Graph, input: unknown) =>
      ctx.spawn(this.graphsByOriginal.get(graph) ?? graph, input as never)
    const random = this.random(ctx)
    return { ...ctx, call, step: step as Context['step'], spawn: spawn as Context['spawn'], random }
  }

  /** One coin for all runs: on its other side lies another way, which is not a crash's work. */
  private random({ runId, node, visit, random }: Context): Context['random'] {
    let count = 0
    return () => {
      const place = canonical([this.outside.seed, runId, node, visit, ++count])
      const issued = random()
      const value = issued.then(() => chanceOf(place))
      // As with any call: what nobody awaits may fail.
      value.catch(() => {})
      return Object.defineProperty(value, 'replayed', {
        get: () => issued.replayed,
      }) as unknown as Call<number>
    }
  }

  /** A step's rules as a tool's: its own probe would ask the real upstream. */
  private step(spec: StepSpec<unknown, unknown>, tool: Tool): StepSpec<unknown, unknown> {
    if (typeof spec !== 'object' || this.outside.isReal(tool.name, tool.replayClass)) return spec
    const { probe: _, rateLimit: __, heartbeatMs: ___, ...rest } = spec as AnyStep
    const probe = this.probe(tool)
    return { ...rest, ...(probe ? { probe } : {}) } as StepSpec<unknown, unknown>
  }

  /** A tool's function as it is here: a boundary, the upstream, a boundary. */
  private served(tool: Tool, original: Run): Run {
    const { outside } = this
    const { name, replayClass, rules } = tool
    const real = outside.isReal(name, replayClass)
    return async (input, call) => {
      await outside.hit(`before ${name}`)
      // Its upstream calls back with what the mock returns.
      const token = !real && rules.callbackMs !== null ? call.defer() : null
      const ask = { ...askOf(tool, input, call, 'run'), token, real }
      const reply = real
        ? await this.really(ask, () => original(input, call))
        : await outside.ask(ask)
      await outside.hit(`after ${name}`)
      return saidOf(reply)
    }
  }

  private async really(ask: Ask, run: () => unknown): Promise<Reply> {
    const ended = await this.outside.begin(ask)
    let reply: Reply
    try {
      reply = { ok: true, value: await run() }
    } catch (error) {
      reply = { ok: false, error: failureOf(error) }
    }
    await ended(reply)
    return reply
  }

  private probe(tool: Tool): Run | null {
    if (!this.outside.hasProbe(tool.name)) return null
    return async (input, call) => {
      const ask = askOf(tool, input, call, 'probe')
      return saidOf(await this.outside.ask({ ...ask, token: null, real: false }))
    }
  }
}

type AnyStep = StepSpec<unknown, unknown> & { rateLimit?: unknown; heartbeatMs?: unknown }

function toolOfStep(spec: StepSpec<unknown, unknown>): Tool {
  const { name, replayClass, callbackMs = null } = (spec ?? {}) as AnyStep & { callbackMs?: number }
  return { name, replayClass, rules: { callbackMs } } as Tool
}

/** A number from 0 up to 1, the same for the same place. */
function chanceOf(place: string): number {
  return Number.parseInt(sha256(place).slice(0, 13), 16) / 2 ** 52
}

function askOf(
  { name, replayClass }: Tool,
  input: unknown,
  call: CallInfo,
  what: Ask['what'],
): Omit<Ask, 'token' | 'real'> {
  const { runId, node, attempt, attemptId, idempotencyKey } = call
  const { place: callId } = call as LiveCall
  const of = { runId, node, tool: name, replayClass, attempt, attemptId, callId }
  return { what, ...of, key: idempotencyKey, input }
}

/** What the upstream said, as the tool's own function would have said it. */
function saidOf(reply: Reply): unknown {
  if (reply.ok) return reply.value
  const { name, message, code } = reply.error
  if (code === 'NOT_SENT') throw new NotSentError(message)
  if (code === 'REFUSED') throw new RefusedError(message)
  if (code === 'CHAOS_UPSTREAM_MISSING') throw errorFor(code, message)
  throw Object.assign(new Error(message), { name })
}
