// Damages copies of a golden ledger at random, one after the other, and uses each: opens it, reads
// and verifies everything, and goes on with its runs. Whatever it meets is an error with a code, or
// the truth; never another value, a crash, or a second send.
// corrupt.mjs <ledger's folder> <first seed> <count> <upstream port> [receipts | <statement>]
//   receipts      only what receipts say is damaged
//   <statement>   what this does to the database, and nothing else
// One line of JSON for each.
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isCounterfoilError, open } from 'counterfoil'
import { makeGraphs, orderOutput } from '../../../replay/golden.mjs'
import { post } from '../workload.mjs'
import { damage, damageBy } from './damage.mjs'

const [, , ledger = '', first = '1', count = '1', port = '0', only = ''] = process.argv
const { states, sent: before } = JSON.parse(readFileSync(join(ledger, 'facts.json'), 'utf8'))
const by = { by: 'ana', reason: 'golden' }
const restMs = 4_000

/** @type {string[]} */
let faults = []
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error) => faults.push(`${event}: ${error?.stack ?? error}`))
}

/** An error with a code is an answer; any other is a crash. */
async function coded(/** @type {() => Promise<unknown>} */ fn) {
  try {
    await fn()
    return null
  } catch (error) {
    if (isCounterfoilError(error)) return error.code
    faults.push(`an error without a code: ${/** @type {any} */ (error)?.stack ?? error}`)
    return 'none'
  }
}

const unsafe = new Set(
  before
    .filter((/** @type {any} */ { key }) => key === null)
    .map((/** @type {any} */ { tool, to }) => `${tool} ${to}`),
)

/** @param {string} runId */
function expected(runId) {
  if (['done', 'approval', 'doubt', 'cut', 'paused'].includes(runId)) return orderOutput(runId)
  if (runId === 'signal') return { id: 'mail-signal', heard: 'now' }
  if (runId === 'sleep') return { id: 'mail-sleep', heard: null }
  if (runId === 'child') return { child: { id: 'mail-child of child', heard: 'now' } }
  return { id: 'mail-child of child', heard: 'now' }
}

/** @param {import('counterfoil').Counterfoil} cf */
async function readAll(cf) {
  const codes = []
  codes.push(await coded(() => cf.inbox.list()))
  for (const runId of Object.keys(states)) {
    const run = cf.run(runId)
    // A scope's state is its host's.
    const state = runId === 'scope' ? [] : [run.document, run.state]
    for (const read of [run.status, run.preview, ...state]) {
      codes.push(await coded(() => read.call(run)))
    }
  }
  return codes
}

/** Answers truthfully until nothing moves any more. */
async function goOn(/** @type {import('counterfoil').Counterfoil} */ cf) {
  await coded(() => cf.run('paused').resume({ by: 'ana' }))
  for (const runId of Object.keys(states).filter((id) => /^(signal|child_)/.test(id))) {
    await coded(() => cf.run(runId).signal('go', 'now', { id: 'go' }))
  }
  await coded(() => cf.worker().start())
  let last = ''
  for (let still = 0, from = Date.now(); still < 4 && Date.now() - from < restMs; ) {
    await coded(() => decideAll(cf))
    /** @type {string[]} */
    const now = []
    for (const runId of Object.keys(states)) {
      await coded(async () => now.push((await cf.run(runId).status()).state))
    }
    still = now.join() === last ? still + 1 : 0
    last = now.join()
    await new Promise((resolve) => setTimeout(resolve, 60))
  }
}

async function decideAll(/** @type {import('counterfoil').Counterfoil} */ cf) {
  for (const { itemId, version, kind, runId, reason } of (await cf.inbox.list()).items) {
    const happened = { outcome: 'happened', result: { id: `mail-${runId}` } }
    if (kind === 'doubt' && reason !== 'unknown') continue
    const said = /** @type {any} */ (kind === 'doubt' ? happened : { outcome: 'approve' })
    await coded(() => cf.inbox.decide(itemId, { ...said, version, ...by }))
  }
}

async function judge(/** @type {import('counterfoil').Counterfoil} */ cf) {
  for (const runId of Object.keys(states)) {
    await coded(async () => {
      const { state } = await cf.run(runId).status()
      if (state !== 'completed') return
      const [is, must] = [await cf.run(runId).result(), expected(runId)]
      if (JSON.stringify(sorted(is)) === JSON.stringify(sorted(must))) return
      faults.push(`WRONG ANSWER ${runId}: ${JSON.stringify(is).slice(0, 200)}`)
    })
  }
}

/** @returns {unknown} */
function sorted(/** @type {any} */ value) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort()
      .map(([key, each]) => [key, sorted(each)]),
  )
}

async function one(/** @type {number} */ seed) {
  faults = []
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-corrupt-'))
  const path = join(folder, 'runs.db')
  for (const end of ['', '.key', '.blobs']) {
    cpSync(join(ledger, `runs.sqlite${end}`), `${path}${end}`, { recursive: true })
  }
  chmodSync(`${path}.key`, 0o600)
  const isNamed = only !== '' && only !== 'receipts'
  const done = isNamed ? damageBy(path, only) : damage(path, seed, only === 'receipts')
  /** @type {Promise<unknown>[]} */
  const sending = []
  const { order, waiting, family } = makeGraphs(({ tool, to, key }) => {
    if (key === null && unsafe.has(`${tool} ${to}`)) faults.push(`SECOND SEND ${tool} ${to}`)
    sending.push(post(Number(port), { tool, key, input: { to }, attemptId: `${seed}` }))
  })
  const graphs = [order, waiting, family]
  let refused = null
  /** @type {(string | null)[]} */
  let codes = []
  /** @type {import('counterfoil').Counterfoil | null} */
  let cf = null
  refused = await coded(async () => {
    const warned = { onWarning: () => {} }
    cf = await open({ store: `sqlite:${path}`, graphs, settleMs: 20, ...warned })
  })
  if (cf !== null) {
    const opened = /** @type {import('counterfoil').Counterfoil} */ (cf)
    codes = await readAll(opened)
    if (seed % 2 === 0 || only !== '') {
      await coded(() => opened.store.adopt('ana', 'golden'))
      await goOn(opened)
    }
    await judge(opened)
    await coded(() => opened.close())
  }
  await Promise.all(sending)
  rmSync(folder, { recursive: true, force: true })
  const told = codes.some((code) => code !== null)
  const met = refused !== null ? 'refused' : told ? 'told' : 'not noticed'
  return { seed, ...done, met, refused, faults }
}

try {
  for (let seed = Number(first); seed < Number(first) + Number(count); seed++) {
    process.stdout.write(`${JSON.stringify(await one(seed))}\n`)
  }
  process.exit(0)
} catch (error) {
  // Whatever else is caught above: this one ends the programme.
  process.stderr.write(`${/** @type {any} */ (error)?.stack ?? error}\n`)
  process.exit(1)
}
