// The code that a fleet carries: a workflow and a graph that do what their input says, step by
// step, and tell the watch what they were given.
import type { LiveCall } from '../../../src/engine/attempt/attempt.ts'
import { isCounterfoilError } from '../../../src/model/errors.ts'
import type { Context } from '../../../src/model/graph/context.ts'
import { type Graph, graph, workflow } from '../../../src/model/graph/graph.ts'
import type { Schema } from '../../../src/model/tool/schema.ts'
import { type CallInfo, type Tool, tool } from '../../../src/model/tool/tool.ts'
import type { CallClass, Step } from './plan.ts'
import { hashOf, type Owner } from './schedule.ts'
import type { Observed, Watch } from './watch.ts'
import {
  callbackMs,
  quietMs,
  type SimInput,
  type SimResult,
  timeoutMs,
  type World,
} from './world.ts'

const anything: Schema = {
  '~standard': { version: 1, vendor: 'sim', validate: (value) => ({ value }) },
}

interface FlowInput {
  readonly steps: readonly Step[]
}

interface GraphState {
  readonly parts: readonly (readonly Step[])[]
  readonly local: string
}

/** What the code of one process needs to know of the rest. */
export interface Surroundings {
  readonly world: World
  readonly watch: Watch
  readonly process: Owner
}

/** A place where calls are made: a node of ours, or a scope. */
interface Place {
  readonly runId: string
  readonly visit: number
  readonly observed: Observed[]
  call(tool: Tool, input: SimInput): Promise<unknown>
  readonly ctx: Context | null
}

export class Code {
  readonly graphs: readonly Graph[]
  private readonly around: Surroundings
  private readonly tools: ReadonlyMap<CallClass, Tool>
  private readonly flow: Graph
  /** What had been seen when a call was issued, by what is asked for. */
  private readonly seen = new Map<string, readonly Observed[]>()

  constructor(around: Surroundings) {
    this.around = around
    const classes = ['pure', 'keyed', 'unsafe', 'probed', 'deferred'] as const
    this.tools = new Map(classes.map((cls) => [cls, this.toolOf(cls)]))
    this.flow = this.workflow()
    this.graphs = [this.flow, this.graph()]
  }

  /** Called by the world when an attempt is sent. */
  seenBefore(runId: string, input: SimInput): readonly Observed[] {
    return this.seen.get(`${runId}/${input.site}/${input.v}`) ?? []
  }

  async run(place: Place, steps: readonly Step[], before: string): Promise<string> {
    let local = before
    for (const step of steps) local = await this.step(place, step, local)
    return local
  }

  private async step(place: Place, step: Step, local: string): Promise<string> {
    const { ctx } = place
    if (step.op === 'call') return this.call(place, step, local)
    if (ctx === null) return local
    switch (step.op) {
      case 'all': {
        const ends = await Promise.all(step.branches.map((each) => this.run(place, each, local)))
        return mixed(...ends)
      }
      case 'sleep':
        await ctx.sleep(step.ms)
        return local
      case 'signal': {
        const { timeoutMs: ms } = step
        const got = await ctx.signal(step.name, ms === null ? {} : { timeoutMs: ms })
        if (got) this.observe(place, got.id)
        return mixed(local, got?.id ?? 'none')
      }
      case 'approve': {
        const { approved } = await ctx.approval({ title: step.site, data: local })
        return mixed(local, String(approved))
      }
      case 'spawn':
        return mixed(local, await this.spawn(ctx, step))
    }
  }

  private async spawn(ctx: Context, step: Step & { op: 'spawn' }): Promise<string> {
    const { steps, deadlineMs, cancels } = step
    const child = ctx.spawn(this.flow as Graph<FlowInput, string>, { steps })
    const late = deadlineMs === null ? [] : [ctx.sleep(deadlineMs).then(() => null)]
    const end = await Promise.race([child, ...late])
    if (end === null && cancels) await child.cancel(`not within ${deadlineMs} ms`)
    if (end === null) return 'late'
    return end.state === 'completed' ? end.output : end.state
  }

  private async call(place: Place, step: Step & { op: 'call' }, local: string): Promise<string> {
    const { watch } = this.around
    const input = { site: step.site, v: local }
    this.seen.set(`${place.runId}/${input.site}/${input.v}`, [...place.observed])
    try {
      const result = (await place.call(this.tools.get(step.cls) as Tool, input)) as SimResult
      if (result.site !== step.site) {
        watch.notes.push(`WRONG RESULT: ${result.effect} of ${result.site} for ${step.site}`)
      }
      this.observe(place, result.effect)
      return mixed(local, result.effect)
    } catch (error) {
      if (!isCounterfoilError(error, 'CALL_FAILED')) throw error
      return mixed(local, 'failed')
    }
  }

  private observe(place: Place, token: string): void {
    place.observed.push({ token, visit: place.visit })
  }

  private workflow(): Graph {
    return workflow({
      id: 'flow@1.0.0',
      input: anything,
      tools: [...this.tools.values()],
      run: async (input, ctx) => this.run(this.placeOf(ctx), (input as FlowInput).steps, 'in'),
    }) as Graph
  }

  /** One node, again and again: each visit does a part, under another dial than its neighbour. */
  private graph(): Graph {
    const node = async (state: GraphState, ctx: Context, other: string) => {
      const [part = [], ...parts] = state.parts
      const local = await this.run(this.placeOf(ctx), part, state.local)
      return parts.length === 0 ? doneWith(ctx, local) : goTo(ctx, other, { parts, local })
    }
    return graph({
      id: 'graph@1.0.0',
      state: anything,
      tools: [...this.tools.values()],
      start: 'a',
      nodes: {
        a: { run: (state, ctx) => node(state as GraphState, ctx, 'b') },
        b: {
          run: (state, ctx) => node(state as GraphState, ctx, 'a'),
          checkpoint: 'before_effects',
        },
      },
    }) as Graph
  }

  private placeOf(ctx: Context): Place {
    const { watch, process } = this.around
    const { runId, visit } = ctx
    const call = (which: Tool, input: SimInput) => ctx.call(which as never, input as never)
    return { runId, visit, observed: watch.begin(process, runId, visit), call, ctx }
  }

  private toolOf(cls: CallClass): Tool {
    const { world, process } = this.around
    const run = (input: unknown, call: CallInfo) =>
      world.serve(cls, input as SimInput, call, process)
    const common = { name: cls, input: anything, run, timeoutMs }
    if (cls === 'pure') return tool({ ...common, replayClass: 'pure' }) as Tool
    if (cls === 'keyed') {
      const idempotencyKey = (input: unknown, { occurrence }: { occurrence: number }) =>
        `${(input as SimInput).site}/${(input as SimInput).v}/${occurrence}`
      const keyTtlMs = Number.POSITIVE_INFINITY
      const replayClass = 'idempotent_with_key'
      return tool({ ...common, replayClass, idempotencyKey, keyTtlMs, quietMs }) as Tool
    }
    const unsafe = { ...common, replayClass: 'unsafe_on_replay', quietMs } as const
    if (cls === 'deferred') return tool({ ...unsafe, callbackMs }) as Tool
    if (cls === 'unsafe') return tool(unsafe) as Tool
    const probe = async (_: unknown, call: CallInfo) => {
      const result = world.landed(call.runId, attemptsUpTo(call))
      return result ? ({ landed: 'yes', result } as const) : ({ landed: 'no' } as const)
    }
    return tool({ ...unsafe, probe }) as Tool
  }
}

/** The ids of this attempt and of those before it. */
function attemptsUpTo(call: CallInfo): string[] {
  const { place } = call as LiveCall
  return Array.from({ length: call.attempt }, (_, i) => `${place}/${i + 1}`)
}

function mixed(...parts: readonly string[]): string {
  return hashOf(parts.join('/')).toString(36)
}

function goTo(ctx: Context, node: string, patch: Record<string, unknown>) {
  return (ctx as unknown as { go(node: string, patch: object): never }).go(node, patch)
}

function doneWith(ctx: Context, output: unknown) {
  return (ctx as unknown as { done(output: unknown): never }).done(output)
}
