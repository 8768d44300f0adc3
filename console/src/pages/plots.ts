// Which figures the Health page plots, and where they stand in what the server measures.
import { duration } from '../words.ts'

export interface PlotSpec {
  readonly title: string
  readonly tells: string
  /** Why there may be nothing to show. */
  readonly absent?: string
  readonly text: (value: number) => string
  /** How high the axis is at least; 1 unless told. */
  readonly topMin?: number
  readonly series: readonly (readonly [label: string, path: string])[]
}

const percent = (value: number) => `${Math.round(value * 100)} %`
const count = (value: number) => (Number.isInteger(value) ? `${value}` : value.toFixed(1))
const ms = (value: number) => duration(Math.round(value))

export const plots: readonly PlotSpec[] = [
  {
    title: 'Resume success',
    tells:
      'Runs that were taken over after a death or a loss, and have ended: the part that completed.',
    absent: 'No run that was resumed has ended in the last hour.',
    text: percent,
    series: [['success', 'resume_success_rate']],
  },
  {
    title: 'Duplicate effects',
    tells: 'Effects that are known to have happened twice. The target is 0.',
    text: count,
    series: [['duplicates', 'duplicate_effects']],
  },
  {
    title: 'Sent again',
    tells: 'Retries of pure calls, re-sends with the recorded key, and unsafe calls sent again.',
    text: count,
    series: [
      ['pure', 'pure_retries'],
      ['keyed', 'keyed_resends'],
      ['unsafe', 'unsafe_resends'],
    ],
  },
  {
    title: 'Time waiting for a person',
    tells: 'How long items were open before somebody decided.',
    text: ms,
    topMin: 1_000,
    series: [
      ['approvals p50', 'waits.approval.p50_ms'],
      ['approvals p95', 'waits.approval.p95_ms'],
      ['doubts p50', 'waits.doubt.p50_ms'],
      ['doubts p95', 'waits.doubt.p95_ms'],
    ],
  },
  {
    title: 'Oldest doubt',
    tells: 'How long the doubt at the front of the inbox has waited.',
    text: ms,
    topMin: 1_000,
    series: [['age', 'oldest_doubt_ms']],
  },
  {
    title: 'Unsafe window',
    tells: 'From dispatch to receipt: a worker that dies in between leaves a doubt.',
    text: ms,
    topMin: 1_000,
    series: [
      ['p50', 'unsafe_window.p50_ms'],
      ['p95', 'unsafe_window.p95_ms'],
    ],
  },
  {
    title: 'Commit batches',
    tells: 'How many commits of different runs share a transaction.',
    absent:
      'Only workers measure this, and this server is not a worker: see the metrics of the workers.',
    text: count,
    series: [['commits in a batch', 'commits.batch_mean']],
  },
  {
    title: 'What waits',
    tells: 'Items before people, and runs before workers, of the whole store.',
    absent: 'Your token is for one namespace, and these figures are of all of them.',
    text: count,
    series: [
      ['open items', 'backlog.open_items'],
      ['overdue', 'backlog.overdue_items'],
      ['pending runs', 'backlog.pending'],
      ['orphans', 'backlog.orphans'],
    ],
  },
]

export type Figures = Readonly<Record<string, unknown>>

/** The number at a path like `backlog.pending`; null if there is none. */
export function figureAt(figures: Figures, path: string): number | null {
  let found: unknown = figures
  for (const name of path.split('.')) {
    found = (found as Figures | null | undefined)?.[name]
  }
  return typeof found === 'number' ? found : null
}
