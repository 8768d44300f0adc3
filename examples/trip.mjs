// A trip in seven steps, killed (SIGKILL) at step 4: the bank has taken the charge, and its answer
// is not on record. Counterfoil goes on from there and sends the charge again with the same key.
// Plain code begins again from zero, and somebody has to clean up. Both happen here for real, in
// processes of their own, against a small server that counts.
//
//   node examples/trip.mjs               what the steps cost, and what the crash did
//   node examples/trip.mjs figures.json  the same, and as a document in that file
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { open } from 'counterfoil'
import { trip } from './trip/agent.mjs'
import { figuresOf, report, stepsOf } from './trip/report.mjs'
import { feeOf, World } from './trip/world.mjs'

/** @typedef {import('node:child_process').ChildProcess} Process */

const request = { traveller: 'ana@example.com', to: 'Lisbon', nights: 3 }
const [, , file] = process.argv
const folder = mkdtempSync(join(tmpdir(), 'counterfoil-trip-'))

async function withCounterfoil() {
  const world = new World()
  const url = await world.open()
  const store = `sqlite:${join(folder, 'runs.db')}`
  const cf = await open({ store, graphs: [trip] })
  const run = await cf.start(trip, request, { runId: 'trip-1' })
  const killedAt = await killAtCharge(world, work(url, 'counterfoil', store))
  const preview = await run.preview()
  const { budget: atCrash } = await run.document()
  const second = work(url, 'counterfoil', store)
  const output = await run.result()
  const { budget } = await run.document()
  const records = await cf.store.listRecords({ namespace: 'default', runId: run.runId }, {})
  const steps = stepsOf(records.items)
  await end(second)
  await cf.close()
  await world.close()
  const backMs = backAtCharge(world) - killedAt
  return { world, output, preview, atCrash, budget, steps, backMs }
}

async function fromZero() {
  const world = new World()
  const url = await world.open()
  const begin = () => work(url, 'plain', JSON.stringify(request))
  const killedAt = await killAtCharge(world, begin())
  const turns = world.asked('model').length
  const second = begin()
  await once(second, 'message')
  await end(second)
  const again = world.asked('model').slice(turns, 2 * turns)
  const compensation = await compensate(world, url)
  await world.close()
  return { world, again, compensation, backMs: backAtCharge(world) - killedAt }
}

/**
 * A process that works; it ends with this one.
 * @param {string} url
 * @param {string[]} args
 */
function work(url, ...args) {
  const path = fileURLToPath(new URL('./trip/worker.mjs', import.meta.url))
  const env = { ...process.env, TRIP_WORLD: url }
  return spawn(process.execPath, [path, ...args], {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

/**
 * Kills the worker when the bank has taken its first charge; resolves with the moment.
 * @param {World} world
 * @param {Process} worker
 * @returns {Promise<number>}
 */
function killAtCharge(world, worker) {
  return new Promise((resolve) => {
    world.swallow = (service) => {
      if (service !== 'charge') return false
      world.swallow = () => false
      worker.once('exit', () => resolve(Date.now()))
      worker.kill('SIGKILL')
      return true
    }
  })
}

/** @param {World} world */
function backAtCharge(world) {
  return world.asked('charge')[1]?.at ?? Number.NaN
}

/** @param {Process} worker */
async function end(worker) {
  const exit = once(worker, 'exit')
  worker.disconnect()
  await exit
}

/**
 * What the first, killed attempt has left behind is given back, by whoever finds out.
 * @param {World} world
 * @param {string} url
 */
async function compensate(world, url) {
  /**
   * @param {'cancel' | 'refund'} service
   * @param {string} what
   */
  const post = (service, what) =>
    fetch(`${url}/${service}`, { method: 'POST', body: JSON.stringify({ what }) })
  /** @param {'hotel' | 'hold' | 'charge'} service */
  const orphans = (service) => world.done(service).slice(0, -1)
  for (const { result } of orphans('hotel')) await post('cancel', result.room)
  for (const { result } of orphans('hold')) await post('cancel', result.hold)
  let feesUsd = 0
  for (const { result, body } of orphans('charge')) {
    await post('refund', result.charge)
    feesUsd += feeOf(body.usd)
  }
  const [cancellations, refunds] = [world.done('cancel').length, world.done('refund').length]
  return { cancellations, refunds, feesUsd }
}

const figures = figuresOf(await withCounterfoil(), await fromZero())
console.log(report(figures))
if (file) writeFileSync(file, JSON.stringify(figures, null, 2))
rmSync(folder, { recursive: true, force: true })
