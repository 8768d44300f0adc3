// The SQLite store: the default, embedded. One connection, on the main thread; a thread hop was
// measured 1.6 times slower.
import type { RunRef } from '../../model/records.ts'
import type { LoadAt, Store } from '../store.ts'
import { amend, commit, start } from './commit.ts'
import type { Connection } from './connection.ts'
import { adopt, movedSince } from './incarnation.ts'
import * as lease from './lease.ts'
import * as list from './list.ts'
import * as lookup from './lookup.ts'
import { openConnection, type SqliteOptions } from './open.ts'
import { deathsOf, loadRows, selectChain, selectRun } from './read.ts'
import { rotateKey } from './rotate.ts'

export type { SqliteOptions } from './open.ts'

export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const c = openConnection(options)
  const listeners = new Set<() => void>()
  const changed = announcer(c, listeners)
  return {
    url: `sqlite:${c.path}`,
    caveats: [],
    start: async (made) => {
      const result = start(c, made)
      if (result.created) changed()
      return result
    },
    load: async (ref, at) => load(c, ref, at),
    commit: async (batch) => {
      const results = commit(c, batch)
      if (batch.some((one) => one.changes.run?.state !== undefined)) changed()
      return results
    },
    amend: async (ref, by, change, at) => {
      const { changes, value } = amend(c, ref, by, change, at)
      if (changes !== null) changed()
      return value
    },
    ...leases(c, changed),
    ...lists(c),
    ...lookups(c),
    moved: async () => c.plain(() => movedSince(c)),
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
    claim: async (request) => lease.claim(c, request),
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

type Lookups =
  | 'registerGraph'
  | 'keyInput'
  | 'openCalls'
  | 'blobsInUse'
  | 'rotateKey'
  | 'readOutput'

function lookups(c: Connection): Pick<Store, Lookups> {
  return {
    registerGraph: async (row) => lookup.registerGraph(c, row),
    keyInput: async (ref, tool, key) => c.plain(() => lookup.keyInput(c, ref, tool, key)),
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
    listAttempts: async (ref) => c.plain(() => list.listAttempts(c, ref)),
    listEvidence: async (ref) => c.plain(() => list.listEvidence(c, ref)),
    listDecisions: async (ref) => c.plain(() => list.listDecisions(c, ref)),
    listEvents: async (ref, page) => list.listEvents(c, ref, page),
    listCheckpoints: async (ref) => c.plain(() => list.listCheckpoints(c, ref)),
    loadCheckpoints: async (ref, generation, visit) =>
      c.plain(() => selectChain(c, ref, generation, visit)),
  }
}
