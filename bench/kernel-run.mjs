// `npm run bench:kernel`: graphs, resume and waiting. Ratios and sizes; the few times that have a
// goal of their own are given beside it.
import { mkdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { growth, overhead, resume, waiting } from './kernel.mjs'

const dir = fileURLToPath(new URL('./.kernel/', import.meta.url))
rmSync(dir, { recursive: true, force: true })
mkdirSync(dir, { recursive: true })
/** @type {[string, string, string][]} */
const rows = []
const row = (/** @type {string} */ name, /** @type {string} */ got, /** @type {string} */ goal) =>
  rows.push([name, got, goal])
const ms = (/** @type {number} */ value) => `${value.toFixed(1)} ms`

for (const kind of /** @type {const} */ (['state', 'workflow'])) {
  const { early, late, bytes } = await growth(dir, kind)
  row(`${kind}: time a step at 1,600 to 100`, `${(late / early).toFixed(2)} ×`, 'flat')
  row(`${kind}: µs a step at 100, at 1,600`, `${early.toFixed(0)}, ${late.toFixed(0)}`, '')
  row(`${kind}: file to payload`, bytes.toFixed(2), kind === 'state' ? '≤ 2.2' : '≤ 1.3')
}
for (const calls of [1_000, 10_000]) {
  const goal = calls === 10_000 ? ['≤ 100 ms, flat', '≤ 300 ms, linear'] : ['', '']
  row(
    `resume, ${calls} calls in earlier visits`,
    ms(await resume(dir, 'visits', calls)),
    goal[0] ?? '',
  )
  row(`resume, ${calls} calls in one visit`, ms(await resume(dir, 'visit', calls)), goal[1] ?? '')
}
const parked = await waiting(dir, 10_000)
row('entering a wait releases the worker', ms(parked.releaseMs), '≤ 5 ms')
row('memory a parked run, of 10,000', `${parked.bytes.toFixed(0)} bytes`, 'none')
row('checkpoints at 100 ms steps', `${((await overhead(dir)) * 100).toFixed(2)} %`, '< 1 %')
rmSync(dir, { recursive: true, force: true })

for (const [name, got, goal] of rows) console.log(`${name.padEnd(44)} ${got.padStart(14)}  ${goal}`)
