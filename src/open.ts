// Composes a Counterfoil from a store, by its URL or as it is given, and the graphs it shall carry.
import { readFileSync } from 'node:fs'
import { openFiles } from './blob/files.ts'
import { withBlobs } from './blob/with-blobs.ts'
import { Callbacks } from './client/callbacks.ts'
import { Inbox } from './client/inbox/inbox.ts'
import { registerGraphs } from './client/run/graphs.ts'
import { RunHandle } from './client/run/run.ts'
import { startRun } from './client/run/start.ts'
import { Scope } from './client/scope.ts'
import { Threads } from './client/threads.ts'
import { type Clock, systemClock, timeId } from './clock.ts'
import { RateLimits } from './engine/attempt/rate-limit.ts'
import { Committer } from './engine/committer.ts'
import type { Engine } from './engine/visit/execute.ts'
import { type Queues, queuesFault } from './model/decisions/approval.ts'
import { errorFor } from './model/errors.ts'
import type { Graph } from './model/graph/graph.ts'
import { compareVersions } from './model/graph/version.ts'
import * as limits from './model/limits.ts'
import { isName } from './model/name.ts'
import type { RiskPolicy } from './model/tool/risk.ts'
import { hidePassword } from './model/url.ts'
import type { CounterfoilServer, ServerOptions } from './server/server.ts'
import { completed, isOwnStore, portMissing, ports, portsOf } from './store/ports.ts'
import { checkRetention } from './store/rules/retention.ts'
import type { OwnStore, Port, Retention, Store } from './store/store.ts'
import { assertedDeath } from './worker/asserted.ts'
import { declareDead, type Liveness, sockets } from './worker/liveness.ts'
import { machineOf } from './worker/machine.ts'
import { checkScopeIds, type ScopeIds } from './worker/scope-run.ts'
import { Scopes } from './worker/scopes.ts'
import { Worker, type WorkerOptions } from './worker/worker.ts'

export interface OpenOptions {
  /** `sqlite:path/to/file.db`, `postgres://user@host/database`, `memory:`, or one of your own. */
  store: string | OwnStore
  graphs?: readonly Graph[]
  namespace?: string
  /** Asked before a call that is not pure is sent: run it, ask a person, or refuse it. */
  gate?: RiskPolicy
  /** How long items of a queue may wait, and who is asked then; 1 h for those of no approval. */
  queues?: Queues
  /** 64 hex digits that sign the ledger; SQLite has a key file beside it unless given. */
  key?: string
  /** Where large results and states lie: beside a file, inside a server, unless given. */
  blobDir?: string
  /** Texts of more bytes than this become blobs. */
  blobBytesMin?: number
  /** Open a database on a network file system, whose locks and syncs nobody vouches for. */
  allowNetworkFs?: boolean
  settleMs?: number
  /** How long records of ended runs are kept, by replay class; `off` keeps them all. */
  retention?: Partial<Retention> | 'off'
  /** Told what a store does not promise, and of errors that are being retried. */
  onWarning?: (message: string, error?: unknown) => void
}

/** What `open` gives: everything that can be done with runs. */
export interface Counterfoil {
  readonly store: Store
  readonly inbox: Inbox
  /** What upstreams of asynchronous tools say, by the token of `call.defer()`. */
  readonly callbacks: Callbacks
  /** Of the runs that it works on. */
  readonly namespace: string
  /** What adapters keep of the threads of a foreign runtime. */
  readonly threads: Threads
  /** Starts a run, or attaches to the one with this id, graph and input. */
  start<In, Out>(
    graph: Graph<In, Out>,
    input: In,
    options?: { runId?: string; by?: string },
  ): Promise<RunHandle<Out>>
  /** The same by name: a new run begins on the newest version that was given to `open()`. */
  start(name: string, input: unknown, options?: { runId?: string; by?: string }): Promise<RunHandle>
  /** A handle by id, in any process. */
  run<Out = unknown>(runId: string): RunHandle<Out>
  /** One visit of a foreign runtime: its calls pass the same gate and ledger. Close it. */
  scope(ids: ScopeIds): Promise<Scope>
  /**
   * Puts calls of foreign runtimes before a person whose process has died, and whose outcome nobody
   * knows. Workers, servers and whoever holds scopes do so by themselves.
   */
  askAboutLeft(): Promise<void>
  worker(options?: WorkerOptions): Worker
  /** An HTTP server with the API and the console; listens when the promise resolves. */
  server(options?: ServerOptions): Promise<CounterfoilServer>
  /** Stops this object's workers, closes its scopes, then the store. */
  close(): Promise<void>
}

/** Opens a store for work. */
export async function open(options: OpenOptions): Promise<Counterfoil> {
  const graphs = graphMap(options?.graphs ?? [])
  checkOptions(options)
  const store = await openStore(options, systemClock)
  try {
    await registerGraphs(store, store.clock, options.namespace ?? 'default', graphs.values())
  } catch (error) {
    await store.close()
    throw error
  }
  return compose(store, store.clock, graphs, options)
}

/** Opens the store that a URL names, and loads its driver only then; or takes a user's own. */
export async function openStore(options: OpenOptions, clock: Clock): Promise<Store> {
  const { store: url, blobDir } = options
  const key = options.key ?? process.env['COUNTERFOIL_KEY']
  const keyed = key === undefined ? {} : { key }
  const warn = warning(options)
  if (isOwnStore(url)) {
    const store = telling(completed(url), warn)
    return blobDir === undefined ? store : blobsBeside(store, blobDir, options)
  }
  if (url === 'memory:') {
    const { openMemory } = await import('./store/memory/index.ts')
    return telling(openMemory({ clock }), warn)
  }
  if (typeof url === 'string' && url.startsWith('sqlite:') && url.length > 'sqlite:'.length) {
    const { openSqlite } = await import('./store/sqlite/index.ts')
    const path = url.slice('sqlite:'.length)
    const allowNetworkFs = options.allowNetworkFs === true
    const store = await openSqlite({ path, clock, allowNetworkFs, ...keyed })
    return blobsBeside(store, blobDirOf(store.url, blobDir), options)
  }
  if (typeof url === 'string' && /^postgres(ql)?:\/\//.test(url)) {
    const { openPostgres } = await import('./store/postgres/index.ts')
    const store = telling(await openPostgres({ url, clock, ...keyed }), warn)
    return blobsBeside(store, blobDirOf(store.url, blobDir), options)
  }
  const forms = 'sqlite:runs.db, postgres://user@host/database or memory:'
  throw errorFor('STORE_URL_INVALID', `${shown(url)} cannot be opened: use ${forms}`)
}

function shown(url: unknown): string {
  return JSON.stringify(typeof url === 'string' ? hidePassword(url) : url)
}

function warning({ onWarning }: OpenOptions): (message: string, error?: unknown) => void {
  return onWarning ?? ((message) => process.emitWarning(message, 'Counterfoil'))
}

function telling(store: Store, warn: (message: string) => void): Store {
  for (const caveat of store.caveats) warn(caveat)
  return store
}

function blobsBeside(store: Store, dir: string | null, { blobBytesMin }: OpenOptions): Store {
  if (dir === null) return store
  const blobs = openFiles({ dir, clock: systemClock })
  return withBlobs(store, blobs, { bytesMin: blobBytesMin ?? limits.blobBytesMin })
}

/**
 * The directory with the large values of the store at this URL: beside a file, unless given. A
 * server holds them itself (null): its clients share no directory unless they say so.
 */
export function blobDirOf(url: string, given?: string): string | null {
  if (given !== undefined) return given
  return url.startsWith('sqlite:') ? `${url.slice('sqlite:'.length)}.blobs` : null
}

export function compose(
  store: Store,
  clock: Clock,
  graphs: ReadonlyMap<string, Graph>,
  options: OpenOptions,
  liveness: Liveness = sockets,
): Counterfoil {
  const warn = warning(options)
  const namespace = options.namespace ?? 'default'
  const retention = retentionOf(options)
  const workers = new Set<Worker>()
  const servers = new Set<CounterfoilServer>()
  const onError = (error: unknown) => warn(String(error), error)
  const engine = createEngine(store, clock, graphs, options, warn)
  const checkWorkers = () => declareDead(store, { workerId: null, ...machineOf(store) })
  const client = { store, clock, namespace, graphs, checkWorkers }
  const scopes = new Scopes(engine, onError, liveness)
  return {
    store,
    inbox: new Inbox(client),
    callbacks: new Callbacks(client),
    namespace,
    threads: new Threads(store, namespace),
    start: async (
      wanted: Graph | string,
      input: unknown,
      { runId = timeId(clock, 'run'), by }: { runId?: string; by?: string } = {},
    ) => {
      const graph = graphOf(graphs, wanted)
      const who = { namespace, runId, ...(by === undefined ? {} : { by }) }
      const run = await startRun(store, clock, graph, input, who)
      return new RunHandle<never>(client, run.runId)
    },
    run: (runId) => new RunHandle(client, runId),
    scope: async (ids) => new Scope(await scopes.open(checkScopeIds(ids)), ids),
    askAboutLeft: () => scopes.sweep(),
    worker: (workerOptions = {}) => {
      const enter = (name: string) => registerGraphs(store, clock, name, graphs.values())
      const askAboutLeft = () => scopes.sweep()
      const parts = { onError, retention, enter, askAboutLeft }
      const worker = new Worker(engine, workerOptions, parts)
      workers.add(worker)
      return worker
    },
    server: async (serverOptions = {}) => {
      if (!portsIn(options).includes('documents')) throw portMissing(store.url, 'documents')
      const { CounterfoilServer } = await import('./server/server.ts')
      const figures = () => ({
        workers: [...workers].map((worker) => worker.stats()),
        commits: engine.committer.counts,
      })
      const proofOf = (workerId: string, said: string) => statedDeath(store, workerId, said)
      const parts = { ...client, figures, proofOf, version: packageVersion() }
      const onServerError = (error: unknown, requestId: string) =>
        warn(`request ${requestId} failed: ${String(error)}`, error)
      const server = new CounterfoilServer(parts, { onError: onServerError, ...serverOptions })
      servers.add(server)
      await server.start()
      // A process that only serves the inbox finds what belongs into it.
      scopes.keepLooking()
      return server
    },
    close: async () => {
      await Promise.all([...servers].map((server) => server.close()))
      await Promise.all([...workers].map((worker) => worker.stop()))
      await scopes.end()
      await store.close()
    },
  }
}

/** The graph itself, or the newest of that name. */
function graphOf(graphs: ReadonlyMap<string, Graph>, wanted: Graph | string): Graph {
  if (typeof wanted === 'string') {
    const named = [...graphs.values()].filter(({ name }) => name === wanted)
    const [newest] = named.sort((a, b) => compareVersions(b.version, a.version))
    if (newest) return newest
  } else if (wanted !== undefined && graphs.get(wanted?.id) === wanted) return wanted
  const known = [...graphs.keys()].join(', ') || 'none'
  const id = typeof wanted === 'string' ? wanted : String(wanted?.id)
  throw errorFor('GRAPH_UNKNOWN', id, 'was not given to open()', `it has: ${known}`)
}

async function statedDeath(store: Store, workerId: string, said: string): Promise<string> {
  const row = (await store.workers()).find((one) => one.workerId === workerId)
  return row ? assertedDeath(store, row, said) : said
}

export function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

function createEngine(
  store: Store,
  clock: Clock,
  graphs: ReadonlyMap<string, Graph>,
  options: OpenOptions,
  warn: (message: string, error?: unknown) => void,
): Engine & { namespace: string } {
  const committer = new Committer(store, clock, {
    pureFlushMs: limits.pureFlushMs,
    onError: (error, runIds) =>
      warn(`a commit of ${runIds.join(', ')} failed and is written again: ${String(error)}`, error),
  })
  return {
    store,
    clock,
    committer,
    graphs,
    namespace: options.namespace ?? 'default',
    settleMs: options.settleMs ?? limits.settleMs,
    limits: new RateLimits(clock),
    policy: options.gate ?? null,
    queues: options.queues ?? {},
  }
}

const known = [
  'store',
  'graphs',
  'namespace',
  'gate',
  'key',
  'blobDir',
  'blobBytesMin',
  'allowNetworkFs',
  'settleMs',
  'retention',
  'onWarning',
  'queues',
]

/** A slip must not pass: `gaet` would leave every call without its gate. */
function checkOptions(options: OpenOptions): void {
  const bad = (what: string) => errorFor('OPEN_INVALID', what)
  const strange = Object.keys(options ?? {}).find((key) => !known.includes(key))
  if (strange !== undefined) {
    throw bad(`there is no option \`${strange}\`; the options are ${known.join(', ')}`)
  }
  const { namespace, settleMs, blobDir } = options ?? {}
  if (namespace !== undefined && !isName(namespace)) {
    throw bad(`namespace ${JSON.stringify(namespace)} is not usable: letters, digits, _ . : -`)
  }
  if (settleMs !== undefined && !(Number.isFinite(settleMs) && settleMs >= 0)) {
    throw bad('`settleMs` must be milliseconds')
  }
  if (blobDir !== undefined && (typeof blobDir !== 'string' || blobDir === '')) {
    throw bad('`blobDir` must be a path')
  }
  retentionOf(options)
  const { gate, blobBytesMin } = options ?? {}
  const fault = queuesFault(options?.queues)
  if (fault !== null) throw bad(fault)
  if (gate !== undefined && typeof gate !== 'function') {
    throw errorFor('OPEN_INVALID', '`gate` must be a function of a call')
  }
  if (blobBytesMin !== undefined && !(Number.isInteger(blobBytesMin) && blobBytesMin >= 0)) {
    throw errorFor('OPEN_INVALID', '`blobBytesMin` must be a number of bytes')
  }
}

const classes = ['pureMs', 'keyedMs', 'unsafeMs']

function portsIn({ store }: OpenOptions): readonly Port[] {
  return isOwnStore(store) ? portsOf(store) : ports
}

/** Null: everything is kept. A wish that the store cannot keep is refused. */
function retentionOf(options: OpenOptions): Retention | null {
  const { retention = portsIn(options).includes('retention') ? {} : 'off' } = options
  if (retention === 'off') return null
  const strange = Object.keys(retention).find((key) => !classes.includes(key))
  if (strange !== undefined || typeof retention !== 'object') {
    const message = `open: \`retention\` is 'off' or { ${classes.join(', ')} } in milliseconds`
    throw errorFor('RETENTION_INVALID', message)
  }
  const keep = { ...limits.retention, ...retention }
  checkRetention(keep)
  const { store } = options
  if (!isOwnStore(store) || portsIn(options).includes('retention')) return keep
  throw portMissing(store.url, 'retention')
}

function graphMap(graphs: readonly Graph[]): Map<string, Graph> {
  const map = new Map<string, Graph>()
  for (const graph of graphs) {
    if (!(graph?.nodes instanceof Map)) {
      const message = `graphs has ${JSON.stringify(graph)}, which was not made by workflow({ … })`
      throw errorFor('GRAPH_INVALID', null, message)
    }
    if (map.has(graph.id) && map.get(graph.id) !== graph) {
      const why = `two graphs have the id ${graph.id}: give the changed one a new version`
      throw errorFor('GRAPH_INVALID', null, why)
    }
    map.set(graph.id, graph)
  }
  return map
}
