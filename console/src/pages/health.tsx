// Health: the figures that tell whether the promise is kept.
import { useResource } from '../resource.ts'
import { Badge, Loaded, Section } from '../ui/parts.tsx'
import { Plot } from '../ui/plot.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { parseMs } from '../words.ts'
import { type Figures, figureAt, type PlotSpec, plots } from './plots.ts'

interface Stats {
  readonly at: string
  readonly totals: Figures
  readonly minutes: readonly (Figures & { readonly at: string })[]
}

export function HealthPage() {
  const stats = useResource<Stats>('/v1/stats')
  return (
    <>
      <h1>Health</h1>
      <Loaded from={stats}>
        {(data) => (
          <>
            <Tiles totals={data.totals} />
            <Calls totals={data.totals} />
            <div class="plots">
              {plots.map((spec) => (
                <Panel key={spec.title} spec={spec} stats={data} />
              ))}
            </div>
          </>
        )}
      </Loaded>
    </>
  )
}

function Tiles({ totals }: { totals: Figures }) {
  const runs = (totals['runs'] ?? {}) as Readonly<Record<string, number>>
  return (
    <ul class="tiles" aria-label="Runs by state">
      {Object.entries(runs).map(([state, count]) => (
        <li key={state}>
          <span class="big">{count.toLocaleString()}</span>
          <Badge word={state} />
        </li>
      ))}
    </ul>
  )
}

interface CallFigure {
  readonly replay_class: string
  readonly outcome: string
  readonly count: number
}

const columns: readonly Column<CallFigure>[] = [
  { head: 'Class', class: 'main', cell: (row) => <Badge word={row.replay_class} tone="plain" /> },
  { head: 'Outcome', cell: (row) => <Badge word={row.outcome} /> },
  { head: 'Calls', cell: (row) => row.count.toLocaleString() },
]

function Calls({ totals }: { totals: Figures }) {
  const calls = (totals['calls'] ?? []) as readonly CallFigure[]
  return (
    <Section title="Calls by class and outcome, of the last hour">
      {calls.length === 0 ? (
        <p>No call was made.</p>
      ) : (
        <Table
          label="Calls by class and outcome"
          columns={columns}
          rows={calls}
          id={(row) => `${row.replay_class}/${row.outcome}`}
        />
      )}
    </Section>
  )
}

function Panel({ spec, stats }: { spec: PlotSpec; stats: Stats }) {
  const series = spec.series.map(([label, path]) => ({
    label,
    values: stats.minutes.map((minute) => figureAt(minute, path)),
  }))
  const measured = series.some(({ values }) => values.some((value) => value !== null))
  const times = stats.minutes.map(({ at }) => parseMs(at))
  return (
    <section class="panel" aria-label={spec.title}>
      <header>
        <h2>{spec.title}</h2>
      </header>
      <p class="dim">{spec.tells}</p>
      {measured ? (
        <Plot
          label={spec.title}
          times={times}
          series={series}
          text={spec.text}
          topMin={spec.topMin ?? 1}
        />
      ) : (
        <p class="pad">{spec.absent ?? 'Nothing was measured in the last hour.'}</p>
      )}
    </section>
  )
}
