// chaos(): a graph is killed at its boundaries, resumed, and compared with an uninterrupted run.
import { runChaos } from '../../cli/chaos/chaos.ts'
import {
  type ChaosFileOptions,
  type ChaosSettings,
  chaosFile,
  settingsOf,
  upstreamMissing,
} from '../../cli/chaos/file.ts'
import { wrongMock } from '../../cli/chaos/module.ts'
import { checkOptions, rulesHere, wrong } from '../../cli/chaos/options.ts'
import type { ChaosReport } from '../../cli/chaos/report/report.ts'
import { plainFindings } from '../../cli/chaos/report/text.ts'
import type { Agent, Answers, Mocks, Signals } from '../../cli/chaos/types.ts'
import { errorFor } from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import type { RiskPolicy } from '../../model/tool/risk.ts'
import { type MemoryCast, MemoryStage } from './memory-stage.ts'

interface ChaosHere extends ChaosSettings {
  input?: unknown
  /** A function that makes them is called for every crash point: such mocks may remember. */
  mocks?: Mocks | (() => Mocks)
  answers?: Answers
  signals?: Signals
  gate?: RiskPolicy
  /** Tools whose own function is run; `pure` for all pure ones, `all` for all. */
  real?: readonly string[]
}

/** A graph of this process, on the memory store. */
export interface ChaosGraphOptions extends ChaosHere {
  // biome-ignore lint/suspicious/noExplicitAny: a graph of whatever input and output.
  graph: Graph<any, any>
  /** Others that it spawns. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  graphs?: readonly Graph<any, any>[]
}

/** An agent on another runtime, in this process: `cf` is on the memory store. */
export interface ChaosAgentOptions extends ChaosHere {
  agent: Agent
}

export type ChaosOptions = ChaosGraphOptions | ChaosAgentOptions | ChaosFileOptions

/**
 * With `graph` or `agent`: in this process, on the memory store, at every boundary unless `kills`
 * is given.
 * With `file`: in processes of their own, killed by SIGKILL, as `counterfoil chaos` does it.
 */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  if (typeof options !== 'object' || options === null) {
    throw wrong('its options are an object: chaos({ graph, mocks }), or chaos({ file })')
  }
  return isOfFile(options) ? chaosFile(options) : chaosHere(options)
}

function isOfFile(options: ChaosOptions): options is ChaosFileOptions {
  return (options as Partial<ChaosFileOptions>).file !== undefined
}

async function chaosHere(options: ChaosGraphOptions | ChaosAgentOptions): Promise<ChaosReport> {
  checkOptions(options, rulesHere)
  const { graph, agent, graphs } = subjectOf(options)
  const { real = [], mocks: given = {}, everyBoundary = options.kills === undefined } = options
  const makeMocks = typeof given === 'function' ? given : () => given
  const mocks = makeMocks()
  const bad = wrongMock(mocks)
  if (bad !== null) throw wrong(`mocks: ${bad} is not a function of (input, call)`)
  const isReal = (tool: string, replayClass: string | null) =>
    real.includes(tool) || real.includes('all') || (replayClass === 'pure' && real.includes('pure'))
  const missing = [...(graph?.tools.values() ?? [])]
    .filter(({ name, replayClass }) => !Object.hasOwn(mocks, name) && !isReal(name, replayClass))
    .map(({ name }) => name)
  if (missing.length > 0) throw upstreamMissing(missing, Object.keys(mocks))
  const settings = settingsOf({ ...options, everyBoundary })
  const cast: MemoryCast = {
    graph,
    agent,
    graphs,
    mocks,
    isReal,
    input: options.input ?? null,
    timeoutMs: settings.timeoutMs,
    answers: options.answers ?? {},
    signals: options.signals ?? {},
    gate: options.gate ?? null,
    seed: settings.seed,
  }
  return runChaos({
    ...settings,
    subject: graph?.id ?? agent?.name ?? '',
    store: 'memory',
    notes: [],
    recordedEnd: null,
    mocks: Object.keys(mocks),
    isAgent: agent !== null,
    real,
    declared: graphs.flatMap(({ tools }) => [...tools.keys()]),
    upstreamOf: (tool, replayClass) => (isReal(tool, replayClass) ? 'real' : 'mock'),
    open: async () => new MemoryStage({ ...cast, mocks: makeMocks() }),
  })
}

function subjectOf(options: ChaosGraphOptions | ChaosAgentOptions) {
  if ('agent' in options) {
    const { agent } = options
    if (typeof agent === 'function' && !('graph' in options)) {
      return { agent, graph: null, graphs: [] }
    }
    throw wrong('`agent` is a function, async (cf, { input, runId }) => …, and there is no `graph`')
  }
  const { graph, graphs = [] } = options
  if (graph?.nodes instanceof Map) return { graph, agent: null, graphs: [graph, ...graphs] }
  throw wrong('`graph` must be made by workflow() or graph()')
}

/** Throws with everything that was found, if anything was. */
export function expectSafe(report: ChaosReport): void {
  if (report.ok) return
  const found = plainFindings(report)
  const more = found.length > 10 ? [`and ${found.length - 10} more`] : []
  const lines = [...found.slice(0, 10), ...more].map((line) => `\n  ${line}`)
  throw errorFor('CHAOS_FOUND', `${report.subject} is not safe:${lines.join('')}`, {
    findings: found,
  })
}
