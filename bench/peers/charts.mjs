// Pictures of results: horizontal bars, on a card of their own, for light and dark pages.
//   node bench/peers/charts.mjs results.json docs/images
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isOurs, payloadOf } from './goals.mjs'
import { round } from './numbers.mjs'

/** @typedef {{ label: string, value: number, shown: string, ours: boolean, line?: number }} Bar */
/** @typedef {{ name: string, title: string, desc: string, log: boolean, bars: Bar[] }} Chart */

const width = 760
const left = 218
const right = 130
const top = 64
const rowHeight = 24
const barHeight = 14

// The card has its own ground, so that it can be read on a page of either kind whatever the reader
// has told the browser.
const style = `
  .ground { fill: #ffffff; stroke: #d0d7de }
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .note { fill: #59636e; font-size: 12px }
  .peer { fill: #8c959f } .ours { fill: #0969da } .floor { stroke: #cf222e; stroke-width: 2 }
  .mine { font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; stroke: #3d444d }
    text { fill: #f0f6fc } .note { fill: #9198a1 }
    .peer { fill: #656c76 } .ours { fill: #4493f8 } .floor { stroke: #f85149 }
  }`

const escaped = (/** @type {string} */ text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

/** @param {Chart} chart */
function scaleOf({ bars, log }) {
  const room = width - left - right
  const max = Math.max(...bars.flatMap(({ value, line = value }) => [value, line]))
  if (!log) return (/** @type {number} */ value) => (room * value) / max
  const least = Math.min(...bars.flatMap(({ value, line = value }) => [value, line]))
  const from = Math.log10(least) - 0.3
  return (/** @type {number} */ value) =>
    (room * (Math.log10(value) - from)) / (Math.log10(max) - from)
}

/** @param {Chart} chart */
export function drawn(chart) {
  const { name, title, desc, bars, log } = chart
  const scale = scaleOf(chart)
  const height = top + bars.length * rowHeight + 16
  const rows = bars.map(({ label, value, shown, ours, line }, i) => {
    const y = top + i * rowHeight
    const long = Math.max(2, scale(value))
    const mine = ours ? ' class="mine"' : ''
    const x = left + (line === undefined ? 0 : scale(line))
    const behind = Math.max(left + long, x) + 8
    return [
      `  <text x="${left - 10}" y="${y + 12}" text-anchor="end"${mine}>${escaped(label)}</text>`,
      `  <rect class="${ours ? 'ours' : 'peer'}" x="${left}" y="${y}" width="${round(long, 1)}" height="${barHeight}" rx="2"/>`,
      `  <text x="${round(behind, 1)}" y="${y + 12}"${mine}>${escaped(shown)}</text>`,
      ...(line === undefined
        ? []
        : [
            `  <line class="floor" x1="${round(x, 1)}" x2="${round(x, 1)}" y1="${y - 2}" y2="${y + barHeight + 2}"/>`,
          ]),
    ].join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="${name}-title ${name}-desc">
  <title id="${name}-title">${escaped(title)}</title>
  <desc id="${name}-desc">${escaped(`${desc} ${bars.map((bar) => `${bar.label}: ${bar.shown}`).join('; ')}.`)}</desc>
  <style>${style}
  </style>
  <rect class="ground" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>
  <text class="title" x="16" y="26">${escaped(title)}</text>
  <text class="note" x="16" y="46">${escaped(desc)}${log ? ' Logarithmic scale.' : ''}</text>
${rows.join('\n')}
</svg>
`
}

const count = (/** @type {number} */ n) => Math.round(n).toLocaleString('en-GB')
const short = (/** @type {number} */ n) => (n < 100 ? String(round(n, 1)) : count(n))

/**
 * Those that were measured, the best first.
 * @param {any} results
 * @param {(figures: any) => Omit<Bar, 'label' | 'ours'> | undefined} bar
 * @param {1 | -1} order
 */
function barsOf(results, bar, order) {
  return Object.entries(results.systems)
    .flatMap(([label, figures]) => {
      const made = bar(figures)
      const mark = figures.durable ? label : `${label} ¹`
      return made ? [{ ...made, label: mark, ours: isOurs(label) }] : []
    })
    .sort((a, b) => order * (a.value - b.value))
}

/**
 * @param {any} results
 * @returns {Chart[]}
 */
export function chartsOf(results) {
  const { sizes } = results
  const steps = Math.max(...sizes.growth)
  const payload = payloadOf(steps)
  const before = (/** @type {number} */ steps) => `${count(steps * (sizes.rounds - 1))} others`
  const lost = '¹ not on disk when the next begins.'
  const charts = [
    {
      name: 'bench-steps',
      title: `One of ${count(sizes.steps)} steps in a row, after ${before(sizes.steps)}, milliseconds`,
      desc: `Shorter is better. The red line is one raw commit of that store in the same minutes; ${lost}`,
      log: false,
      bars: barsOf(
        results,
        ({ A, floor }) =>
          A?.msPerStep && {
            value: A.msPerStep,
            shown: `${round(A.msPerStep)} ms`,
            line: A.floor[floor],
          },
        1,
      ),
    },
    {
      name: 'bench-concurrent',
      title: `Steps a second, ${sizes.runs} runs of ${sizes.each} at once, after ${before(sizes.runs * sizes.each)}`,
      desc: `Longer is better; ${lost}`,
      log: false,
      bars: barsOf(
        results,
        ({ B }) => B?.stepsPerSecond && { value: B.stepsPerSecond, shown: count(B.stepsPerSecond) },
        -1,
      ),
    },
    {
      name: 'bench-bytes',
      title: `On disk after ${count(steps)} messages of 2 KB (${round(payload / 1e6, 1)} MB)`,
      desc: 'Shorter is better. The red line is the payload itself.',
      log: true,
      bars: barsOf(
        results,
        ({ C }) =>
          C?.[steps]?.bytes && {
            value: C[steps].bytes,
            shown: `${short(C[steps].bytes / 1e6)} MB, ${short(C[steps].bytes / payload)} ×`,
            line: payload,
          },
        1,
      ),
    },
    {
      name: 'bench-resume',
      title: `From a new process to the next step, ${count(sizes.steps)} steps after the start`,
      desc: 'Shorter is better. After SIGKILL.',
      log: true,
      bars: barsOf(
        results,
        ({ D }) => D?.resumeMs && { value: D.resumeMs, shown: `${count(D.resumeMs)} ms` },
        1,
      ),
    },
  ]
  return charts.filter(({ bars }) => bars.length > 0)
}

/**
 * @param {any} results
 * @param {string} folder
 */
export function writeCharts(results, folder) {
  mkdirSync(folder, { recursive: true })
  for (const chart of chartsOf(results)) {
    writeFileSync(join(folder, `${chart.name}.svg`), drawn(chart))
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , file = '', folder = 'docs/images'] = process.argv
  writeCharts(JSON.parse(readFileSync(file, 'utf8')), folder)
}
