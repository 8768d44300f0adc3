// What we set out to reach, and whether this run did. Others count at settings that keep a step
// through a power cut; what is faster because it does not is in the table, and not compared.
import { round } from './numbers.mjs'
import { message } from './workload.mjs'

/** @typedef {{ test: string, goal: string, got: string, met: boolean | null }} Goal */

/**
 * Bytes of the messages themselves.
 * @param {number} steps
 */
export function payloadOf(steps) {
  let bytes = 0
  for (let i = 0; i < steps; i++) bytes += Buffer.byteLength(JSON.stringify(message(i)))
  return bytes
}

/** @param {string} name */
export const isOurs = (name) => name.startsWith('counterfoil')

/**
 * The best of the others, on this kind of store or on any.
 * @param {any} results
 * @param {(figures: any) => number | undefined} figure Less is better.
 * @param {string} [floor]
 */
function bestPeer(results, figure, floor) {
  let best = { name: '', value: Number.POSITIVE_INFINITY }
  for (const [name, figures] of Object.entries(results.systems)) {
    if (isOurs(name) || !figures.durable || (floor && figures.floor !== floor)) continue
    const value = figure(figures)
    if (value !== undefined && value < best.value) best = { name, value }
  }
  return best
}

/**
 * @param {any} results
 * @param {{ test: string, ours: string, times: number, figure: (figures: any) => number | undefined }} goal
 * @returns {Goal}
 */
function faster(results, { test, ours, times, figure }) {
  const system = results.systems[ours]
  const mine = system && figure(system)
  const best = bestPeer(results, figure)
  const goal = `${ours} ≥ ${times} × the best peer`
  if (mine === undefined || best.name === '') return { test, goal, got: 'not measured', met: null }
  const same = bestPeer(results, figure, system.floor)
  const there =
    same.name === '' || same.name === best.name
      ? ''
      : `; ${round(same.value / mine)} × ${same.name} (the best on ${system.floor})`
  const ratio = best.value / mine
  return { test, goal, got: `${round(ratio)} × ${best.name}${there}`, met: ratio >= times }
}

/**
 * @param {any} results
 * @param {string} ours
 * @returns {Goal[]}
 */
function growth(results, ours) {
  const steps = Math.max(...results.sizes.growth)
  const figures = results.systems[ours]?.C?.[steps]
  if (!figures?.bytes) return []
  const bytes = figures.bytes / payloadOf(steps)
  const flat = figures.lastTenthMs / figures.firstTenthMs
  const test = 'C'
  return [
    { test, goal: `${ours} ≤ 1.3 × the payload`, got: `${round(bytes)} ×`, met: bytes <= 1.3 },
    {
      test,
      goal: `${ours}: the last tenth as fast as the first`,
      got: `${round(flat)} × its time`,
      met: flat <= 1.3,
    },
  ]
}

/**
 * @param {any} results
 * @param {string} ours
 * @returns {Goal[]}
 */
function effects(results, ours) {
  const figures = results.systems[ours]?.E
  if (!figures?.effects) return []
  const items = figures.told.flat()
  const named = items.length === figures.effects.length && items[0]?.tool === 'send_email'
  return [
    {
      test: 'E',
      goal: `${ours}: 1 effect and a named item, every time`,
      got: `effects ${figures.effects.join(' ')}; ${items.length} items, “${items[0]?.title ?? ''}”`,
      met: figures.effects.every((/** @type {number} */ count) => count === 1) && named,
    },
  ]
}

/** @typedef {(figures: any) => number | undefined} Figure */
/** @type {[string, Figure, Figure][]} In a worker that has worked before, and in a new process. */
const paces = [
  ['', ({ A }) => A?.msPerStep, ({ B }) => B?.msPerStep],
  [', new process', ({ A }) => A?.cold?.msPerStep, ({ B }) => B?.cold?.msPerStep],
]
const resumed = (/** @type {any} */ figures) => figures.D?.resumeMs

/**
 * @param {any} results
 * @returns {Goal[]}
 */
export function goalsOf(results) {
  const stores = ['sqlite', 'postgres']
  return [
    ...stores.flatMap((store) => {
      const ours = `counterfoil-${store}`
      return paces.flatMap(([how, sequence, concurrent]) => [
        faster(results, { test: `A${how}`, ours, times: 2, figure: sequence }),
        faster(results, { test: `A${how}`, ours: `${ours}-pure`, times: 10, figure: sequence }),
        faster(results, { test: `B${how}`, ours, times: 8, figure: concurrent }),
      ])
    }),
    ...stores.flatMap((store) => growth(results, `counterfoil-${store}`)),
    ...stores.map((store) =>
      faster(results, { test: 'D', ours: `counterfoil-${store}`, times: 2.5, figure: resumed }),
    ),
    ...stores.flatMap((store) => effects(results, `counterfoil-${store}`)),
  ]
}
