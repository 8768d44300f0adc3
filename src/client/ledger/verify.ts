// Checks a ledger against itself (B8): every MAC, and what the rows of a run say about each other
// and about its events. It changes nothing, holds one run at a time, and may be used while workers
// work: a run that changes under its eyes is looked at again.
import { systemClock } from '../../clock.ts'
import { errorFor } from '../../model/errors.ts'
import type { Run } from '../../model/run/records.ts'
import { rowsOf } from '../../store/pages.ts'
import type { CoreStore } from '../../store/store.ts'
import type { Finding, VerifyCounts } from './findings.ts'
import { RunCheck } from './verify-run.ts'
import { stoodStill } from './verify-still.ts'
import { toleranceMs } from './verify-times.ts'

export interface VerifyOptions {
  readonly namespace: string
  /** This run only. */
  readonly runId?: string
  readonly onProgress?: (runs: number) => void
  /** Findings that are kept; the others are counted. */
  readonly findingsMax?: number
}

export interface VerifyReport {
  readonly counts: VerifyCounts
  readonly findings: readonly Finding[]
  /** All of them, also those that were not kept. */
  readonly found: number
  /** Runs that changed at every look: of these only the MACs count. */
  readonly moving: readonly string[]
  /** What this check cannot show, in sentences. */
  readonly limits: readonly string[]
}

const findingsMax = 1_000
const looksMax = 3

const notCovered = [
  'A row that was set back to an earlier form of itself, with the MAC of that time, verifies; ' +
    'it shows only where attempts, decisions or events contradict it.',
  'Rows that were removed together with everything that mentions them leave no trace, and so ' +
    'does a run that was removed whole, or a call that was sent once and landed: its attempt ' +
    'lies in its own row.',
  'Runs, items, events and attempts that have not ended carry no MAC: they are compared with ' +
    'what is signed, and where nothing signed speaks of them a change does not show.',
  'Large results lie in blobs, which are not read here: what is signed is their digest.',
  'Of the checkpoints only those that the run stands on now are read.',
  `Times are compared with a tolerance of ${toleranceMs / 1_000} s.`,
  'Whoever has the key can sign what they like.',
]

/** Checks a whole store, or one run. What is wrong is data, not an exception. */
export async function verifyLedger(
  store: CoreStore,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const counts = { runs: 0, calls: 0, attempts: 0, decisions: 0, evidence: 0, checkpoints: 0 }
  const findings: Finding[] = []
  const moving: string[] = []
  let found = 0
  const most = options.findingsMax ?? findingsMax
  for await (const run of runsOf(store, options)) {
    const look = await lookAt(store, run)
    if (look.moved) moving.push(run.runId)
    for (const key of Object.keys(counts) as (keyof VerifyCounts)[]) counts[key] += look.counts[key]
    found += look.findings.length
    findings.push(...look.findings.slice(0, Math.max(0, most - findings.length)))
    options.onProgress?.(counts.runs)
    // Stores may answer without ever leaving the turn: others in this process must have theirs.
    await new Promise<void>((resolve) => systemClock.turn(resolve))
  }
  return { counts, findings, found, moving, limits: [...notCovered, ...store.caveats] }
}

async function* runsOf(store: CoreStore, options: VerifyOptions): AsyncGenerator<Run> {
  const { namespace, runId } = options
  if (runId === undefined) {
    return yield* rowsOf((page) => store.listRuns({ namespace, ...page }))
  }
  const run = await store.getRun({ namespace, runId })
  if (run === null) throw errorFor('RUN_NOT_FOUND', runId)
  yield run
}

type Look = RunCheck & { moved: boolean }

/** The rows are read one after the other: only if the run stood still do they belong together. */
async function lookAt(store: CoreStore, first: Run): Promise<Look> {
  let run = first
  for (let looks = 1; ; looks++) {
    const check = new RunCheck(store, run)
    await check.look()
    const after = await store.getRun(first)
    const moved = !(await stoodStill(store, run, after, check.seen))
    if (!moved || looks === looksMax) {
      if (moved) check.keepCertain()
      return Object.assign(check, { moved })
    }
    run = after ?? run
  }
}
