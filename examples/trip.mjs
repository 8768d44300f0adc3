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
import { searchUsd, trip, usdOf } from './trip/agent.mjs'
import { feeOf, World } from './trip/world.mjs'

const request = { traveller: 'ana@example.com', to: 'Lisbon', nights: 3 }
const [, , file] = process.argv

/** A worker process; it ends with this one. */
function spawnWorker(url, ...args) {
  const path = fileURLToPath(new URL('./trip/worker.mjs', import.meta.url))
  const env = { ...process.env, TRIP_WORLD: url }
  return spawn(process.execPath, [path, ...args], {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

/** Kills the worker when the bank has taken its first charge; resolves with the moment. */
function killAtCharge(world, worker) {
  return new Promise((resolve) => {
    world.swallow = (service) => {
      if (service !== 'charge') return false
      world.swallow = () => false
      worker.kill('SIGKILL')
      worker.once('exit', () => resolve(Date.now()))
      return true
    }
  })
}

async function end(worker) {
  const exit = once(worker, 'exit')
  worker.disconnect()
  await exit
}

/** Each step with the turn before it: what the ledger says that they have cost. */
async function stepsOf(cf, runId) {
  const { items } = await cf.store.listRecords({ namespace: 'default', runId }, {})
  const acts = items.filter((row) => row.tool !== 'think')
  const turns = items.filter((row) => row.tool === 'think')
  const spent = (...rows) => rows.map((row) => JSON.parse(row.usageJson ?? '{}'))
  return acts.map((act, index) => {
    const costs = spent(turns[index], act)
    const sum = (key) => costs.reduce((total, cost) => total + (cost[key] ?? 0), 0)
    const { tool, replayClass, attempt } = act
    const tokens = sum('tokensIn') + sum('tokensOut')
    return { step: index + 1, tool, replayClass, attempts: attempt, tokens, usd: sum('usd') }
  })
}

async function withCounterfoil(folder) {
  const world = new World()
  const url = await world.open()
  const store = `sqlite:${join(folder, 'runs.db')}`
  const cf = await open({ store, graphs: [trip] })
  const run = await cf.start(trip, request, { runId: 'trip-1' })
  const first = spawnWorker(url, 'counterfoil', store)
  const killedAt = await killAtCharge(world, first)
  const preview = await run.preview()
  const spentAtCrash = (await run.document()).budget
  const second = spawnWorker(url, 'counterfoil', store)
  const output = await run.result()
  const { budget } = await run.document()
  const steps = await stepsOf(cf, run.runId)
  await end(second)
  await cf.close()
  await world.close()
  return {
    ...{ world, output, preview, spentAtCrash, budget, steps },
    backMs: world.asked('charge')[1].at - killedAt,
  }
}

async function fromZero() {
  const world = new World()
  const url = await world.open()
  const plain = () => spawnWorker(url, 'plain', JSON.stringify(request))
  const killedAt = await killAtCharge(world, plain())
  const turnsBefore = world.asked('model').length
  const second = plain()
  const [{ output }] = await once(second, 'message')
  await end(second)
  const again = world.asked('model').slice(turnsBefore, 2 * turnsBefore)
  const lost = await compensate(world, url)
  await world.close()
  return { world, output, again, lost, backMs: world.asked('charge')[1].at - killedAt }
}

/** What the first, killed attempt has left behind is given back, by whoever finds out. */
async function compensate(world, url) {
  const post = (service, what) =>
    fetch(`${url}/${service}`, { method: 'POST', body: JSON.stringify({ what }) })
  const orphans = (service) => world.done(service).slice(0, -1)
  for (const { result } of orphans('hotel')) await post('cancel', result.room)
  for (const { result } of orphans('hold')) await post('cancel', result.hold)
  let feesUsd = 0
  for (const { result, body } of orphans('charge')) {
    await post('refund', result.charge)
    feesUsd += feeOf(body.usd)
  }
  const cancellations = world.done('cancel').length
  return { cancellations, refunds: world.done('refund').length, feesUsd }
}

const tokensOf = (turns) =>
  turns.reduce((sum, { result }) => sum + result.tokensIn + result.tokensOut, 0)
const usdOfTurns = (turns) => turns.reduce((sum, { result }) => sum + usdOf(result), 0)

function figuresOf(ours, theirs) {
  const { world, preview, output, budget } = ours
  const charges = (of) => of.done('charge').length
  return {
    price: output.price,
    budget,
    steps: ours.steps,
    atCrash: ours.spentAtCrash,
    counterfoil: {
      backMs: ours.backMs,
      replayed: preview.replay,
      sentAgain: preview.rerun,
      parked: preview.park,
      turns: world.asked('model').length,
      tokens: tokensOf(world.asked('model')),
      tokensAgain: tokensOf(world.asked('model')) - budget.tokensIn - budget.tokensOut,
      charges: charges(world),
      chargeKeys: world.asked('charge').map(({ key }) => key),
      holds: world.done('hold').length,
      rooms: world.done('hotel').length,
      mails: world.done('mail').length,
    },
    fromZero: {
      backMs: theirs.backMs,
      turns: theirs.world.asked('model').length,
      tokensAgain: tokensOf(theirs.again),
      usdAgain: usdOfTurns(theirs.again) + searchUsd,
      charges: charges(theirs.world),
      chargeKeys: theirs.world.asked('charge').map(({ key }) => key),
      holds: theirs.world.done('hold').length,
      rooms: theirs.world.done('hotel').length,
      compensation: theirs.lost,
    },
  }
}

const usd = (amount) => `$${amount.toFixed(2)}`
const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`

function table({ counterfoil: a, fromZero: b }) {
  const { cancellations, refunds, feesUsd } = b.compensation
  const rows = [
    ['what the crash cost', 'Counterfoil', 'from zero'],
    ['until it was back at step 4', seconds(a.backMs), seconds(b.backMs)],
    ['calls read back from the ledger', a.replayed, 0],
    ['calls sent again with the same key', a.sentAgain, 0],
    ['tokens paid again', a.tokensAgain, b.tokensAgain],
    ['USD paid again', usd(0), usd(b.usdAgain)],
    ['charges on the card', a.charges, b.charges],
    ['holds, rooms', `${a.holds}, ${a.rooms}`, `${b.holds}, ${b.rooms}`],
    ['cancellations, refunds', '0, 0', `${cancellations}, ${refunds}`],
    ['fees that the bank keeps', usd(0), usd(feesUsd)],
  ]
  return rows.map(
    ([what, ours, theirs]) =>
      `  ${what.padEnd(36)}${String(ours).padStart(12)}${String(theirs).padStart(12)}`,
  )
}

function stepTable(steps) {
  const line = (what, replayClass, attempts, tokens, cost) =>
    `  ${what.padEnd(18)}${replayClass.padEnd(22)}${attempts.padStart(8)}` +
    `${tokens.padStart(8)}${cost.padStart(9)}`
  return [
    line('step', 'class', 'attempts', 'tokens', 'USD'),
    ...steps.map(({ step, tool, replayClass, attempts, tokens, usd: cost }) =>
      line(`${step} ${tool}`, replayClass, `${attempts}`, `${tokens}`, cost.toFixed(4)),
    ),
  ]
}

const folder = mkdtempSync(join(tmpdir(), 'counterfoil-trip-'))
const ours = await withCounterfoil(folder)
const theirs = await fromZero()
const figures = figuresOf(ours, theirs)
const { budget, atCrash, price, counterfoil, steps } = figures
const lines = [
  `Killed at step 4, with ${atCrash.tokensIn + atCrash.tokensOut} tokens spent.`,
  `Preview at that moment: ${counterfoil.replayed} calls are read back, ` +
    `${counterfoil.sentAgain} sent again (charge_card, with its key), ${counterfoil.parked} parked.`,
  `The bank got key ${counterfoil.chargeKeys.join(' and then ')}: ${counterfoil.charges} charge.`,
  `The trip: ${usd(price.charged)} charged, ${usd(price.atTheDesk)} at the desk.`,
  `The agent: ${budget.tokensIn} tokens in, ${budget.tokensOut} out, ${usd(budget.usd)}, ` +
    `${budget.calls} calls.`,
  '',
  ...stepTable(steps),
  '',
  ...table(figures),
  '',
  'From zero, nobody was told: the second charge was found by looking.',
]
console.log(lines.join('\n'))
if (file) writeFileSync(file, JSON.stringify(figures, null, 2))
rmSync(folder, { recursive: true, force: true })
