// A server's part beside the workers: lists what waits, decides it truthfully and never too early,
// and now and then pauses, resumes or cancels a run. Until it is told to stop.
// decider.mjs <store> <upstream log> <its port> <seed> <how often a run is stopped, 0 to 1>
import { readFileSync } from 'node:fs'
import { isCounterfoilError, open } from 'counterfoil'
import { answerTo } from './truth.mjs'

const [, , store = '', log = '', port = '0', seed = '1', stopping = '0'] = process.argv
let state = Number(seed)
let over = false
let decided = 0
process.once('SIGTERM', () => {
  over = true
})

function random() {
  state = (state * 48_271) % 2_147_483_647
  return state / 2_147_483_647
}

async function effects() {
  await fetch(`http://127.0.0.1:${port}`)
  const lines = readFileSync(log, 'utf8').split('\n')
  // The last line may be half written.
  return lines.slice(0, -1).map((line) => JSON.parse(line))
}

// What another process of the site may have done a moment before.
const expected = ['DECISION_TOO_EARLY', 'ITEM_CLOSED', 'ITEM_CHANGED', 'RUN_ENDED']
// A server may be away for a while; a file never is.
const away = store.startsWith('sqlite:') ? [] : ['STORE_UNREACHABLE', 'STORE_BUSY']
const ordinary = (/** @type {unknown} */ error) => {
  const all = [...expected, 'RUN_NOT_PAUSED', ...away]
  if (!all.some((code) => isCounterfoilError(error, code))) throw error
}

const cf = await open({ store })

/** @type {Map<string, Promise<unknown>>} */
const underWay = new Map()

async function attend() {
  const { items } = await cf.inbox.list({ countMax: 500 })
  // The look comes before the words, and counts from its own time (I5).
  const lookedAt = cf.store.clock.now()
  const known = await effects()
  // A run whose row somebody has locked must not keep the others from their answers.
  for (const item of items.filter(({ itemId }) => !underWay.has(itemId))) {
    const said = answerTo(item, known)
    const { itemId, version } = item
    const by = { by: 'decider', reason: 'asked the upstream', version, lookedAt }
    const deciding = cf.inbox
      .decide(itemId, { ...said, ...by })
      .then(() => decided++, ordinary)
      .finally(() => underWay.delete(itemId))
    underWay.set(itemId, deciding)
  }
  if (Number(stopping) === 0) return
  const { items: runs } = await cf.store.listRuns({ namespace: 'default', countMax: 500 })
  for (const { runId } of runs) {
    if (random() >= Number(stopping)) continue
    const wish = random() < 0.03 ? 'cancel' : random() < 0.5 ? 'pause' : 'resume'
    await cf.run(runId)[wish]({ by: 'decider' }).catch(ordinary)
  }
}

process.stdout.write('working\n')
while (!over) {
  await attend().catch(ordinary)
  await new Promise((resolve) => setTimeout(resolve, 20))
}
await Promise.all(underWay.values())
await cf.close()
process.stdout.write(JSON.stringify({ decided }))
