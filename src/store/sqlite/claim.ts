// Owns: which runs a worker is given. Claims go round the groups of namespace and graph; within a
// group the oldest run comes first, whether it waits for a worker or its worker's lease has ended.
// Does not own: what a lease is and when it ends (lease.ts).
// Invariants: D2 a claim raises the fence in the transaction that changes the holder, so that from
// then on nothing of the former holder lands (I2). A look costs seeks by group, never by run.
import type { Run, RunRef } from '../../model/run/records.ts'
import { askedOf, workerDead } from '../rules/claim.ts'
import { grouped, inTurn, rotated } from '../rules/fair.ts'
import type { ClaimRequest } from '../store.ts'
import { movedSince } from './identity/incarnation.ts'
import { type Cause, lapse, lapsedHolders } from './lease.ts'
import type { Connection } from './opening/connection.ts'
import { storeError } from './opening/errors.ts'
import * as tables from './tables.ts'
import { applyRows, putRun } from './write.ts'

/** Some runs of a group: those of one version that wait, or that one lost worker has left. */
interface Source {
  readonly namespace: string
  readonly graph: string
  readonly version: string
  readonly holder: string | null
  readonly cause: Cause
}

interface Candidate {
  readonly rowid: number
  readonly cause: Cause
}

/** Looks first without the lock, since most looks of an idle worker find nothing. */
export function claim(c: Connection, request: ClaimRequest): Run[] {
  if (askedOf(request) === null) return []
  if (request.only !== undefined) return claimOne(c, request, request.only)
  if (c.plain(() => sources(c, request)).length === 0) return []
  return c.write(() => {
    const groups = turnOf(c, sources(c, request), request.countMax)
    const { taken, last } = inTurn(groups, c.served, request.countMax)
    c.served = last
    return taken.map((one) => take(c, request.workerId, one))
  })
}

function checkMayClaim(c: Connection, workerId: string): void {
  const moved = movedSince(c)
  if (moved !== null) throw storeError('STORE_MOVED', c.path, { says: moved })
  const own = lapse(c, workerId)
  if (own !== null && own !== 'expired') throw workerDead(workerId)
}

function sources(c: Connection, request: ClaimRequest): Source[] {
  checkMayClaim(c, request.workerId)
  return [...waitingSources(c, request), ...lapsedSources(c, request)]
}

const nextWaiting = `select namespace from runs
  where state = 'pending' and graph = ? and version = ? and namespace > ?
  order by namespace limit 1`
const anyWaiting = `select namespace from runs
  where state = 'pending' and graph = ? and version = ? and namespace = ? limit 1`

function waitingSources(c: Connection, request: ClaimRequest): Source[] {
  return request.graphs.flatMap(({ name: graph, version }) => {
    const find = (sql: string, namespace: string) =>
      c.sql(sql).get(graph, version, namespace)?.[0] as string | undefined
    const found = new Set<string>()
    const from = request.namespace ?? (c.served.split('\n')[0] as string)
    if (find(anyWaiting, from) !== undefined) found.add(from)
    if (request.namespace === undefined) {
      // Those whose turn comes next, then from the beginning; a group more than runs is enough.
      for (const begin of [from, '']) {
        let last: string | undefined = begin
        while (found.size <= request.countMax) {
          last = find(nextWaiting, last)
          if (last === undefined || found.has(last)) break
          found.add(last)
        }
      }
    }
    return [...found].map((namespace) => ({
      ...{ namespace, graph, version, holder: null, cause: 'pending' as const },
    }))
  })
}

const nextHeld = `select graph, version, namespace from runs
  where state = 'running' and worker_id = ? and (graph, version, namespace) > (?, ?, ?)
  order by graph, version, namespace limit 1`

/** By jumping from one group of a lost worker's runs to the next. */
function lapsedSources(c: Connection, request: ClaimRequest): Source[] {
  const carried = new Set(request.graphs.map(({ name, version }) => `${name}@${version}`))
  return lapsedHolders(c).flatMap(({ holder, cause }) => {
    const found: Source[] = []
    for (let at: unknown[] | undefined = ['', '', '']; ; ) {
      at = c.sql(nextHeld).get(holder, ...at)
      if (at === undefined) return found
      const [graph, version, namespace] = at as [string, string, string]
      if (!carried.has(`${graph}@${version}`)) continue
      if ((request.namespace ?? namespace) !== namespace) continue
      found.push({ namespace, graph, version, holder, cause })
    }
  })
}

const oldestWaiting = `select rowid from runs
  where state = 'pending' and graph = ? and version = ? and namespace = ? order by rowid limit ?`
const oldestHeld = `select rowid from runs
  where state = 'running' and worker_id = ? and graph = ? and version = ? and namespace = ?
  order by rowid limit ?`

/** The groups whose turn it is, as many as runs are wanted, each with its oldest runs. */
function turnOf(c: Connection, all: readonly Source[], countMax: number) {
  return rotated(
    grouped(all, (source) => source),
    c.served,
  )
    .slice(0, countMax)
    .map(({ key, rows: parts }) => {
      const rows = parts.flatMap((part) => oldest(c, part, countMax))
      return { key, rows: rows.sort((a, b) => a.rowid - b.rowid).slice(0, countMax) }
    })
}

function oldest(c: Connection, source: Source, countMax: number): Candidate[] {
  const { holder, graph, version, namespace, cause } = source
  const rows =
    holder === null
      ? c.sql(oldestWaiting).all(graph, version, namespace, countMax)
      : c.sql(oldestHeld).all(holder, graph, version, namespace, countMax)
  return rows.map(([rowid]) => ({ rowid: rowid as number, cause }))
}

const oneOf = `select rowid, state, worker_id, graph, version from runs
  where run_id = ? and namespace = ?`

function claimOne(c: Connection, request: ClaimRequest, { namespace, runId }: RunRef): Run[] {
  const find = () => {
    checkMayClaim(c, request.workerId)
    const row = c.sql(oneOf).get(runId, namespace)
    return row === undefined ? [] : candidate(c, request, row)
  }
  if (c.plain(find).length === 0) return []
  return c.write(() => find().map((one) => take(c, request.workerId, one)))
}

function candidate(c: Connection, { graphs }: ClaimRequest, row: unknown[]): Candidate[] {
  const [rowid, state, holder, graph, version] = row as [number, ...(string | null)[]]
  if (!graphs.some((one) => one.name === graph && one.version === version)) return []
  if (state === 'pending') return [{ rowid, cause: 'pending' }]
  const cause = state === 'running' && holder ? lapse(c, holder) : null
  return cause === null ? [] : [{ rowid, cause }]
}

const runByRowid = `select ${tables.runs.columns} from runs where rowid = ?`

function take(c: Connection, workerId: string, { rowid, cause }: Candidate): Run {
  const run = tables.runs.decode(c.sql(runByRowid).get(rowid) ?? [])
  const { namespace, runId, generation, visit } = run
  const now = c.clock.now()
  const next: Run = {
    ...run,
    state: 'running',
    waitingFor: null,
    fence: run.fence + 1,
    workerId,
    claims: run.claims + 1,
    updatedAt: now,
  }
  putRun(c, run, next)
  const kind = cause === 'pending' ? 'claimed' : 'taken_over'
  const data = { worker: workerId, from: run.workerId, cause, fence: next.fence }
  applyRows(c, { events: [{ namespace, runId, at: now, kind, generation, visit, data }] })
  return next
}
