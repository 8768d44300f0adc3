// Three vendors are taken on, which takes days; here the days are seconds. Each time the outside
// world has taken something and has not answered yet, the worker is killed (SIGKILL). People approve,
// and answer what nobody else can know by looking into the books. At the end: one order a vendor.
//
//   node examples/onboarding.mjs [--kills 100] [--store postgres://…] [--figures figures.json]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { open } from 'counterfoil'
import { onboarding } from './onboarding/agent.mjs'
import { effectsIn, twice } from './onboarding/office.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    store: { type: 'string' },
    figures: { type: 'string' },
  },
})
const killsMax = Number(values.kills)
const folder = mkdtempSync(join(tmpdir(), 'counterfoil-onboarding-'))
const store = values.store ?? `sqlite:${join(folder, 'runs.db')}`
const log = join(folder, 'effects.jsonl')
// A database may have seen this example before.
const batch = Date.now().toString(36)
const vendors = ['Acme Paper', 'Bolt & Nut', 'Cedar Foods'].map((name, n) => ({
  runId: `vendor-${n + 1}-${batch}`,
  input: { vendor: name, usd: 84_000 + 1_000 * n, what: `lot ${n + 1}` },
  form: { text: `${name} Inc., ${batch}-${n + 1}` },
}))

/**
 * A process that ends with this one.
 * @param {string} name
 * @param {string} argument
 */
function begin(name, argument) {
  const path = fileURLToPath(new URL(`./onboarding/${name}.mjs`, import.meta.url))
  return fork(path, [argument], { env: { ...process.env, ONBOARDING_OFFICE: office } })
}

let office = ''
const upstream = begin('office', log)
const [{ url }] = await once(upstream, 'message')
office = url

const cf = await open({ store, graphs: [onboarding] })
for (const { runId, input } of vendors) await cf.start(onboarding, input, { runId })
let worker = begin('worker', store)
let ended = false
let doubts = 0

/** Whenever the office has taken something, and its answer is still on the way. */
async function killAgainAndAgain() {
  let kills = 0
  let seen = 0
  while (!ended && kills < killsMax) {
    await pause(5)
    const now = effectsIn(log).length
    if (now === seen) continue
    seen = now
    const exit = once(worker, 'exit')
    worker.kill('SIGKILL')
    const [, signal] = await exit
    if (signal === 'SIGKILL') kills++
    worker = begin('worker', store)
  }
  return kills
}

/** The vendors send their forms, people decide, until every run has ended. */
async function people() {
  for (const { runId, form } of vendors) {
    await cf.run(runId).signal('w9', form, { id: `${runId}:w9` })
  }
  while (!ended) {
    const { items } = await cf.inbox.list()
    for (const item of items.filter(({ runId }) => vendors.some((one) => one.runId === runId))) {
      await decide(item).catch((error) => {
        // The call was found to have landed meanwhile: nothing is left to decide.
        if (!['ITEM_CLOSED', 'ITEM_CHANGED'].includes(error.code)) throw error
      })
    }
    await pause(50)
  }
}

/**
 * A person looks before they say anything.
 * @param {import('counterfoil').Item} item
 */
async function decide({ itemId, runId, version, kind, body }) {
  const by = kind === 'approval' ? 'ana' : 'omar'
  const said = { by, version }
  if (kind === 'approval') {
    await cf.inbox.decide(itemId, { ...said, outcome: 'approve', reason: 'as agreed' })
    return
  }
  doubts++
  const services = { request_w9: 'mail', file_purchase_order: 'order' }
  const tool = /** @type {keyof typeof services} */ (body.subject?.tool)
  const done = effectsIn(log).find((one) => one.run === runId && one.service === services[tool])
  await cf.inbox.decide(
    itemId,
    done
      ? { ...said, outcome: 'happened', reason: 'it is in the books', result: done.result }
      : { ...said, outcome: 'did_not_happen', reason: 'not in the books', madeSure: true },
  )
}

const killing = killAgainAndAgain()
const deciding = people()
const outputs = await Promise.all(vendors.map(({ runId }) => cf.run(runId).result()))
ended = true
const kills = await killing
await deciding
worker.kill()
upstream.kill()
await cf.close()

const effects = effectsIn(log)
const orders = effects.filter((one) => one.service === 'order').length
const figures = { vendors: vendors.length, kills, doubts, orders, twice: twice(effects), outputs }
console.log(`${kills} kills, ${doubts} times a person had to look`)
console.log(`${vendors.length} vendors, ${orders} purchase orders, ${figures.twice.length} twice`)
if (values.figures) writeFileSync(values.figures, JSON.stringify(figures, null, 2))
rmSync(folder, { recursive: true, force: true })
process.exitCode = orders === vendors.length && figures.twice.length === 0 ? 0 : 1
