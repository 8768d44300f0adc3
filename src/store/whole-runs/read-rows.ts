// What the rows of a run answer, for a store that keeps whole runs together. Rows are given as they
// are held; a store that signs them says of each whether its MAC is right.
import { visitOfAttempt } from '../../model/run/attempt-id.ts'
import {
  type Attempt,
  type CallRecord,
  type Checkpoint,
  type RunRef,
  sentHash,
} from '../../model/run/records.ts'
import type {
  CheckpointRow,
  InboxPort,
  LedgerPort,
  LoadAt,
  Loaded,
  OpenCall,
  Sealed,
} from '../store.ts'
import { eventPage, paged } from './lists.ts'
import { checkpointKey, type RunRows } from './run-rows.ts'

/** As a row of a store that nobody else can write to, or that has looked at its MAC before. */
function sealed<T extends object>(row: T): Sealed<T> {
  return { ...row, verifies: true }
}

/** `diedAt`: since when the death of a worker is on record. */
export function loadedOf(
  rows: RunRows,
  diedAt: (workerId: string) => number | null | undefined,
  at?: LoadAt,
): Loaded {
  const { run } = rows
  const visit = at?.visit ?? run.visit
  const suffix = `#${run.generation}#${visit}`
  const here = (row: { generation: number; visit: number }) =>
    row.generation === run.generation && row.visit === visit
  const isHere = ({ nodeId, checkpointId }: CallRecord) =>
    at?.scope
      ? nodeId === at.scope.nodeId && checkpointId === at.scope.checkpointId
      : checkpointId.endsWith(suffix)
  const all = [...rows.records.values()]
  const attempts = attemptsOf(rows).filter((row) => here(visitOfAttempt(row.attemptId)))
  const deaths = new Map<string, number>()
  for (const { workerId } of attempts) {
    const died = diedAt(workerId)
    if (died) deaths.set(workerId, died)
  }
  return {
    run,
    checkpoints: at === undefined ? chainOf(rows, run.generation, visit) : [],
    records: all.filter(isHere).map(sealed),
    attempts,
    evidence: [...rows.evidence.values()]
      .filter((row) => here(visitOfAttempt(row.attemptId)))
      .map(sealed),
    items: [...rows.items.values()].filter(here),
    decisions: [...rows.decisions.values()].filter(here).map(sealed),
    signals: [...rows.signals.values()].filter((row) => row.usedBy === null).map(sealed),
    unresolved: all
      .filter((row) => row.unresolved)
      .map(({ tool, inputHash }) => ({ tool, inputHash })),
    deaths,
  }
}

/** In the order of generation and visit. */
function checkpointsOf(rows: RunRows | undefined): Checkpoint[] {
  const all = [...(rows?.checkpoints.values() ?? [])]
  return all.sort((a, b) => a.generation - b.generation || a.visit - b.visit)
}

function checkpointRow({ bodyJson, ...row }: Checkpoint): CheckpointRow {
  return { ...row, bytes: Buffer.byteLength(bodyJson) }
}

/** The rows that the state at this visit is made of; none if the visit has no checkpoint. */
function chainOf(rows: RunRows | undefined, generation: number, visit: number): Checkpoint[] {
  const last = rows?.checkpoints.get(checkpointKey({ generation, visit }))
  if (last === undefined) return []
  return checkpointsOf(rows).filter(
    (row) => row.generation === generation && row.visit <= visit && row.visit >= last.baseVisit,
  )
}

/** In the order they were made; those of one moment as they were put. */
function recordsOf(rows: RunRows | undefined): Sealed<CallRecord>[] {
  const all = [...(rows?.records.values() ?? [])]
  return all.sort((a, b) => a.createdAt - b.createdAt).map(sealed)
}

/** In the order of their dispatch. */
function attemptsOf(rows: RunRows | undefined): Sealed<Attempt>[] {
  const inOrder = (a: Attempt, b: Attempt) =>
    a.dispatchedAt - b.dispatchedAt || (a.attemptId < b.attemptId ? -1 : 1)
  return [...(rows?.attempts.values() ?? [])].sort(inOrder).map(sealed)
}

export function isOpenCall({ status, replayClass }: CallRecord): boolean {
  return replayClass !== 'pure' && (status === 'pending' || status === 'in_doubt')
}

function openCallsOf(rows: RunRows | undefined): OpenCall[] {
  return [...(rows?.records.values() ?? [])].filter(isOpenCall).map((row) => {
    const { nodeId, checkpointId, tool, inputHash, occurrence, nth } = row
    const { attempt, status, replayClass } = row
    return { nodeId, checkpointId, tool, inputHash, occurrence, nth, attempt, status, replayClass }
  })
}

/** The hash of what was sent with this key first. */
function keyInputOf(rows: RunRows | undefined, tool: string, key: string): string | null {
  const all = [...(rows?.records.values() ?? [])]
  const used = all.find((row) => row.tool === tool && row.idempotencyKey === key)
  return used === undefined ? null : sentHash(used)
}

type Reads =
  | ('getRun' | 'listRecords' | 'listAttempts' | 'listEvidence' | 'listCheckpoints')
  | ('loadCheckpoints' | 'listEvents' | 'keyInput' | 'openCalls' | 'getSignal')

/** What the ledger and the inbox answer of one run, for a store that finds its rows. */
export function readsOf(
  find: (ref: RunRef) => RunRows | undefined,
): Pick<LedgerPort, Reads> & Pick<InboxPort, 'listDecisions'> {
  return {
    getRun: async (ref) => find(ref)?.run ?? null,
    listRecords: async (ref, page) => paged(recordsOf(find(ref)), page),
    listAttempts: async (ref) => attemptsOf(find(ref)),
    listEvidence: async (ref) => [...(find(ref)?.evidence.values() ?? [])].map(sealed),
    listCheckpoints: async (ref) => checkpointsOf(find(ref)).map(checkpointRow),
    loadCheckpoints: async (ref, generation, visit) => chainOf(find(ref), generation, visit),
    listEvents: async (ref, page) => eventPage(find(ref)?.events ?? [], page),
    keyInput: async (ref, tool, key) => keyInputOf(find(ref), tool, key),
    openCalls: async (ref) => openCallsOf(find(ref)),
    getSignal: async (ref, signalId) => find(ref)?.signals.get(signalId) ?? null,
    listDecisions: async (ref) => [...(find(ref)?.decisions.values() ?? [])].map(sealed),
  }
}

/** The attempt with this token, in whatever run. */
export function attemptIn(
  runs: Iterable<RunRows>,
  tokenHash: string,
): (RunRef & { attemptId: string }) | null {
  for (const { run, attempts } of runs) {
    const found = [...attempts.values()].find((row) => row.tokenHash === tokenHash)
    const { namespace, runId } = run
    if (found) return { namespace, runId, attemptId: found.attemptId }
  }
  return null
}
