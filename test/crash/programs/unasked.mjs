// A host that dies in the middle of its call, or a worker that finds what such a host has left.
// unasked.mjs <store> <upstream port> <what> <die at: name:n, or ->
//   mail | charge   makes that call of thread t1, of class unsafe or keyed, at checkpoint c1
//   look            works without graphs until something waits for a person
import { open, tool } from 'counterfoil'
import { addFailpoints } from 'counterfoil/testing'
import { z } from 'zod'
import { post } from './workload.mjs'

const [, , store = '', port = '0', what = 'mail', dieAt = '-'] = process.argv
const [dieName, dieCount] = dieAt.split(':')
let hits = 0

function hit(/** @type {string} */ name) {
  if (name === dieName && ++hits === Number(dieCount)) process.kill(process.pid, 'SIGKILL')
}

const cf = await open({ store, settleMs: 60 })
addFailpoints(cf.store, hit)

async function look() {
  const worker = cf.worker()
  await worker.start()
  while ((await cf.inbox.list()).items.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/**
 * @param {unknown} input
 * @param {import('counterfoil').CallInfo} call
 */
async function send(input, { tool: name, idempotencyKey: key, attemptId, runId }) {
  const result = await post(Number(port), { tool: name, key, input, attemptId, runId })
  hit('after send')
  return result
}

const unsafe = /** @type {const} */ ({ replayClass: 'unsafe_on_replay' })
const keyed = /** @type {const} */ ({
  replayClass: 'idempotent_with_key',
  idempotencyKey: (/** @type {any} */ input) => JSON.stringify(input),
  keyTtlMs: Number.POSITIVE_INFINITY,
})

async function call() {
  const rules = /** @type {any} */ (what === 'mail' ? unsafe : keyed)
  const made = tool({ name: what, input: z.any(), ...rules, run: send })
  const scope = await cf.scope({ workflowId: 't1', nodeId: 'tools', checkpointId: 'c1' })
  await scope.call(made, { to: 't1' }, { callId: 'a' })
  await scope.close()
}

await (what === 'look' ? look() : call())
await cf.close()
