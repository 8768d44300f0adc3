// Chaos for what a file exports, in real processes: for the command line, and `chaos({ file })`.

import { mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { randomHex } from '../../clock.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { open } from '../../open.ts'
import { isPostgresUrl } from '../../store/postgres/opening/location.ts'
import { checkStoreFile } from '../store-file.ts'
import { runChaos } from './chaos.ts'
import { killsDefault, timeoutMsDefault } from './defaults.ts'
import type { UpstreamKind } from './judge/judge.ts'
import { checkOptions, rulesOfFile } from './options.ts'
import type { Plan } from './plan.ts'
import type { ChaosReport } from './report/report.ts'
import { Session } from './session.ts'
import { type Cast, ProcessStage } from './stage/process-stage.ts'
import { type Recording, readRecording } from './stage/recording.ts'
import type { ChaosEnd, Facts, GraphFacts } from './types.ts'
import { UpstreamProcess } from './upstream-process.ts'

/** What can be said of every kind of chaos. */
export interface ChaosSettings {
  /** How many crash points, chosen by `seed`; 50, or all if there are fewer. */
  kills?: number
  /** Every boundary is a crash point. */
  everyBoundary?: boolean
  /** A second death while the first is recovered from. */
  pairs?: boolean
  seed?: number
  /** Paths of the end that are not compared: `output.at`, `state.items.*.id`. */
  ignore?: readonly string[]
  /** How it ends without a crash: `completed`, unless it is meant to fail. */
  ends?: ChaosEnd
  /** How long one run may take, with its resumes. */
  timeoutMs?: number
  /** Crash points at once. */
  concurrency?: number
  onProgress?: (text: string) => void
}

export interface ChaosFileOptions extends ChaosSettings {
  /** Exports graphs or an `agent`, and `mocks`, `input`, `answers`, `signals`, `effects`. */
  file: string
  /** Name or id; needed if there are several. */
  graph?: string
  input?: unknown
  /** `postgres://…`: in schemas of its own, which are dropped; SQLite files, unless given. */
  store?: string
  /** The store and the run whose recorded results are the upstream's answers. */
  from?: { store: string; run: string; blobDir?: string }
  namespace?: string
  /** Tools whose own function is run; `pure` for all pure ones, `all` for all. */
  real?: readonly string[]
  /** Given the session's end, so that an interrupt can leave nothing behind. */
  onSession?: (end: () => Promise<void>) => void
}

const lanesMax = 4

export async function chaosFile(options: ChaosFileOptions): Promise<ChaosReport> {
  checkOptions(options, rulesOfFile)
  const { store, from, namespace = 'default', real = [] } = options
  if (store !== undefined && !isPostgresUrl(store)) {
    const message = '`store` is a postgres:// URL, or left out: SQLite files are made and removed'
    throw errorFor('CHAOS_OPTIONS', message)
  }
  const settings = settingsOf(options)
  const recording = from ? await readFrom(from, namespace, settings.ends) : null
  const session = new Session(store ?? null)
  options.onSession?.(() => session.close())
  try {
    const file = resolve(options.file)
    const { timeoutMs, seed } = settings
    const facts = await factsOf(session, file, timeoutMs)
    const graph = chosenGraph(facts, options.graph ?? recording?.graph)
    const upstreamOf = upstreams(facts, real)
    checkUpstreams(facts, graph, upstreamOf, recording)
    const cast: Cast = {
      session,
      file,
      namespace,
      real,
      recording,
      timeoutMs,
      seed,
      graph: graph?.id ?? null,
      input: inputOf(options, facts, recording),
      key: store === undefined ? null : (process.env['COUNTERFOIL_KEY'] ?? randomHex(32)),
    }
    return await runChaos({
      ...settings,
      // A sandbox counts for all who use it: two crash points at once would be taken for one.
      concurrency: countsThere(facts, real) ? 1 : settings.concurrency,
      subject: graph?.id ?? options.file,
      store: store ? 'postgres' : 'sqlite',
      upstreamOf,
      open: opener(cast),
      notes: notesOf(facts, real),
      // Another input may well come to another end.
      recordedEnd: options.input === undefined ? (recording?.end ?? null) : null,
      mocks: facts.mocks,
      isAgent: graph === null,
      real,
      declared: facts.graphs.flatMap(({ tools }) => tools.map(({ name }) => name)),
    })
  } finally {
    await session.close()
  }
}

type Common = Exclude<keyof ChaosSettings, 'everyBoundary'>

export function settingsOf(options: ChaosSettings): Pick<Plan, Common> {
  const { onProgress, everyBoundary = false, pairs = false, ignore = [] } = options
  const { ends = 'completed' } = options
  const { kills = killsDefault, seed = 1, timeoutMs = timeoutMsDefault } = options
  const { concurrency = Math.min(lanesMax, availableParallelism()) } = options
  return {
    seed,
    pairs,
    ignore,
    timeoutMs,
    concurrency,
    kills: everyBoundary ? null : kills,
    ends,
    ...(onProgress ? { onProgress } : {}),
  }
}

async function readFrom(
  { store, run, blobDir }: NonNullable<ChaosFileOptions['from']>,
  namespace: string,
  ends: ChaosEnd,
): Promise<Recording> {
  checkStoreFile(store, 'Name the store of the recorded run with --from sqlite:<file>')
  const blobs = blobDir === undefined ? {} : { blobDir }
  const cf = await open({ store, namespace, graphs: [], onWarning: () => {}, ...blobs })
  try {
    return await readRecording(cf, namespace, run, ends)
  } finally {
    await cf.close()
  }
}

async function factsOf(session: Session, file: string, timeoutMs: number): Promise<Facts> {
  const dir = join(session.dir, 'facts')
  mkdirSync(dir)
  const server = await UpstreamProcess.start({ session, file, recording: null, timeoutMs }, dir)
  await server.end()
  return server.facts
}

/** Null for the file's agent. */
function chosenGraph({ graphs, agent }: Facts, wanted: string | undefined): GraphFacts | null {
  const ids = graphs.map(({ id }) => id).join(', ') || 'none'
  if (wanted === undefined) {
    if (agent) return null
    const [only] = graphs
    if (only && graphs.length === 1) return only
    throw errorFor(
      'GRAPH_UNKNOWN',
      null,
      'was named, and the file has several',
      `choose one: ${ids}`,
    )
  }
  const found = graphs.filter(({ id, name }) => id === wanted || name === wanted)
  const [graph] = found
  if (graph && found.length === 1) return graph
  const where = found.length > 1 ? 'is the name of several' : 'is not in this file'
  const also = agent ? '; its `agent` is run without --graph' : ''
  throw errorFor('GRAPH_UNKNOWN', `"${wanted}"`, where, `it has: ${ids}${also}`)
}

function upstreams(
  { mocks }: Facts,
  real: readonly string[],
): (tool: string, replayClass: string | null) => UpstreamKind {
  return (tool, replayClass) => {
    const pure = replayClass === 'pure' && real.includes('pure')
    if (pure || real.includes('all') || real.includes(tool)) return 'real'
    return mocks.includes(tool) ? 'mock' : 'recorded'
  }
}

function checkUpstreams(
  { mocks }: Facts,
  graph: GraphFacts | null,
  upstreamOf: ReturnType<typeof upstreams>,
  recording: Recording | null,
): void {
  if (graph === null || recording !== null) return
  const { tools } = graph
  const missing = tools.filter((tool) => upstreamOf(tool.name, tool.replayClass) === 'recorded')
  if (missing.length > 0)
    throw upstreamMissing(
      missing.map(({ name }) => name),
      mocks,
    )
}

export function upstreamMissing(
  tools: readonly string[],
  mocks: readonly string[],
): CounterfoilError {
  const lines = [...tools, ...mocks].map((name) =>
    tools.includes(name) ? `${name}: async (input, call) => …` : `${name}: …`,
  )
  return errorFor(
    'CHAOS_UPSTREAM_MISSING',
    `there is no mock of ${tools.join(', ')}, and nothing real is sent: export const mocks = { ` +
      `${lines.join(', ')} }; or replay a recorded run (--from, --run); or name tools whose own ` +
      'function may be run against a sandbox (--real)',
    { tools },
  )
}

function inputOf(options: ChaosFileOptions, facts: Facts, recording: Recording | null): unknown {
  if ('input' in options && options.input !== undefined) return options.input
  if (recording) return recording.input
  return facts.input ?? null
}

function opener(cast: Cast): Plan['open'] {
  let count = 0
  return (nth) => {
    const name = `${nth}-${++count}`
    // A sandbox remembers keys, and keys are made of run ids: there, every run has its own.
    const own = cast.real.length > 0 ? `chaos-${cast.session.id}-${name}` : 'chaos'
    return ProcessStage.open(cast, name, cast.recording?.runId ?? own)
  }
}

/** Whether effects are counted by the sandbox itself. */
function countsThere({ effects }: Facts, real: readonly string[]): boolean {
  return effects && real.length > 0
}

function notesOf({ effects }: Facts, real: readonly string[]): string[] {
  if (real.length === 0) return []
  const which = real.join(', ')
  const counted = effects
    ? 'their effects are what `effects` counts'
    : 'nobody exports `effects`, so that a key counts as honoured'
  return [`real functions were run (${which}); ${counted}`]
}
