// The SQLite store: the default, embedded. One connection, on the main thread; a thread hop was
// measured 1.6 times slower.
import { systemClock } from '../../clock.ts'
import type { RunRef } from '../../model/run/records.ts'
import type { LoadAt, Renewal, Store } from '../store.ts'
import { claim } from './claim.ts'
import { amend, commit, start } from './commit.ts'
import { documents } from './documents.ts'
import * as due from './due.ts'
import { facts } from './facts.ts'
import { adopt, movedSince } from './identity/incarnation.ts'
import { overwrittenSince } from './identity/overwritten.ts'
import * as lease from './lease.ts'
import * as list from './list.ts'
import * as lookup from './lookup.ts'
import type { Connection } from './opening/connection.ts'
import { openConnection, type SqliteOptions } from './opening/open.ts'
import { rotateKey } from './opening/rotate.ts'
import { deathsOf, loadRows, selectChain, selectRun } from './read.ts'
import { recent } from './recent.ts'
import type { RenewerData } from './renewer.ts'
import { createRetention } from './retention.ts'
import { putShare, takeShare } from './shares.ts'
import { threads } from './threads.ts'

export type { SqliteOptions } from './opening/open.ts'

export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const c = openConnection(options)
  const listeners = new Set<() => void>()
  const changed = announcer(c, listeners)
  return {
    url: `sqlite:${c.path}`,
    clock: c.clock,
    steadyNow: () => c.steadyNow(),
    local: true,
    renewal: renewalOf(c),
    caveats: [],
    start: async (made) => {
      const result = start(c, made)
      if (result.created) changed()
      return result
    },
    load: async (ref, at) => load(c, ref, at),
    commit: async (batch) => {
      const results = commit(c, batch)
      if (batch.some(({ changes }) => changes.run?.state || changes.children?.length)) changed()
      return results
    },
    amend: async (ref, by, change, at) => {
      const { changes, value } = amend(c, ref, by, change, at)
      if (changes !== null) changed()
      return value
    },
    ...leases(c, changed),
    ...sweeps(c, changed),
    ...lists(c),
    ...lookups(c),
    ...documents(c),
    ...threads(c),
    moved: async () => c.plain(() => movedSince(c) ?? overwrittenSince(c)),
    adopt: async (by, reason) => {
      adopt(c, by, reason)
      changed()
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    close: async () => {
      listeners.clear()
      c.db.close()
      c.witness?.close()
    },
  }
}

/** Listeners hear of writes in a turn of their own: never inside a transaction, once for many. */
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

function load(c: Connection, ref: RunRef, at: LoadAt | undefined) {
  const rows = c.read(() => loadRows(c, ref, at))
  return rows && { ...rows, deaths: c.plain(() => deathsOf(c, rows.attempts)) }
}

type Leases = 'register' | 'renew' | 'claim' | 'stopWorker' | 'declareDead' | 'workers' | 'stops'

function leases(c: Connection, changed: () => void): Pick<Store, Leases> {
  return {
    register: async (worker, leaseMs) => lease.registerWorker(c, worker, leaseMs),
    renew: async (workerId, leaseMs) => lease.renewWorker(c, workerId, leaseMs),
    claim: async (request) => claim(c, request),
    stopWorker: async (workerId, ended) => {
      lease.stopWorker(c, workerId, ended)
      changed()
    },
    declareDead: async (workerId, proof) => {
      lease.declareWorkerDead(c, workerId, proof)
      changed()
    },
    workers: async ({ provable = false } = {}) => lease.listWorkers(c, provable),
    stops: async (workerId) => lease.listStops(c, workerId),
  }
}

type Sweeps =
  | ('wakeDue' | 'listOverdue' | 'retain' | 'backlog')
  | ('facts' | 'recent' | 'takeShare' | 'putShare')

function sweeps(c: Connection, changed: () => void): Pick<Store, Sweeps> {
  return {
    wakeDue: async (countMax) => {
      const pass = due.wakeDue(c, countMax)
      if (pass.woken > 0) changed()
      return pass
    },
    listOverdue: async (countMax) => c.plain(() => due.listOverdue(c, countMax)),
    retain: createRetention(c),
    backlog: async () => c.read(() => due.backlog(c)),
    facts: async (namespace) => c.read(() => facts(c, namespace)),
    recent: async (namespace, since) => c.read(() => recent(c, namespace, since)),
    takeShare: async (key, workerId, makeMs) => takeShare(c, key, workerId, makeMs),
    putShare: async (key, workerId, shared, shareMs) => putShare(c, key, workerId, shared, shareMs),
  }
}

/**
 * Null when run from its sources, where a thread could not load it, and where the clock is not the
 * machine's, which the thread would count on.
 */
function renewalOf({ path, place, clock }: Connection): Renewal | null {
  if (import.meta.url.endsWith('.ts') || clock !== systemClock) return null
  const data: RenewerData = { path, place }
  return { module: new URL('./renewer.js', import.meta.url).href, data }
}

type Lookups =
  | 'registerGraph'
  | 'keyInput'
  | 'findAttempt'
  | 'getSignal'
  | 'listVersions'
  | 'openCalls'
  | 'blobsInUse'
  | 'rotateKey'
  | 'readOutput'

function lookups(c: Connection): Pick<Store, Lookups> {
  return {
    registerGraph: async (row) => lookup.registerGraph(c, row),
    keyInput: async (ref, tool, key) => c.plain(() => lookup.keyInput(c, ref, tool, key)),
    findAttempt: async (tokenHash) => c.plain(() => lookup.findAttempt(c, tokenHash)),
    getSignal: async (ref, signalId) => c.plain(() => lookup.getSignal(c, ref, signalId)),
    listVersions: async (namespace) => c.read(() => lookup.listVersions(c, namespace)),
    readOutput: async (run) => run.outputJson,
    openCalls: async (ref) => c.plain(() => lookup.openCalls(c, ref)),
    blobsInUse: async (digests) => c.plain(() => lookup.blobsInUse(c, digests)),
    rotateKey: async () => rotateKey(c),
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
  return {
    getRun: async (ref) => c.plain(() => selectRun(c, ref)),
    getItem: async (namespace, itemId) => c.plain(() => list.getItem(c, namespace, itemId)),
    listRuns: async (filter) => list.listRuns(c, filter),
    listItems: async (filter) => list.listItems(c, filter),
    listRecords: async (ref, page) => list.listRecords(c, ref, page),
    listAttempts: async (ref) => c.read(() => list.listAttempts(c, ref)),
    listEvidence: async (ref) => c.plain(() => list.listEvidence(c, ref)),
    listDecisions: async (ref) => c.plain(() => list.listDecisions(c, ref)),
    listEvents: async (ref, page) => list.listEvents(c, ref, page),
    listCheckpoints: async (ref) => c.plain(() => list.listCheckpoints(c, ref)),
    loadCheckpoints: async (ref, generation, visit) =>
      c.plain(() => selectChain(c, ref, generation, visit)),
  }
}
