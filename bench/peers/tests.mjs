// The five tests. Each makes fresh stores, and gives plain figures.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { linesOf } from './disk.mjs'
import { between } from './floors.mjs'
import { runJob, tidy, withStore } from './harness.mjs'
import { mean, now, quantile, round } from './numbers.mjs'

/** @typedef {import('./harness.mjs').Named} Named */
/**
 * @typedef {object} Place
 * @property {string} dir
 * @property {import('./postgres.mjs').Postgres} postgres
 * @property {Awaited<ReturnType<typeof import('./floors.mjs').openFloors>>} floors
 * @property {Sizes} sizes
 */
/** @typedef {{ steps: number, runs: number, each: number, growth: number[], blocks: number, rounds: number, crashes: number, probes: number, leases: boolean }} Sizes */
/** @typedef {Pick<import('./workload.mjs').Job, 'workload' | 'steps' | 'ids' | 'rounds'>} Work */

/**
 * @param {number[]} begun
 * @param {Work} work
 */
function paceOf(begun, work) {
  const wanted = work.steps * work.ids.length
  if (begun.length !== wanted) throw new Error(`${begun.length} steps ran, not ${wanted}`)
  const gaps = begun.slice(1).map((at, i) => at - (begun[i] ?? 0))
  const tenth = Math.max(1, Math.floor(gaps.length / 10))
  const spanMs = (begun.at(-1) ?? 0) - (begun[0] ?? 0)
  const counted = begun.length - work.ids.length
  return {
    steps: begun.length,
    msPerStep: round(spanMs / counted, 4),
    p50: round(quantile(gaps, 0.5), 4),
    p99: round(quantile(gaps, 0.99), 4),
    stepsPerSecond: round((1_000 * counted) / spanMs, 1),
    firstTenthMs: round(mean(gaps.slice(0, tenth)), 4),
    lastTenthMs: round(mean(gaps.slice(-tenth)), 4),
  }
}

/**
 * A fresh store with its schema, then the work, with sizes before and after.
 * @param {Place} place
 * @param {Named} system
 * @param {string} test
 * @param {Work} work
 */
function measured(place, system, test, work) {
  return withStore(place, system, test, async (store, dir) => {
    const { env } = store
    await runJob(system, { mode: 'init', env, ...work, ids: [] }, dir)
    const sizes = async () => [
      (await store.logBytes?.()) ?? 0,
      (await store.syncs?.()) ?? 0,
      await store.bytes(),
    ]
    const before = await sizes()
    const { done } = await runJob(system, { mode: 'start', env, ...work }, dir)
    if (done === undefined) throw new Error('it ended without a word')
    const [logBytes = 0, syncs = 0, bytes = 0] = (await sizes()).map(
      (size, i) => size - (before[i] ?? 0),
    )
    const pace = paceOf(done.begun, work)
    return {
      ...pace,
      ...(done.cold ? { cold: paceOf(done.cold, work) } : {}),
      totalMs: round(done.doneAt - done.startedAt, 0),
      bytes,
      ...(store.logBytes
        ? { logBytes, syncsPerStep: round(syncs / pace.steps / (work.rounds ?? 1), 2) }
        : {}),
      ...(done.facts ? { facts: done.facts } : {}),
    }
  })
}

/**
 * Several times, each between two probes of the floor; the median one, and the rates of all.
 * @param {Place} place
 * @param {Named} system
 * @param {string} test
 * @param {Work} work
 */
async function repeated(place, system, test, work) {
  const taken = []
  for (let i = 0; i < place.sizes.blocks; i++) {
    const before = await place.floors.probe(place.sizes.probes)
    const figures = await measured(place, system, test, work)
    const floor = between(before, await place.floors.probe(place.sizes.probes))
    taken.push({ ...figures, floor })
  }
  taken.sort((a, b) => a.msPerStep - b.msPerStep)
  const middle = taken[taken.length >> 1]
  if (middle === undefined) throw new Error('nothing was measured')
  const cold = taken
    .flatMap((each) => each.cold ?? [])
    .sort((a, b) => a.msPerStep - b.msPerStep)
    .at(taken.length >> 1)
  return { ...middle, ...(cold ? { cold } : {}), rates: taken.map((each) => each.stepsPerSecond) }
}

/** @type {(place: Place, system: Named) => Promise<object>} */
function sequence(place, system) {
  const { steps, rounds } = place.sizes
  return repeated(place, system, 'A', { workload: 'noop', steps, ids: ['a'], rounds })
}

/** @type {(place: Place, system: Named) => Promise<object>} */
function concurrent(place, system) {
  const { runs, each, rounds } = place.sizes
  const ids = Array.from({ length: runs }, (_, i) => `b${i}`)
  return repeated(place, system, 'B', { workload: 'noop', steps: each, ids, rounds })
}

/** @type {(place: Place, system: Named) => Promise<object>} */
async function growth(place, system) {
  /** @type {Record<number, object>} */
  const taken = {}
  const { stepsMax = Number.POSITIVE_INFINITY } = system
  for (const steps of place.sizes.growth) {
    taken[steps] =
      steps > stepsMax
        ? { skipped: `its limit is ${stepsMax} steps` }
        : await measured(place, system, 'C', { workload: 'grow', steps, ids: ['c'] }).catch(
            (error) => ({ error: tidy(String(error.message), place.dir) }),
          )
  }
  return taken
}

/**
 * From the start of a new process to the moment in which the step that was under way begins again.
 * @type {(place: Place, system: Named) => Promise<object>}
 */
async function resume(place, system) {
  const { stepsMax = Number.POSITIVE_INFINITY, leaseSeconds } = system
  if (leaseSeconds && !place.sizes.leases) return { skipped: `a lease of ${leaseSeconds} s` }
  const before = Math.min(place.sizes.steps, stepsMax - 10)
  const one = () =>
    withStore(place, system, 'D', async ({ env }, dir) => {
      const flag = join(dir, 'hang')
      writeFileSync(flag, '')
      const work = { workload: /** @type {const} */ ('hang'), steps: before + 2, at: before, flag }
      const ids = ['d']
      const how = { killOn: 'reached' }
      const first = await runJob(system, { mode: 'start', env, ...work, ids }, dir, how)
      const killedAt = now()
      const again = await runJob(system, { mode: 'resume', env, ...work, ids }, dir)
      const reached = again.events.find((each) => each.event === 'reached')
      return {
        completedBefore: before,
        killedBy: first.how,
        resumeMs: round(reached.at - again.spawnedAt, 0),
        fromKillMs: round(reached.at - killedAt, 0),
        stepsRunAgain: (again.done?.begun.length ?? 0) - 2,
      }
    })
  return leaseSeconds ? one() : medianOf(Math.min(3, place.sizes.blocks), one)
}

/**
 * @param {number} count
 * @param {() => Promise<{ resumeMs: number }>} one
 */
async function medianOf(count, one) {
  const taken = []
  for (let i = 0; i < count; i++) taken.push(await one())
  taken.sort((a, b) => a.resumeMs - b.resumeMs)
  return { ...taken[count >> 1], all: taken.map((each) => each.resumeMs) }
}

/**
 * Killed in `send_email`, after the e-mail is out and before anything can be recorded (step 1), or
 * on entering the step after it (step 2). With a lease to wait for, all wait together.
 * @param {Place} place
 * @param {Named} system
 * @param {{ at: number, count: number, once?: boolean }} how
 */
async function crashes(place, system, { at, count, once = false }) {
  const crash = (/** @type {number} */ i) =>
    withStore(place, system, once ? 'E1' : 'E', async (store, dir) => {
      const env = { ...store.env, once }
      const [flag, outbox] = [join(dir, 'die'), join(dir, 'outbox')]
      writeFileSync(flag, '')
      const work = { workload: /** @type {const} */ ('email'), steps: 3, at, flag, outbox }
      const ids = [`e${i}`]
      const first = await runJob(system, { mode: 'start', env, ...work, ids }, dir, {
        mayDie: true,
      })
      const mode = once ? 'look' : 'resume'
      const again = await runJob(system, { mode, env, ...work, ids }, dir)
      return {
        killedBy: first.how,
        effects: linesOf(outbox).length,
        told: again.done?.told,
        printed: [again.output, store.operatorLog?.()].filter(Boolean).join('\n').slice(0, 1_500),
      }
    })
  const numbers = Array.from({ length: count }, (_, i) => i)
  if (system.leaseSeconds) return Promise.all(numbers.map(crash))
  const taken = []
  for (const i of numbers) taken.push(await crash(i))
  return taken
}

/** @type {(place: Place, system: Named) => Promise<object>} */
async function effects(place, system) {
  const inside = await crashes(place, system, { at: 1, count: place.sizes.crashes })
  const after = await crashes(place, system, { at: 2, count: 1 })
  const once = system.once
    ? await crashes(place, system, { at: 1, count: 1, once: true }).catch((error) => [
        { effects: null, told: tidy(String(error.message), place.dir) },
      ])
    : []
  return {
    killedBy: [...new Set(inside.map((each) => each.killedBy))],
    effects: inside.map((each) => each.effects),
    told: inside.map((each) => each.told).filter(Boolean),
    printed: tidy(inside[0]?.printed ?? '', place.dir),
    effectsIfKilledAfter: after.map((each) => each.effects),
    ...(system.once
      ? { once: { setting: system.once, effects: once[0]?.effects, end: once[0]?.told } }
      : {}),
  }
}

export const tests = { A: sequence, B: concurrent, C: growth, D: resume, E: effects }
