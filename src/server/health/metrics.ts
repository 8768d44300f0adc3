// Figures as Prometheus reads them. What each means is in docs/guides/server.md.
import type { ServerContext } from '../context.ts'
import type { WorkerFigures } from '../parts.ts'
import { type Figures, readFigures, type Scope, type Spread } from './figures.ts'

type Labels = Readonly<Record<string, string>>

interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'gauge' | 'counter' | 'histogram'
  /** `end`: of the name, for the parts of a histogram. */
  readonly values: readonly (readonly [Labels, number, end?: string])[]
}

export async function metricsText(server: ServerContext, scope: Scope): Promise<string> {
  const figures = await readFigures(server, scope)
  const own = scope.wide ? ofProcess(server) : []
  const metrics = [...ofRuns(figures), ...ofStore(figures), ...ofHour(figures), ...own]
  return metrics.map(textOf).join('')
}

function textOf({ name, help, type, values }: Metric): string {
  const full = `counterfoil_${name}`
  const lines = values.map(
    ([labels, value, end = '']) => `${full}${end}${labelsOf(labels)} ${value}\n`,
  )
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join('')}`
}

function labelsOf(labels: Labels): string {
  const parts = Object.entries(labels).map(([key, value]) => `${key}="${escaped(value)}"`)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

const escaped = (value: string) =>
  value.replace(/[\\"\n]/g, (mark) => (mark === '\n' ? '\\n' : `\\${mark}`))

function gauge(name: string, help: string, value: number): Metric {
  return { name, help, type: 'gauge', values: [[{}, value]] }
}

function counter(name: string, help: string, value: number): Metric {
  return { name, help, type: 'counter', values: [[{}, value]] }
}

const seconds = (ms: number) => ms / 1_000

function ofRuns({ runs, oldest_doubt_ms: doubtMs }: Figures): Metric[] {
  const values = Object.entries(runs).map(([state, count]) => [{ state }, count] as const)
  return [
    { name: 'runs', help: 'Runs by state.', type: 'gauge', values },
    gauge('doubt_oldest_seconds', 'Age of the oldest open doubt.', seconds(doubtMs)),
  ]
}

function ofStore({ backlog }: Figures): Metric[] {
  if (backlog === null) return []
  return [
    gauge('runs_pending', 'Runs that wait for a worker.', backlog.pending),
    gauge(
      'runs_pending_oldest_seconds',
      'How long the first of them has waited.',
      seconds(backlog.oldest_pending_ms),
    ),
    gauge('runs_orphaned', 'Runs held by workers whose lease has ended.', backlog.orphans),
    gauge('wakes_due', 'Runs whose time to wake has come.', backlog.due),
    gauge('sweeper_lag_seconds', 'How late the first of them is.', seconds(backlog.due_lag_ms)),
    gauge('items_open', 'What waits for people.', backlog.open_items),
    gauge('items_overdue', 'Of these, past their SLA.', backlog.overdue_items),
  ]
}

/** The parts of a histogram: all of them can be added up. */
function partsOf(labels: Labels, { count, sum_ms: sum, buckets }: Spread): Metric['values'] {
  return [
    ...buckets.map(
      (one) => [{ ...labels, le: `${seconds(one.le_ms)}` }, one.count, '_bucket'] as const,
    ),
    [{ ...labels, le: '+Inf' }, count, '_bucket'],
    [labels, seconds(sum), '_sum'],
    [labels, count, '_count'],
  ]
}

function ofHour(figures: Figures): Metric[] {
  const { calls, attempts, waits, resumes, ended, ended_resumed, usage } = figures
  return [
    {
      name: 'calls_1h',
      type: 'gauge',
      help: 'Calls of the last hour by class and outcome.',
      values: calls.map(({ replay_class, outcome, count }) => [{ replay_class, outcome }, count]),
    },
    {
      name: 'attempts_1h',
      type: 'gauge',
      help: 'Attempts of these calls by class.',
      values: attempts.map(({ replay_class, count }) => [{ replay_class }, count]),
    },
    gauge('pure_retries_1h', 'Pure calls that were tried again.', figures.pure_retries),
    gauge('keyed_resends_1h', 'Keyed calls that were sent again.', figures.keyed_resends),
    gauge('unsafe_resends_1h', 'Unsafe calls that were sent again.', figures.unsafe_resends),
    gauge(
      'duplicate_effects_1h',
      'Effects that are known to have happened twice. The target is 0.',
      figures.duplicate_effects,
    ),
    {
      name: 'unsafe_window_seconds_1h',
      type: 'histogram',
      help: 'From the dispatch of an unsafe call to its receipt, of the last hour.',
      values: partsOf({}, figures.unsafe_window),
    },
    {
      name: 'wait_seconds_1h',
      type: 'histogram',
      help: 'How long items waited for people, by kind, of the last hour.',
      values: Object.entries(waits).flatMap(([kind, spread]) => partsOf({ kind }, spread)),
    },
    {
      name: 'resumes_1h',
      type: 'gauge',
      help: 'Runs that were taken over after a death or a loss, by cause.',
      values: Object.entries(resumes).map(([cause, count]) => [{ cause }, count]),
    },
    {
      name: 'runs_ended_1h',
      type: 'gauge',
      help: 'Runs that ended, by state, and by whether they were resumed.',
      values: Object.entries(ended).flatMap(([state, count]) => {
        const after = ended_resumed[state] ?? 0
        return [
          [{ state, resumed: 'true' }, after],
          [{ state, resumed: 'false' }, count - after],
        ] as const
      }),
    },
    gauge('tokens_in_1h', 'Tokens that calls have said they took.', usage.tokens_in),
    gauge('tokens_out_1h', 'Tokens that calls have said they gave.', usage.tokens_out),
    gauge('usd_1h', 'Money that calls have said they cost.', usage.usd),
  ]
}

function ofProcess({ figures, streams }: ServerContext): Metric[] {
  const { workers, commits } = figures()
  const sum = (key: keyof WorkerFigures) => workers.reduce((total, one) => total + one[key], 0)
  const max = (key: keyof WorkerFigures) => Math.max(0, ...workers.map((one) => one[key]))
  const size = commits.batches === 0 ? 0 : commits.commits / commits.batches
  return [
    gauge('worker_runs', 'Runs that workers of this process work on.', sum('running')),
    counter('claims_total', 'Runs that workers of this process have claimed.', sum('claimed')),
    counter('lease_losses_total', 'Runs whose lease ended while worked on.', sum('lost')),
    counter('wakes_total', 'Runs that this process has woken.', sum('woken')),
    gauge('wake_lag_max_seconds', 'The latest of these.', seconds(max('wakeLagMaxMs'))),
    counter('sla_passed_total', 'Items that this process noted as late.', sum('overdue')),
    counter('swept_total', 'Ended runs that retention took something of.', sum('swept')),
    counter('commit_batches_total', 'Transactions of this process.', commits.batches),
    counter('commits_total', 'Commits in them.', commits.commits),
    counter(
      'commit_failures_total',
      'Commits that failed and were written again.',
      commits.failures,
    ),
    gauge('commit_batch_size', 'Commits in a transaction, on average.', size),
    gauge('streams_open', 'Open event streams.', streams.count),
  ]
}
