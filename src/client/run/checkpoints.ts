// The checkpoints of a run as people read them (D11): what each holds, whether it can be believed,
// and which could be pinned instead. It changes nothing.

import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { type ChainRead, readChain } from '../../model/run/checkpoint.ts'
import type { Checkpoint, Run } from '../../model/run/records.ts'
import type { CheckpointRow, LedgerPort } from '../../store/store.ts'

export interface CheckpointLook {
  readonly row: CheckpointRow
  /** From the base to the row itself, as they were read. */
  readonly chain: readonly CheckpointRow[]
  readonly read: ChainRead
}

export async function inspectCheckpoint(
  store: LedgerPort,
  run: Run,
  visit = run.visit,
): Promise<CheckpointLook> {
  const rows = await store.listCheckpoints(run)
  const known = rows.find((row) => row.generation === run.generation && row.visit === visit)
  if (known === undefined) throw notFound(run, visit, rows)
  const loaded = await store.loadCheckpoints(run, run.generation, visit)
  const read = readChain(loaded, expected(run, visit))
  const chain = loaded.map((one) => {
    const row = rows.find((each) => each.generation === one.generation && each.visit === one.visit)
    return sized(one, row?.bodyDigest ?? null)
  })
  return { row: chain.find((row) => row.visit === visit) ?? known, chain, read }
}

/**
 * Which visits of the present generation have a checkpoint that can be believed. Every row is read
 * once: a chain that is good is good up to each of its rows, and one that is not is bad from there.
 */
export async function goodVisits(
  store: LedgerPort,
  run: Run,
  onProgress: (visits: number) => void = () => {},
): Promise<Set<number>> {
  const rows = (await store.listCheckpoints(run)).filter((row) => row.generation === run.generation)
  const ends = new Map(rows.map((row) => [row.baseVisit, row.visit]))
  const good = new Set<number>()
  for (const visit of ends.values()) {
    const chain = await store.loadCheckpoints(run, run.generation, visit)
    const read = readChain(chain, expected(run, visit))
    for (const row of read.ok ? chain.map((one) => one.visit) : read.good) good.add(row)
    onProgress(good.size)
  }
  return good
}

/** Where the run stands now, the checkpoint has to be of its node as well. */
function expected(run: Run, visit: number) {
  const { namespace, runId, generation, version, node } = run
  const place = { namespace, runId, generation, version, visit }
  return visit === run.visit ? { ...place, node } : place
}

/** With the size of the body wherever it lies; a body that was read no longer says that. */
function sized({ bodyJson, ...row }: Checkpoint, bodyDigest: string | null): CheckpointRow {
  return { ...row, bodyDigest, bytes: Buffer.byteLength(bodyJson) }
}

function notFound(run: Run, visit: number, rows: readonly CheckpointRow[]): CounterfoilError {
  const visits = rows.filter((row) => row.generation === run.generation).map((row) => row.visit)
  const has = visits.length > 8 ? `${visits.slice(-8).join(', ')} and earlier` : visits.join(', ')
  return errorFor('CHECKPOINT_NOT_FOUND', run.runId, `it has those of ${has || 'none'}`, { visit })
}
