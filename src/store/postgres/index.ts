// The Postgres store, for fleets: many processes on many machines, one server that all share.
import type { Renewal, Store } from '../store.ts'
import { amend, commit, starter } from './commit.ts'
import { documents } from './documents.ts'
import { facts } from './facts.ts'
import { movedSince } from './identity/incarnation.ts'
import * as lease from './lease.ts'
import * as list from './list.ts'
import { Listener } from './listen.ts'
import * as lookup from './lookup.ts'
import type { Connection } from './opening/connection.ts'
import { loadDriver, type Settings } from './opening/driver.ts'
import { openConnection, type PostgresOptions } from './opening/open.ts'
import { load, runLoader, runReader, selectChain } from './read.ts'
import { recent } from './recent.ts'
import * as sweep from './sweep.ts'
import { threads } from './threads.ts'

export type { Migrated, SchemaStatus } from './migrate.ts'
export { isPostgresUrl } from './opening/location.ts'
export type { PostgresOptions, PostgresStatus } from './opening/open.ts'
export { createPostgresRoles, migratePostgres, postgresStatus } from './opening/open.ts'
export type { GivenRole, Roles } from './opening/roles.ts'

/** While one is written on the server another is made here; more of them only split the work. */
const batchesMax = 3

export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const { c, settings, caveats } = await openConnection(options)
  const listeners = new Set<() => void>()
  const changed = announcer(c, listeners)
  const listener = new Listener(c, await loadDriver(), settings, changed)
  let listening = false
  return {
    url: c.url,
    clock: c.clock,
    // The server's own, read from this machine's monotonic clock.
    steadyNow: () => c.clock.now(),
    local: false,
    batchesMax,
    renewal: renewalOf(c, settings),
    caveats,
    ...writes(c, changed),
    ...leases(c, changed),
    ...lists(c),
    ...lookups(c),
    ...documents(c),
    ...threads(c),
    ...sweeps(c, changed),
    moved: () => movedSince(c),
    adopt: async (by, reason) => {
      await c.call('adopt', [by, reason])
      changed()
    },
    onChange: (fn) => {
      listeners.add(fn)
      if (!listening) void listener.start()
      listening = true
      return () => {
        listeners.delete(fn)
      }
    },
    close: async () => {
      listeners.clear()
      await listener.close()
      await c.close()
    },
  }
}

/** Listeners hear of writes in a turn of their own, once for many. */
function announcer(c: Connection, listeners: ReadonlySet<() => void>): () => void {
  let announced = false
  return () => {
    if (announced || listeners.size === 0) return
    announced = true
    c.clock.turn(() => {
      announced = false
      for (const listener of [...listeners]) listener()
    })
  }
}

function renewalOf(c: Connection, settings: Settings): Renewal {
  const file = import.meta.url.endsWith('.ts') ? './renewer.ts' : './renewer.js'
  const data = { settings, schema: c.location.schema }
  return { module: new URL(file, import.meta.url).href, data }
}

function writes(
  c: Connection,
  changed: () => void,
): Pick<Store, 'start' | 'load' | 'commit' | 'amend'> {
  const starts = starter(c)
  const loads = runLoader(c)
  return {
    start: async (made) => {
      const result = await starts(made)
      if (result.created) changed()
      return result
    },
    load: (ref, at) => (at === undefined ? loads.ask(ref) : load(c, ref, at)),
    commit: async (batch) => {
      const results = await commit(c, batch)
      if (batch.some(({ changes }) => changes.run?.state ?? changes.children)) changed()
      return results
    },
    amend: async (ref, by, change, at) => {
      const { changes, value } = await amend(c, ref, by, change, at)
      if (changes !== null) changed()
      return value
    },
  }
}

type Leases = 'register' | 'renew' | 'claim' | 'stopWorker' | 'declareDead' | 'workers' | 'stops'

function leases(c: Connection, changed: () => void): Pick<Store, Leases> {
  const claims = new lease.Claims(c)
  return {
    register: (worker, leaseMs) => lease.registerWorker(c, worker, leaseMs),
    renew: (workerId, leaseMs) => lease.renewWorker(c, workerId, leaseMs),
    claim: (request) => claims.claim(request),
    stopWorker: async (workerId, ended) => {
      await c.call('stop_worker', [workerId, ended])
      changed()
    },
    declareDead: async (workerId, proof) => {
      await c.call('declare_dead', [workerId, proof])
      changed()
    },
    workers: ({ provable = false } = {}) => lease.listWorkers(c, provable),
    stops: (workerId) => lease.listStops(c, workerId),
  }
}

type Lookups =
  | 'registerGraph'
  | 'keyInput'
  | 'openCalls'
  | 'blobsInUse'
  | 'rotateKey'
  | 'readOutput'
  | 'findAttempt'
  | 'getSignal'
  | 'listVersions'

function lookups(c: Connection): Pick<Store, Lookups> {
  return {
    registerGraph: (row) => lookup.registerGraph(c, row),
    keyInput: (ref, tool, key) => lookup.keyInput(c, ref, tool, key),
    readOutput: async (run) => run.outputJson,
    openCalls: (ref) => lookup.openCalls(c, ref),
    blobsInUse: (digests) => lookup.blobsInUse(c, digests),
    rotateKey: async () => lookup.rotateKey(c),
    findAttempt: (tokenHash) => lookup.findAttempt(c, tokenHash),
    getSignal: (ref, signalId) => lookup.getSignal(c, ref, signalId),
    listVersions: (namespace) => lookup.listVersions(c, namespace),
  }
}

type Sweeps =
  | ('wakeDue' | 'listOverdue' | 'retain' | 'backlog')
  | ('facts' | 'recent' | 'takeShare' | 'putShare')

function sweeps(c: Connection, changed: () => void): Pick<Store, Sweeps> {
  return {
    wakeDue: async (countMax) => {
      const pass = await sweep.wakeDue(c, countMax)
      if (pass.woken > 0) changed()
      return pass
    },
    listOverdue: (countMax) => sweep.listOverdue(c, countMax),
    retain: (keep, countMax) => sweep.retain(c, keep, countMax),
    backlog: () => sweep.backlog(c),
    facts: (namespace) => facts(c, namespace),
    recent: (namespace, since) => recent(c, namespace, since),
    takeShare: (key, workerId, makeMs) => sweep.takeShare(c, key, workerId, makeMs),
    putShare: (key, by, shared, shareMs) => sweep.putShare(c, key, by, shared, shareMs),
  }
}

type Lists =
  | 'getRun'
  | 'getItem'
  | 'listRuns'
  | 'listItems'
  | 'listRecords'
  | 'listAttempts'
  | 'listEvidence'
  | 'listDecisions'
  | 'listEvents'
  | 'listCheckpoints'
  | 'loadCheckpoints'

function lists(c: Connection): Pick<Store, Lists> {
  const reader = runReader(c)
  return {
    getRun: (ref) => reader.ask(ref),
    getItem: (namespace, itemId) => list.getItem(c, namespace, itemId),
    listRuns: (filter) => list.listRuns(c, filter),
    listItems: (filter) => list.listItems(c, filter),
    listRecords: (ref, page) => list.listRecords(c, ref, page),
    listAttempts: (ref) => list.listAttempts(c, ref),
    listEvidence: (ref) => list.listEvidence(c, ref),
    listDecisions: (ref) => list.listDecisions(c, ref),
    listEvents: (ref, page) => list.listEvents(c, ref, page),
    listCheckpoints: (ref) => list.listCheckpoints(c, ref),
    loadCheckpoints: (ref, generation, visit) => selectChain(c, ref, generation, visit),
  }
}
