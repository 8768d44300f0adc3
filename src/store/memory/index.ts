// The memory store: the whole contract, for short chats and for tests. Nothing survives the
// process.
import type { Clock } from '../../clock.ts'
import { errorFor } from '../../model/errors.ts'
import type { RunRef } from '../../model/run/records.ts'
import { letGo } from '../rules/adoption.ts'
import type { Amendment, Authority, Commit, LoadAt, Loaded, Store } from '../store.ts'
import { isProvable } from '../whole-runs/claims.ts'
import { itemPage, runPage } from '../whole-runs/lists.ts'
import { attemptIn, loadedOf, readsOf } from '../whole-runs/read-rows.ts'
import type { RunRows } from '../whole-runs/run-rows.ts'
import { applyRows, commitRows } from '../whole-runs/write-rows.ts'
import { addRun, type Data, findItem, mustFind, openData, refKey } from './data.ts'
import { documents } from './documents.ts'
import { backlog, listOverdue, wakeDue } from './due.ts'
import { facts } from './facts.ts'
import { claim, register, renew, withExpiry } from './lease.ts'
import { blobsInUse, itemsOf, listVersions } from './read.ts'
import { recent } from './recent.ts'
import { retain } from './retention.ts'
import { putShare, takeShare } from './shares.ts'
import { threads } from './threads.ts'
import { runsAt } from './write.ts'

export function openMemory({ clock }: { clock: Clock }): Store {
  const data = openData(clock)
  const startedAt = clock.now() - clock.mono()
  const listeners = new Set<() => void>()
  const changed = <T>(value: T): T => {
    if (listeners.size > 0) clock.turn(() => listeners.forEach((listener) => void listener()))
    return value
  }
  return {
    url: 'memory:',
    clock,
    steadyNow: () => startedAt + clock.mono(),
    local: true,
    renewal: null,
    caveats: [
      'memory: nothing survives the end of this process: not runs, not receipts, not open doubts',
      'memory: other processes see nothing of it, so nobody can take a run over',
    ],
    start: async (made) => {
      if (addRun(data, made)) return changed({ created: true, run: made.run })
      return { created: false, run: mustFind(data, made.run).run }
    },
    load: async (ref, at) => {
      const of = data.runs.get(refKey(ref))
      return of === undefined ? null : loadRun(data, of, at)
    },
    commit: async (batch) => {
      const results = batch.map((commit) => commitRows(runsAt(data), commit))
      const moves = ({ changes }: Commit) => changes.run?.state || changes.children?.length
      return batch.some(moves) ? changed(results) : results
    },
    amend: async (ref, by, change, at) => changed(amend(data, ref, by, change, at)),
    ...leases(data, changed),
    ...sweeps(data, changed),
    ...lists(data),
    ...lookups(data),
    ...documents(data),
    ...threads(data),
    moved: async () => null,
    adopt: async () => {
      for (const of of data.runs.values()) {
        if (of.run.state !== 'running') continue
        const free = letGo(of.run, clock.now())
        of.run = free.run
        of.events.push(free.event)
      }
      changed(null)
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: async () => {
      listeners.clear()
      data.closed = true
    },
  }
}

function amend<T>(
  data: Data,
  ref: RunRef,
  by: Authority,
  change: (now: Loaded) => Amendment<T>,
  at?: LoadAt,
): T {
  const of = mustFind(data, ref)
  const { changes, value } = change(loadRun(data, of, at))
  if (changes) applyRows(runsAt(data), of, by, changes)
  return value
}

function loadRun(data: Data, of: RunRows, at?: LoadAt): Loaded {
  return loadedOf(of, (workerId) => data.workers.get(workerId)?.diedAt, at)
}

type Leases = 'register' | 'renew' | 'claim' | 'stopWorker' | 'declareDead' | 'workers' | 'stops'

function leases(data: Data, changed: <T>(value: T) => T): Pick<Store, Leases> {
  const end = (workerId: string, change: object) => {
    const row = data.workers.get(workerId)
    if (row) data.workers.set(workerId, { ...row, ...change })
    changed(null)
  }
  return {
    register: async (worker, leaseMs) => register(data, worker, leaseMs),
    renew: async (workerId, leaseMs) => renew(data, workerId, leaseMs),
    claim: async (request) => claim(data, request),
    stopWorker: async (workerId, ended) => {
      if (data.workers.get(workerId)?.stoppedAt) return
      end(workerId, { stoppedAt: data.clock.now(), ...(ended ? { socketPath: null } : {}) })
    },
    declareDead: async (workerId, deathProof) => {
      if (data.workers.get(workerId)?.diedAt) return
      end(workerId, { diedAt: data.clock.now(), deathProof })
    },
    workers: async ({ provable = false } = {}) =>
      [...data.workers.values()]
        .filter((row) => !provable || isProvable(row))
        .map((row) => withExpiry(data, row)),
    stops: async (workerId) =>
      [...data.runs.values()]
        .map((of) => of.run)
        .filter((run) => run.workerId === workerId && run.state === 'running' && run.stop !== null),
  }
}

type Sweeps =
  | ('wakeDue' | 'listOverdue' | 'retain' | 'backlog')
  | ('facts' | 'recent' | 'takeShare' | 'putShare')

function sweeps(data: Data, changed: <T>(value: T) => T): Pick<Store, Sweeps> {
  return {
    wakeDue: async (countMax) => {
      const pass = wakeDue(data, countMax)
      return pass.woken > 0 ? changed(pass) : pass
    },
    listOverdue: async (countMax) => listOverdue(data, countMax),
    retain: async (keep, countMax) => retain(data, keep, countMax),
    backlog: async () => backlog(data),
    facts: async (namespace) => facts(data, namespace),
    recent: async (namespace, since) => recent(data, namespace, since),
    takeShare: async (key, workerId, makeMs) => takeShare(data, key, workerId, makeMs),
    putShare: async (key, workerId, shared, shareMs) =>
      putShare(data, key, workerId, shared, shareMs),
  }
}

type Lookups =
  | ('registerGraph' | 'findAttempt' | 'listVersions')
  | ('blobsInUse' | 'rotateKey' | 'readOutput')

function lookups(data: Data): Pick<Store, Lookups> {
  return {
    registerGraph: async (row) => {
      const key = JSON.stringify([row.namespace, row.name, row.version])
      const known = data.graphs.get(key) ?? row
      data.graphs.set(key, known)
      return known
    },
    findAttempt: async (tokenHash) => attemptIn(data.runs.values(), tokenHash),
    listVersions: async (namespace) => listVersions(data, namespace),
    readOutput: async (run) => run.outputJson,
    blobsInUse: async (digests) => blobsInUse(data, digests),
    rotateKey: async () => {
      throw errorFor('STORE_KEY_GIVEN', 'memory', 'has no key: nobody else can write to it')
    },
  }
}

type Lists = 'getItem' | 'listRuns' | 'listItems'

function lists(data: Data): Pick<Store, Lists> & ReturnType<typeof readsOf> {
  return {
    ...readsOf((ref) => {
      if (data.closed) throw errorFor('STORE_CLOSED', 'memory')
      return data.runs.get(refKey(ref))
    }),
    getItem: async (namespace, itemId) => findItem(data, { namespace, itemId }),
    listRuns: async (filter) =>
      runPage(
        [...data.runs.values()].map(({ run }) => run),
        filter,
      ),
    listItems: async (filter) => itemPage(itemsOf(data), filter, data.clock.now()),
  }
}
