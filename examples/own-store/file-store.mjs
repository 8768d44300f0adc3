// A store of one's own: the core of the contract, on a file of lines (lines.mjs). The runs are in
// memory, and read from the lines when the file is opened; a write is a line that is synced before
// it is acknowledged. What it may hold is decided by the rules of counterfoil/store.
import * as rules from 'counterfoil/store'
import { openLines } from './lines.mjs'

/** @import * as store from 'counterfoil/store' */

const caveats = [
  'this store is for one process at a time: while it is stopped nobody takes its runs over',
  'this store does not notice when its file is copied, cut off at the end of a line or put back',
  'this store counts leases on the clock of the machine; all its rows are kept, in memory too',
]

/** @param {(string | number)[]} parts */
const keyOf = (...parts) => JSON.stringify(parts)
/** @param {store.RunRef} ref */
const runKey = ({ namespace, runId }) => keyOf(namespace, runId)

/** What is in the file, and the one way to write to it. */
class Kept {
  /** @type {Map<string, store.RunRows>} */
  runs = new Map()
  /** @type {Map<string, store.RunRows>} Whose each item is, in the order they were made. */
  items = new Map()
  /** @type {Map<string, store.WorkerRow>} */
  workers = new Map()
  /** @type {Map<string, store.GraphRow>} */
  graphs = new Map()
  /** @type {Set<() => void>} */
  listeners = new Set()
  /** The group that a claim served last. */
  served = ''
  steady = 0
  /** @type {[what: string, row: any][]} The line that is being written. */
  line = []

  /**
   * @param {string} path
   * @param {store.Clock} clock
   */
  constructor(path, clock) {
    this.clock = clock
    this.lines = openLines(path)
    try {
      for (const line of this.lines.read()) for (const [what, row] of line) this.change(what, row)
    } catch (error) {
      this.lines.close()
      throw error
    }
  }

  /**
   * All that ever changes the rows: of a new write, and of a line that is read again.
   * @param {string} what
   * @param {any} row
   */
  change(what, row) {
    if (what === 'run') this.runs.set(runKey(row.run), rules.newRows(row))
    else if (what === 'graph') this.graphs.set(keyOf(row.namespace, row.name, row.version), row)
    else if (what === 'worker') this.workers.set(row.workerId, row)
    else if (what === 'claim') {
      const rows = this.mustFind(row.run)
      rows.run = row.run
      rows.events.push(row.event)
    } else {
      const { ref, changes, at, commitId } = row
      const rows = this.mustFind(ref)
      rules.putRows(rows, changes, at)
      for (const item of changes.items ?? []) {
        this.items.set(keyOf(item.namespace, item.itemId), rows)
      }
      if (commitId !== undefined) rows.run = { ...rows.run, commitId }
      this.steady = Math.max(this.steady, at)
    }
  }

  /**
   * @param {'run' | 'graph' | 'worker' | 'claim' | 'put'} what
   * @param {object} row
   */
  keep(what, row) {
    this.change(what, row)
    this.line.push([what, row])
  }

  /**
   * One write: what was put is on disk when it is answered, also if a later part was refused.
   * @template T
   * @param {() => T} fn
   * @param {(value: T) => unknown} tells whether listeners are to hear of it
   */
  write(fn, tells = () => false) {
    this.lines.check()
    /** @type {T} */
    let value
    try {
      value = fn()
    } finally {
      const { line } = this
      this.line = []
      if (line.length > 0) this.lines.append(line)
    }
    if (tells(value)) this.clock.turn(() => this.listeners.forEach((listener) => void listener()))
    return value
  }

  /** @param {store.RunRef} ref */
  find(ref) {
    this.lines.check()
    return this.runs.get(runKey(ref))
  }

  /** @param {store.RunRef} ref */
  mustFind(ref) {
    const rows = this.find(ref)
    if (rows === undefined) throw rules.runNotFound(ref)
    return rows
  }

  get allRuns() {
    return [...this.runs.values()].map(({ run }) => run)
  }

  get allItems() {
    return [...this.items].flatMap(([key, rows]) => rows.items.get(JSON.parse(key)[1]) ?? [])
  }

  /** @param {string} workerId */
  workerOf(workerId) {
    const row = this.workers.get(workerId)
    return row && { ...row, expired: row.leaseUntil <= this.clock.now() }
  }

  /**
   * @param {store.RunRows} rows
   * @param {store.LoadAt} [at]
   */
  load(rows, at) {
    return rules.loadedOf(rows, (workerId) => this.workers.get(workerId)?.diedAt, at)
  }

  /** @returns {store.RunsAt} Where the rules find and put runs. */
  runsAt() {
    const now = this.clock.now()
    return {
      now,
      find: (ref) => this.find(ref),
      childrenOf: ({ namespace, runId }) =>
        [...this.runs.values()].filter(
          ({ run }) => run.namespace === namespace && run.parentRunId === runId,
        ),
      findItem: ({ namespace, itemId }) =>
        this.items.get(keyOf(namespace, itemId))?.items.get(itemId) ?? null,
      add: (made) => {
        if (!this.runs.has(runKey(made.run))) this.keep('run', made)
      },
      put: ({ run: { namespace, runId } }, changes, commitId) =>
        this.keep('put', { ref: { namespace, runId }, changes, at: now, commitId }),
    }
  }
}

/**
 * @param {Kept} kept
 * @returns {store.LedgerPort & store.InboxPort}
 */
function ledgerAndInbox(kept) {
  return {
    ...rules.readsOf((ref) => kept.find(ref)),
    start: async (made) => {
      const start = () => {
        const known = kept.find(made.run)
        if (known === undefined) kept.keep('run', made)
        return { created: known === undefined, run: (known ?? made).run }
      }
      return kept.write(start, ({ created }) => created)
    },
    load: async (ref, at) => {
      const rows = kept.find(ref)
      return rows === undefined ? null : kept.load(rows, at)
    },
    commit: async (batch) => {
      const moves = batch.some(({ changes: { run, children } }) => run?.state || children?.length)
      const commit = () => batch.map((one) => rules.commitRows(kept.runsAt(), one))
      return kept.write(commit, () => moves)
    },
    amend: async (ref, by, change, at) => {
      const amend = () => {
        const rows = kept.mustFind(ref)
        const { changes, value } = change(kept.load(rows, at))
        if (changes) rules.applyRows(kept.runsAt(), rows, by, changes)
        return value
      }
      return kept.write(amend, () => true)
    },
    registerGraph: async (row) =>
      kept.write(() => {
        const known = kept.graphs.get(keyOf(row.namespace, row.name, row.version))
        if (known === undefined) kept.keep('graph', row)
        return known ?? row
      }),
    listRuns: async (filter) => rules.runPage(kept.allRuns, filter),
    findAttempt: async (tokenHash) => rules.attemptIn(kept.runs.values(), tokenHash),
    getItem: async (namespace, itemId) => kept.runsAt().findItem({ namespace, itemId }),
    listItems: async (filter) => rules.itemPage(kept.allItems, filter, kept.clock.now()),
    listOverdue: async (count) => rules.overdueOf(kept.allItems, kept.clock.now(), count),
  }
}

/**
 * @param {Kept} kept
 * @returns {store.LeasesPort}
 */
function leases(kept) {
  const { clock, workers } = kept
  /**
   * @param {string} workerId
   * @param {'stoppedAt' | 'diedAt'} at
   * @param {Partial<store.WorkerRow>} more
   */
  const end = async (workerId, at, more) => {
    const row = workers.get(workerId)
    const ended = () => row?.[at] === null && kept.keep('worker', { ...row, ...more })
    kept.write(ended, () => true)
  }
  return {
    register: async (worker, leaseMs) => {
      const known = workers.get(worker.workerId)
      if (known && rules.hasEnded(known)) throw rules.workerDead(worker.workerId)
      const leaseUntil = clock.now() + leaseMs
      const row = { ...(known ?? rules.newWorker(worker, leaseUntil)), leaseUntil }
      kept.write(() => kept.keep('worker', row))
    },
    renew: async (workerId, leaseMs) => {
      const row = workers.get(workerId)
      if (row === undefined || rules.hasEnded(row)) return false
      kept.write(() => kept.keep('worker', { ...row, leaseUntil: clock.now() + leaseMs }))
      return true
    },
    claim: async (request) => {
      if (rules.askedOf(request) === null) return []
      const me = workers.get(request.workerId)
      if (me === undefined || rules.hasEnded(me)) throw rules.workerDead(request.workerId)
      const holderOf = (/** @type {string} */ workerId) => kept.workerOf(workerId)
      const turn = rules.claimableOf(kept.allRuns, request, kept.served, holderOf)
      const taken = turn.taken.map((one) => rules.claimed(one, request.workerId, clock.now()))
      kept.write(() => taken.forEach((row) => void kept.keep('claim', row)))
      kept.served = turn.last
      return taken.map(({ run }) => run)
    },
    wakeDue: async (countMax) => {
      const { now, put } = kept.runsAt()
      const { due, pass } = rules.dueRuns(kept.allRuns, now, countMax)
      const wake = () => {
        for (const run of due) put(kept.mustFind(run), rules.woken(run, now, 'its time has come'))
      }
      kept.write(wake, () => pass.woken > 0)
      return pass
    },
    stopWorker: (workerId, ended) =>
      end(workerId, 'stoppedAt', { stoppedAt: clock.now(), ...(ended && { socketPath: null }) }),
    declareDead: (workerId, deathProof) =>
      end(workerId, 'diedAt', { diedAt: clock.now(), deathProof }),
    stops: async (workerId) =>
      kept.allRuns.filter(
        (run) => run.workerId === workerId && run.state === 'running' && run.stop,
      ),
    workers: async ({ provable = false } = {}) =>
      [...workers.keys()]
        .flatMap((workerId) => kept.workerOf(workerId) ?? [])
        .filter((row) => !provable || rules.isProvable(row)),
  }
}

/**
 * Opens the file, or makes it, with the key that signs its lines beside it.
 * @param {string} path
 * @returns {store.CoreStore}
 */
export function openFile(path, { clock = rules.systemClock } = {}) {
  const kept = new Kept(path, clock)
  return {
    ...{ url: `file:${path}`, clock, local: true, renewal: null, caveats },
    ...{ ...ledgerAndInbox(kept), ...leases(kept) },
    // Nobody sets it back: not the clock of the machine, and not a restart.
    steadyNow: () => {
      kept.steady = Math.max(kept.steady, clock.now())
      return kept.steady
    },
    onChange: (listener) => {
      kept.listeners.add(listener)
      return () => void kept.listeners.delete(listener)
    },
    close: async () => {
      kept.listeners.clear()
      kept.lines.close()
    },
  }
}
