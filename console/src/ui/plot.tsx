// A plot over time, with the same figures as a table for whoever does not see it.
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'preact/hooks'
import { theme } from '../theme.ts'
import { clockTime, hourMinute } from '../words.ts'

export interface Series {
  readonly label: string
  /** One for each moment; null where nothing was measured. */
  readonly values: readonly (number | null)[]
}

interface Props {
  readonly label: string
  /** In milliseconds. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly text: (value: number) => string
  /** How high the axis is at least: what is tiny must not look large. */
  readonly topMin: number
}

const height = 170
const colors = ['--accent', '--wait', '--good', '--bad', '--dim'] as const

/** Colours as the theme has them now: a canvas knows no variables. */
function color(name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  document.body.append(probe)
  const found = getComputedStyle(probe).color
  probe.remove()
  return found
}

function optionsOf({ times, series, text, topMin }: Props, width: number): uPlot.Options {
  const [first = 0, last = 0] = [times[0], times.at(-1)].map((at = 0) => at / 1_000)
  const axis = { stroke: color('--dim'), grid: { stroke: color('--line'), width: 1 } }
  const line = (one: Series, index: number): uPlot.Series => ({
    label: one.label,
    stroke: color(colors[index % colors.length] ?? '--accent'),
    width: 2,
    points: { show: one.values.filter((value) => value !== null).length < 3 },
    value: (_, value) => (value === null ? '–' : text(value)),
  })
  return {
    width,
    height,
    cursor: { drag: { x: false, y: false } },
    // Not what uPlot thinks of: it makes a day of a single moment. An hour at most, ten minutes at
    // least, and room for the newest point.
    scales: {
      x: { range: () => [Math.min(first, last - 600), last + 20] },
      y: { range: (_, least, most) => [Math.min(0, least), Math.max(topMin, most * 1.1)] },
    },
    axes: [
      { ...axis, values: (_, splits) => splits.map((at) => hourMinute(at * 1_000)) },
      { ...axis, size: 64, values: (_, splits) => splits.map((value) => text(value)) },
    ],
    series: [{ value: (_, at) => (at === null ? '' : clockTime(at * 1_000)) }, ...series.map(line)],
  }
}

export function Plot(props: Props) {
  const box = useRef<HTMLDivElement>(null)
  const { times, series, label, text } = props
  const shown = JSON.stringify([times, series])
  const look = theme.value
  useEffect(() => {
    const { current } = box
    if (current === null) return
    const data = [times.map((at) => at / 1_000), ...series.map((one) => [...one.values])]
    const plot = new uPlot(
      optionsOf(props, current.clientWidth),
      data as uPlot.AlignedData,
      current,
    )
    const resized = new ResizeObserver(() => plot.setSize({ width: current.clientWidth, height }))
    resized.observe(current)
    return () => {
      resized.disconnect()
      plot.destroy()
    }
  }, [shown, look])
  return (
    <figure class="figure">
      <div ref={box} class="plot" aria-hidden="true" />
      <figcaption class="hidden">
        {`${label}, at last: ${series.map((one) => lastText(one, text)).join('; ')}`}
      </figcaption>
    </figure>
  )
}

function lastText({ label, values }: Series, text: (value: number) => string): string {
  const last = values.findLast((value) => value !== null)
  return `${label} ${last === undefined || last === null ? 'not measured' : text(last)}`
}
