// How long the rows of ended runs are kept (B6): the rule, the same for every store.
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import * as limits from '../../model/limits.ts'
import type { Run, Swept } from '../../model/run/records.ts'
import type { RunState } from '../../model/run/states.ts'
import type { Retention } from '../store.ts'

export function checkRetention({ pureMs, keyedMs, unsafeMs }: Retention): void {
  const floor = limits.retentionFloorMs
  if (!(unsafeMs >= floor)) {
    const says = `unsafeMs is ${unsafeMs}, and has to be at least ${floor} (14 days)`
    throw invalid(`${says}: until then a late answer or an auditor may ask for the records`)
  }
  if (0 <= pureMs && pureMs <= keyedMs && keyedMs <= unsafeMs) return
  throw invalid(
    `pureMs ${pureMs}, keyedMs ${keyedMs}, unsafeMs ${unsafeMs}: each has to be at least the one ` +
      'before it, and none below 0',
  )
}

function invalid(says: string): CounterfoilError {
  return errorFor('RETENTION_INVALID', `retention: ${says}`)
}

/** Ended runs of this state, of which so much was taken, lose so much more at that age. */
export interface Stage {
  readonly state: RunState
  readonly swept: Swept | null
  readonly ageMs: number
}

/**
 * Which runs a pass looks at. A failed run can be tried again, and its records then answer: it
 * keeps everything for the longest time.
 */
export function stages({ pureMs, keyedMs, unsafeMs }: Retention): readonly Stage[] {
  const done = (['completed', 'cancelled'] as const).flatMap((state): Stage[] => [
    { state, swept: null, ageMs: pureMs },
    { state, swept: 'pure', ageMs: keyedMs },
    { state, swept: 'keyed', ageMs: unsafeMs },
  ])
  return [...done, { state: 'failed', swept: null, ageMs: unsafeMs }]
}

/** What may be taken of the run by now, the rows of earlier stages included; null: nothing more. */
export function dueOf(run: Run, keep: Retention, now: number): Swept | null {
  if (run.endedAt === null || run.swept === 'all') return null
  const age = now - run.endedAt
  if (age >= keep.unsafeMs) return 'all'
  if (run.state === 'failed') return null
  if (age >= keep.keyedMs) return run.swept === 'keyed' ? null : 'keyed'
  return age >= keep.pureMs && run.swept === null ? 'pure' : null
}

/**
 * A parent that can still replay (also one that has failed and may be tried again) reads the end of
 * its child, whose large output lies with the child's row.
 */
export function keepsChildren(parent: Run | null): boolean {
  if (parent === null) return false
  return parent.endedAt === null || (parent.state === 'failed' && parent.swept === null)
}

/** The row that stays, so that its id is never a new run. */
export function tombstone(run: Run): Run {
  return {
    ...run,
    outputJson: null,
    outputDigest: null,
    errorJson: null,
    waitingFor: null,
    stop: null,
    swept: 'all',
  }
}

/** A run that was taken whole is no ground for anything: no retry, no late word. */
export function checkNotSwept(run: Run): void {
  if (run.swept !== 'all') return
  const why =
    'it has ended and its rows were removed by retention; start a new run under another id'
  throw errorFor('WRITE_REFUSED', run.runId, why)
}
