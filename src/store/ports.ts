// Which methods each port has and what cannot be done without it: asked when a store of a user's
// own is opened, and by the suite that tests it.
import { type CounterfoilError, errorFor } from '../model/errors.ts'
import type { OwnStore, Port, Ports, Store, StoreBase } from './store.ts'

/** Every method of a port and no other: the compiler compares. */
type Methods = { readonly [P in Port]: { readonly [K in keyof Ports[P]]-?: true } }

const methods: Methods = {
  ledger: {
    start: true,
    load: true,
    commit: true,
    amend: true,
    registerGraph: true,
    getRun: true,
    listRuns: true,
    listRecords: true,
    listAttempts: true,
    listEvidence: true,
    listCheckpoints: true,
    loadCheckpoints: true,
    listEvents: true,
    keyInput: true,
    openCalls: true,
    findAttempt: true,
    getSignal: true,
  },
  leases: {
    register: true,
    renew: true,
    claim: true,
    wakeDue: true,
    stopWorker: true,
    declareDead: true,
    stops: true,
    workers: true,
  },
  inbox: { getItem: true, listItems: true, listOverdue: true, listDecisions: true },
  retention: { retain: true },
  shares: { takeShare: true, putShare: true },
  blobs: { blobsInUse: true, readOutput: true },
  documents: {
    conceal: true,
    reveal: true,
    getDocument: true,
    putDocument: true,
    deleteDocument: true,
    listDocuments: true,
    takeNotices: true,
    endNotice: true,
  },
  threads: {
    putStep: true,
    putWrites: true,
    loadSteps: true,
    headOf: true,
    listSteps: true,
    listWrites: true,
    pruneSteps: true,
    dropThread: true,
    listIdleThreads: true,
  },
  facts: { facts: true, listVersions: true, backlog: true, recent: true },
  keys: { rotateKey: true },
  moves: { moved: true, adopt: true },
}

export const ports = Object.keys(methods) as readonly Port[]

/** Without these a store cannot be opened. */
export const corePorts: readonly Port[] = ['ledger', 'leases', 'inbox']

export function methodsOf(port: Port): readonly string[] {
  return Object.keys(methods[port])
}

/** What a port is for, as whoever called for it is told. */
const uses: Readonly<Record<Port, string>> = {
  ledger: 'every run needs it',
  leases: 'every worker needs it',
  inbox: 'whatever waits for a person needs it',
  retention: '`open({ retention })` needs it',
  shares: '`shareMs` of a tool needs it',
  blobs: '`counterfoil store collect` needs it',
  documents: '`cf.server()` keeps its tokens, sessions and webhooks there',
  threads: '`cf.threads`, and with it the saver for LangGraph, keeps the steps of threads there',
  facts: 'status, versions and metrics are counted there',
  keys: 'a new key that signs is made there',
  moves: 'a store is adopted there',
}

export function portMissing(url: string, port: Port): CounterfoilError {
  return errorFor('STORE_PORT_MISSING', url, port, { methods: methodsOf(port), use: uses[port] })
}

/** Whether a store is meant, whole or not; anything else is no store at all. */
export function isOwnStore(value: unknown): value is OwnStore {
  if (typeof value !== 'object' || value === null) return false
  const given = value as Record<string, unknown>
  return ports.some((port) => methodsOf(port).some((name) => typeof given[name] === 'function'))
}

/** The ports of a store; half a port, or a core that is not whole, is refused. */
export function portsOf(store: OwnStore): readonly Port[] {
  const given = store as unknown as Record<string, unknown>
  const bad = (what: string) => errorFor('OPEN_INVALID', `\`store\` ${what}`)
  const faults = baseFaults(given)
  if (faults.length > 0) throw bad(`is no store: it has no ${faults.join(', no ')}`)
  return ports.filter((port) => {
    const missing = methodsOf(port).filter((name) => typeof given[name] !== 'function')
    if (missing.length === 0) return true
    const isCore = corePorts.includes(port)
    if (!isCore && missing.length === methodsOf(port).length) return false
    const which = `${isCore ? 'of its core, ' : ''}port \`${port}\``
    throw bad(`lacks ${missing.join(', ')} ${which}: a port is there whole or not at all`)
  })
}

type Kind = 'string' | 'object' | 'function' | 'boolean'

const base: { readonly [K in keyof Omit<StoreBase, 'batchesMax'>]-?: Kind } = {
  url: 'string',
  clock: 'object',
  steadyNow: 'function',
  local: 'boolean',
  renewal: 'object',
  caveats: 'object',
  onChange: 'function',
  close: 'function',
}

function baseFaults(given: Record<string, unknown>): string[] {
  return Object.entries(base)
    .filter(([name, kind]) => typeof given[name] !== kind)
    .map(([name, kind]) => `\`${name}\` (${kind})`)
}

/**
 * The store as everything else calls it. A port that it lacks does what can be done without it, and
 * else refuses by name. Its own methods are called on the store itself: it may be of a class.
 */
export function completed(store: OwnStore): Store {
  const there = portsOf(store)
  const given = store as unknown as Record<string, (...args: unknown[]) => unknown>
  const { url, clock, local, batchesMax, renewal, caveats } = store
  const whole: Record<string, unknown> = {
    url,
    clock,
    local,
    renewal,
    caveats,
    ...(batchesMax === undefined ? {} : { batchesMax }),
    steadyNow: () => store.steadyNow(),
    onChange: (listener: () => void) => store.onChange(listener),
    close: () => store.close(),
  }
  for (const port of ports) {
    for (const name of methodsOf(port)) {
      const own = (...args: unknown[]) => given[name]?.(...args)
      whole[name] = there.includes(port) ? own : (instead[name] ?? refusal(url, port, name))
    }
  }
  return whole as unknown as Store
}

/** What a store without the port can answer all the same. */
const instead: Partial<Record<string, unknown>> = {
  takeShare: async () => ({ do: 'make' }),
  putShare: async () => {},
  readOutput: async (run: { outputJson: string | null }) => run.outputJson,
  moved: async () => null,
} satisfies Partial<Store>

function refusal(url: string, port: Port, name: string): () => unknown {
  if (name === 'conceal' || name === 'reveal') {
    return () => {
      throw portMissing(url, port)
    }
  }
  return async () => {
    throw portMissing(url, port)
  }
}
