// What the two stories of the trip came to, as figures and as tables.
import { searchUsd, usdOf } from './agent.mjs'

/**
 * @typedef {import('./world.mjs').World} World
 * @typedef {import('./world.mjs').Request} Request
 * @typedef {import('counterfoil').RunDocument['budget']} Budget
 * @typedef {{ charged: number, atTheDesk: number }} Price
 * @typedef {{ step: number, tool: string, replayClass: string, attempts: number, tokens: number,
 *   usd: number }} Step
 * @typedef {{ cancellations: number, refunds: number, feesUsd: number }} Compensation
 * @typedef {{ world: World, backMs: number, output: { price: Price }, budget: Budget,
 *   atCrash: Budget, preview: import('counterfoil').Preview, steps: Step[] }} Ours
 * @typedef {{ world: World, backMs: number, again: Request[], compensation: Compensation }} Theirs
 */

/**
 * Each step with the turn before it: what the ledger says that they have cost.
 * @param {readonly import('counterfoil').CallRecord[]} records
 * @returns {Step[]}
 */
export function stepsOf(records) {
  const turns = records.filter((row) => row.tool === 'think')
  const acts = records.filter((row) => row.tool !== 'think')
  return acts.map(({ tool, replayClass, attempt, usageJson }, index) => {
    const costs = [turns[index]?.usageJson, usageJson].map((text) => JSON.parse(text ?? '{}'))
    /** @param {string} key */
    const sum = (key) => costs.reduce((total, cost) => total + (cost[key] ?? 0), 0)
    const tokens = sum('tokensIn') + sum('tokensOut')
    return { step: index + 1, tool, replayClass, attempts: attempt, tokens, usd: sum('usd') }
  })
}

/** @param {Request[]} turns */
const tokensOf = (turns) =>
  turns.reduce((sum, { result }) => sum + result.tokensIn + result.tokensOut, 0)

/** @param {World} world */
const effectsOf = (world) => ({
  turns: world.asked('model').length,
  tokens: tokensOf(world.asked('model')),
  charges: world.done('charge').length,
  chargeKeys: world.asked('charge').map(({ key }) => key),
  holds: world.done('hold').length,
  rooms: world.done('hotel').length,
  mails: world.done('mail').length,
})

/**
 * @param {Ours} ours
 * @param {Theirs} theirs
 */
export function figuresOf({ world, backMs, output, budget, atCrash, preview, steps }, theirs) {
  const effects = effectsOf(world)
  return {
    ...{ price: output.price, budget, atCrash, steps },
    counterfoil: {
      ...effects,
      ...{ backMs, replayed: preview.replay, sentAgain: preview.rerun, parked: preview.park },
      tokensAgain: effects.tokens - budget.tokensIn - budget.tokensOut,
    },
    fromZero: {
      ...effectsOf(theirs.world),
      ...{ backMs: theirs.backMs, compensation: theirs.compensation },
      tokensAgain: tokensOf(theirs.again),
      usdAgain: theirs.again.reduce((sum, { result }) => sum + usdOf(result), searchUsd),
    },
  }
}

/** @param {number} amount */
const usd = (amount) => `$${amount.toFixed(2)}`
/** @param {number} ms */
const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`

/** @param {ReturnType<typeof figuresOf>} figures */
export function report(figures) {
  const { price, budget, atCrash, steps, counterfoil } = figures
  return [
    `Killed at step 4, with ${atCrash.tokensIn + atCrash.tokensOut} tokens spent.`,
    `Preview at that moment: ${counterfoil.replayed} calls are read back, ` +
      `${counterfoil.sentAgain} sent again (charge_card, with its key), ` +
      `${counterfoil.parked} parked.`,
    `The bank got key ${counterfoil.chargeKeys.join(' and then ')}: ${counterfoil.charges} charge.`,
    `The trip: ${usd(price.charged)} charged, ${usd(price.atTheDesk)} at the desk.`,
    `The agent: ${budget.tokensIn} tokens in, ${budget.tokensOut} out, ${usd(budget.usd)}, ` +
      `${budget.calls} calls.`,
    '',
    ...stepTable(steps),
    '',
    ...crashTable(figures),
    '',
    'From zero, nobody was told: the second charge was found by looking.',
  ].join('\n')
}

/** @param {Step[]} steps */
function stepTable(steps) {
  const rows = steps.map(({ step, tool, replayClass, attempts, tokens, usd: cost }) => [
    ...[`${step} ${tool}`, replayClass, `${attempts}`, `${tokens}`, cost.toFixed(4)],
  ])
  return [['step', 'class', 'attempts', 'tokens', 'USD'], ...rows].map(
    ([what = '', replayClass = '', ...rest]) =>
      `  ${what.padEnd(19)}${replayClass.padEnd(20)}${rest.map((cell) => cell.padStart(9)).join('')}`,
  )
}

/** @param {ReturnType<typeof figuresOf>} figures */
function crashTable({ counterfoil: a, fromZero: b }) {
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
  return rows.map(([what, ours, theirs]) => {
    const [left, right] = [`${ours}`.padStart(12), `${theirs}`.padStart(12)]
    return `  ${`${what}`.padEnd(36)}${left}${right}`
  })
}
