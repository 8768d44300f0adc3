// Draws docs/images/pull-the-plug.svg from what examples/pull-the-plug.mjs has really done:
//   node scripts/picture.mjs [figures.json]
// Without a file the example is run first. The same figures give the same picture.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** @typedef {{ order: string, item: string, usd: number }} Order */
/** @typedef {{ title: string }} Doubt */
/** @typedef {{ orders: Order[], doubts: Doubt[], signal: string, said: string }} Side */
/** @typedef {{ mark: string, tone: string, text: string }} Line */

const root = fileURLToPath(new URL('..', import.meta.url))
const size = { width: 880, height: 356, column: 424, left: 12, line: 30 }

const style = `
  .page { fill: #ffffff } .card { fill: #f6f8fa; stroke: #d0d7de }
  text { font: 14px ui-sans-serif, system-ui, sans-serif; fill: #1f2328 }
  .head { font-weight: 600; font-size: 16px } .dim { fill: #59636e }
  .mono { font-family: ui-monospace, monospace; font-size: 12.5px }
  .big { font-size: 26px; font-weight: 700 }
  .bad { fill: #cf222e } .good { fill: #1a7f37 } .ask { fill: #9a6700 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .card { fill: #161b22; stroke: #30363d } text { fill: #e6edf3 }
    .dim { fill: #9198a1 } .bad { fill: #ff7b72 } .good { fill: #56d364 } .ask { fill: #e3b341 }
  }
  @keyframes come { from { opacity: 0 } to { opacity: 1 } }
  @media (prefers-reduced-motion: no-preference) { .step { animation: come 0.4s both } }`

/** @param {{ plain: Side, guarded: Side }} figures */
export function picture({ plain, guarded }) {
  const { width, height, left, column: wide } = size
  const said = `Without: ${total(plain)}. With Counterfoil: ${total(guarded)}, one person asked.`
  const plainly = { head: 'LangGraph, its own saver', how: "SqliteSaver, durability: 'sync'" }
  const safely = {
    head: 'The same graph file, with Counterfoil',
    how: 'CounterfoilSaver and guard()',
  }
  const box = `viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${box}>
<title id="title">Pull the plug on a LangGraph agent</title>
<desc id="desc">${escaped(said)}</desc>
<style>${style}
</style>
<rect class="page" width="${width}" height="${height}" rx="8"/>
${column(left, { ...plainly, side: plain, tone: 'bad', last: 'dim' })}
${column(width - left - wide, { ...safely, side: guarded, tone: 'good', last: 'good' })}
</svg>
`
}

/** @param {Side} side @param {string} last @returns {Line[]} */
function linesOf({ orders, doubts, signal, said }, last) {
  const [first, ...again] = orders
  return [
    taken(first),
    { mark: '⚡', tone: 'bad', text: `${signal}, before the answer is recorded` },
    { mark: '↻', tone: 'dim', text: 'a new process goes on from the checkpoint' },
    ...again.map((order) => ({ ...taken(order), tone: 'bad' })),
    ...doubts.map(({ title }) => ({ mark: '?', tone: 'ask', text: `a person is asked: ${title}` })),
    { mark: '✓', tone: last, text: `the agent says: ${said}` },
  ]
}

/** @param {Order | undefined} order @returns {Line} */
function taken(order) {
  const text = order ? `the vendor takes ${order.order}: ${dollars(order.usd)}` : 'no order'
  return { mark: '→', tone: 'mark', text }
}

/**
 * @param {number} x
 * @param {{ head: string, how: string, side: Side, tone: string, last: string }} what
 */
function column(x, { head, how, side, tone, last }) {
  const at = x + 20
  const rows = linesOf(side, last).map(({ mark, tone: its, text }, i) => {
    const y = 104 + i * size.line
    const wait = `style="animation-delay:${(0.3 + i * 0.5).toFixed(1)}s"`
    const sign = `<text class="${its}" x="${at}" y="${y}">${mark}</text>`
    const words = `<text class="${its}" x="${at + 26}" y="${y}">${escaped(text)}</text>`
    return `<g class="step" ${wait}>${sign}${words}</g>`
  })
  const asked = side.doubts.length === 0 ? 'nobody was told' : 'one person was asked'
  const card = `y="12" width="${size.column}" height="${size.height - 24}" rx="8"`
  return `<rect class="card" x="${x}" ${card}/>
<text class="head" x="${at}" y="44">${escaped(head)}</text>
<text class="dim mono" x="${at}" y="66">${escaped(how)}</text>
${rows.join('\n')}
<text class="big ${tone}" x="${at}" y="${size.height - 54}">${escaped(total(side))}</text>
<text class="dim" x="${at}" y="${size.height - 30}">counted by the vendor; ${asked}</text>`
}

/** @param {Side} side */
function total({ orders }) {
  const usd = orders.reduce((sum, order) => sum + order.usd, 0)
  return `${orders.length} order${orders.length === 1 ? '' : 's'}, ${dollars(usd)}`
}

/** @param {number} usd */
function dollars(usd) {
  return `$${usd.toLocaleString('en-US')}`
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function figuresOfARun() {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-picture-'))
  const file = join(folder, 'figures.json')
  execFileSync(process.execPath, [join(root, 'examples/pull-the-plug.mjs'), file])
  const figures = JSON.parse(readFileSync(file, 'utf8'))
  rmSync(folder, { recursive: true })
  return figures
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , given] = process.argv
  const figures = given ? JSON.parse(readFileSync(given, 'utf8')) : figuresOfARun()
  writeFileSync(join(root, 'docs/images/pull-the-plug.svg'), picture(figures))
}
