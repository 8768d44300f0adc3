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
import type { ChaosReport } from '../../cli/chaos/report.ts'
import { plainFindings } from '../../cli/chaos/text.ts'
import type { Answers, Mocks, Signals } from '../../cli/chaos/types.ts'
import { CounterfoilError } from '../../model/errors.ts'
import type { Graph } from '../../model/graph.ts'
import type { RiskPolicy } from '../../model/risk.ts'
import { type MemoryCast, MemoryStage } from './memory-stage.ts'

/** A graph of this process, on the memory store. */
export interface ChaosGraphOptions extends ChaosSettings {
  // biome-ignore lint/suspicious/noExplicitAny: a graph of whatever input and output.
  graph: Graph<any, any>
  /** Others that it spawns. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  graphs?: readonly Graph<any, any>[]
  input?: unknown
  mocks?: Mocks
  answers?: Answers
  signals?: Signals
  gate?: RiskPolicy
  /** Tools whose own function is run; `pure` for all pure ones, `all` for all. */
  real?: readonly string[]
}

export type ChaosOptions = ChaosGraphOptions | ChaosFileOptions

const known = [
  ...['kills', 'everyBoundary', 'pairs', 'seed', 'ignore', 'timeoutMs', 'concurrency', 'real'],
  ...['onProgress', 'graph', 'input', 'graphs', 'mocks', 'answers', 'signals', 'gate'],
]
const knownOfFile = ['file', 'store', 'from', 'namespace', 'onSession']

/**
 * With `graph`: in this process, on the memory store, at every boundary unless `kills` is given.
 * With `file`: in processes of their own, killed by SIGKILL, as `counterfoil chaos` does it.
 */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const ofFile = 'file' in (options ?? {})
  const names = ofFile ? [...known, ...knownOfFile] : known
  const strange = Object.keys(options ?? {}).find((key) => !names.includes(key))
  if (strange !== undefined) {
    throw wrong(`there is no option \`${strange}\`; the options are ${names.join(', ')}`)
  }
  return 'file' in options ? chaosFile(options) : chaosGraph(options)
}

async function chaosGraph(options: ChaosGraphOptions): Promise<ChaosReport> {
  const { graph, real = [], mocks = {}, everyBoundary = options.kills === undefined } = options
  if (!(graph?.nodes instanceof Map)) throw wrong('`graph` must be made by workflow() or graph()')
  const bad = wrongMock(mocks)
  if (bad !== null) throw wrong(`mocks: ${bad} is no function of (input, call)`)
  const isReal = (tool: string, replayClass: string) =>
    real.includes(tool) || real.includes('all') || (replayClass === 'pure' && real.includes('pure'))
  const missing = [...graph.tools.values()]
    .filter(({ name, replayClass }) => !(name in mocks) && !isReal(name, replayClass))
    .map(({ name }) => name)
  if (missing.length > 0) throw upstreamMissing(missing, Object.keys(mocks))
  const settings = settingsOf({ ...options, everyBoundary })
  const cast: MemoryCast = {
    ...{ graph, graphs: [graph, ...(options.graphs ?? [])], mocks, isReal },
    ...{ input: options.input ?? null, timeoutMs: settings.timeoutMs },
    ...{ answers: options.answers ?? {}, signals: options.signals ?? {} },
    gate: options.gate ?? null,
  }
  return runChaos({
    ...{ ...settings, subject: graph.id, store: 'memory', notes: [] },
    upstreamOf: (tool, replayClass) => (isReal(tool, replayClass) ? 'real' : 'mock'),
    open: async () => new MemoryStage(cast),
  })
}

/** Throws with everything that was found, if anything was. */
export function expectSafe(report: ChaosReport): void {
  if (report.ok) return
  const found = plainFindings(report)
  const more = found.length > 10 ? [`and ${found.length - 10} more`] : []
  const lines = [...found.slice(0, 10), ...more].map((line) => `\n  ${line}`)
  throw new CounterfoilError('CHAOS_FOUND', `${report.subject} is not safe:${lines.join('')}`, {
    details: { findings: found },
  })
}

function wrong(what: string): CounterfoilError {
  return new CounterfoilError('CHAOS_OPTIONS', `chaos: ${what}`)
}
