// A foreign runtime with threads and checkpoints of its own; its tool calls pass through scopes.
// host.mjs <store> <upstream port> <die at: n, or 0> <threads, by comma>
// It works until every thread is through, or waits for a person or for a resume.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { isCounterfoilError, open } from 'counterfoil'
import { addFailpoints } from 'counterfoil/testing'
import { makeTools } from './agent.mjs'

const [, , store = '', port = '0', dieAt = '0', threads = 't1'] = process.argv
const steps = 3
let hits = 0
let held = 0

function hit() {
  if (++hits === Number(dieAt)) process.kill(process.pid, 'SIGKILL')
}

const { draft, mail, fetched, charge } = makeTools(Number(port), hit)
const cf = await open({ store, settleMs: 60 })
addFailpoints(cf.store, hit)

/** @param {string} thread */
const pathOf = (thread) => `${store.slice('sqlite:'.length)}.${thread}.json`

/**
 * @param {string} thread
 * @returns {{ step: number, results: unknown[] }}
 */
function readThread(thread) {
  const path = pathOf(thread)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : { step: 0, results: [] }
}

/**
 * @param {string} thread
 * @param {unknown} state
 */
function saveThread(thread, state) {
  hit()
  const path = pathOf(thread)
  const fd = openSync(`${path}.new`, 'w')
  writeSync(fd, JSON.stringify(state))
  fsyncSync(fd)
  closeSync(fd)
  renameSync(`${path}.new`, path)
  hit()
}

/**
 * One step of a thread: the calls that a model has asked for, each with its id.
 * @param {string} to
 * @param {number} step
 */
async function callTools(to, step) {
  // Its ids are a host's own: here without any sign that ours have.
  const scope = await cf.scope({ workflowId: to, nodeId: 'tools', checkpointId: `step-${step}` })
  const id = (/** @type {string} */ name) => ({ callId: `call_${step}_${name}` })
  try {
    const results = await Promise.all([
      scope.call(draft, { n: step }, id('a')),
      scope.call(mail, { to, subject: `step ${step}` }, id('b')),
      scope.call(charge, { to, n: step }, id('c')),
      scope.call(fetched, { to, n: step }, id('d')),
      scope.call(mail, { to, subject: `step ${step}, copy` }, id('e')),
    ])
    return results.length
  } finally {
    await scope.close()
  }
}

/** @param {string} thread */
async function work(thread) {
  for (;;) {
    const { step, results } = readThread(thread)
    if (step === steps) return 'done'
    try {
      const result = await callTools(thread, step)
      saveThread(thread, { step: step + 1, results: [...results, result] })
    } catch (error) {
      if (isCounterfoilError(error, 'REPLAY_UNSAFE')) return 'waiting'
      if (isCounterfoilError(error, 'RUN_PAUSED')) return 'paused'
      if (isCounterfoilError(error, 'RUN_ENDED')) return 'cancelled'
      if (!isCounterfoilError(error, 'SCOPE_HELD')) throw error
      held++
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

process.stdout.write('working\n')
const states = await Promise.all(threads.split(',').map(work))
await cf.close()
process.stdout.write(JSON.stringify({ hits, held, states }))
