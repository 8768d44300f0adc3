// Four agents of forty steps each. When the world has seen 141 of the 160 steps, the whole process
// group of their host is killed (SIGKILL): workers, host and all. A supervisor, as systemd with
// Restart=always would, starts it again, and does nothing else. The agents finish; nothing is done
// twice.
//
// Here every step is pure or keyed, so that nobody has to be asked. An unsafe call that was under
// way at the kill cannot be known to have happened, and is put before a person: --unsafe shows it,
// with somebody who looks into the log of the mail server and answers.
//
//   node examples/four-agents.mjs [--unsafe] [--store postgres://…] [--figures figures.json]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { open } from 'counterfoil'
import { stepsEach } from './four-agents/agent.mjs'
import { Upstream } from './four-agents/upstream.mjs'

const killAt = 141
const restartMs = 100

const { values } = parseArgs({
  options: {
    unsafe: { type: 'boolean', default: false },
    store: { type: 'string' },
    figures: { type: 'string' },
  },
})
const folder = mkdtempSync(join(tmpdir(), 'counterfoil-agents-'))
const store = values.store ?? `sqlite:${join(folder, 'runs.db')}`
// A database may have seen this example before.
const batch = Date.now().toString(36)
const ids = [1, 2, 3, 4].map((n) => `agent-${n}-${batch}`)
const upstream = new Upstream()
const url = await upstream.open()

/** Starts the host in a process group of its own. */
function start() {
  const path = fileURLToPath(new URL('./four-agents/host.mjs', import.meta.url))
  const args = [path, store, ids.join(','), ...(values.unsafe ? ['unsafe'] : [])]
  return spawn(process.execPath, args, {
    env: { ...process.env, AGENTS_UPSTREAM: url },
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  })
}

/** @param {import('node:child_process').ChildProcess} host */
function killGroup(host) {
  if (host.pid !== undefined) process.kill(-host.pid, 'SIGKILL')
}

/** Restart=always: again and again, until it ends by itself. How often it was started. */
async function supervise() {
  for (let starts = 1; ; starts++) {
    host = start()
    startedAt = Date.now()
    const [code] = await once(host, 'exit')
    if (code === 0) return starts
    if (starts > 5) throw new Error('the host does not stay up')
    await pause(restartMs)
  }
}

/** Somebody who answers what is asked, by the log of the mail server. */
async function answer() {
  const cf = await open({ store })
  for (; !over; await pause(100)) {
    const { items } = await cf.inbox.list({ kind: 'doubt' })
    for (const { itemId, version, runId, body, title } of items.filter((one) =>
      isOurs(one.runId),
    )) {
      const { n } = /** @type {{ n: number }} */ (body.input)
      const sent = upstream.log.find((one) => one.agent === runId && one.n === n)
      const by = { by: 'ana', reason: 'the log of the mail server', version, madeSure: true }
      const outcome = sent ? 'happened' : 'did_not_happen'
      const said = sent ? { outcome: 'happened', result: { id: sent.id } } : { outcome }
      await cf.inbox.decide(itemId, /** @type {any} */ ({ ...said, ...by }))
      console.log(`a person is asked: ${runId}, step ${n}: ${title}; she says: ${outcome}`)
      asked++
    }
  }
  await cf.close()
}

/** @param {string} runId */
const isOurs = (runId) => ids.includes(runId)

/** @type {import('node:child_process').ChildProcess} */
let host
let over = false
let asked = 0
let killedAt = 0
let startedAt = 0
upstream.onStep = (/** @type {number} */ steps) => {
  if (steps < killAt || killedAt > 0) return false
  killedAt = Date.now()
  killGroup(host)
  console.log(`step ${steps} of ${4 * stepsEach} is done, and nobody has been told: SIGKILL to all`)
  return true
}
process.on('SIGINT', () => {
  killGroup(host)
  process.exit(130)
})

const begun = Date.now()
const person = values.unsafe ? answer() : null
const starts = await supervise()
const endedAt = Date.now()
over = true
await person
// What the killed ones had sent may have come a moment after them.
const after = upstream.log.filter((one) => one.at > startedAt)
const figures = {
  steps: upstream.steps,
  starts,
  duplicates: upstream.duplicates,
  sentAgain: upstream.log.filter((one) => one.repeated).length,
  asked,
  backMs: (after[0]?.at ?? Number.NaN) - killedAt,
  doneMs: endedAt - killedAt,
  wholeMs: endedAt - begun,
}
console.log(
  [
    `the host was started ${figures.starts} times, by its supervisor alone`,
    `back at work ${figures.backMs} ms after the kill, done after ${figures.doneMs} ms`,
    `steps ${figures.steps}, done twice ${figures.duplicates}, ` +
      `sent again with their key ${figures.sentAgain}, people asked ${figures.asked}`,
  ].join('\n'),
)
if (values.figures) writeFileSync(values.figures, JSON.stringify(figures, null, 2))
await upstream.close()
rmSync(folder, { recursive: true, force: true })
process.exitCode = figures.duplicates === 0 && figures.steps === 4 * stepsEach ? 0 : 1
