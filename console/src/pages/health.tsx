// Health: the figures that tell whether the promise is kept.
import { useResource } from '../resource.ts'
import { Badge, Loaded } from '../ui/parts.tsx'
import { Plot } from '../ui/plot.tsx'
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
        <Plot label={spec.title} times={times} series={series} text={spec.text} />
      ) : (
        <p class="dim pad">Nothing was measured in the last hour.</p>
      )}
    </section>
  )
}
