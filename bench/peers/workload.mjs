// The work that every system does: steps in a row, each of which is recorded before the next one
// begins. Times are taken inside the steps, so an adapter measures nothing.
import { appendDurably, take } from './disk.mjs'
import { now } from './numbers.mjs'

/** @typedef {{ role: string, content: string }} Message */
/**
 * `act` changes the world, `read` does not. Only Counterfoil asks.
 * @typedef {'act' | 'read'} Kind
 */
/**
 * @typedef {object} Work
 * @property {number} steps
 * @property {(i: number) => string} name
 * @property {(i: number) => Kind} kind
 * @property {string} act What a step that changes the world is called.
 * @property {(id: string, i: number) => Promise<Message | null>} run What it returns is the step's
 *   result; a message is appended to the agent's list.
 */
/**
 * @typedef {object} Job
 * @property {string} system
 * @property {'init' | 'start' | 'resume' | 'look'} mode
 * @property {any} env What the adapter's store said.
 * @property {'noop' | 'grow' | 'hang' | 'email'} workload
 * @property {number} steps
 * @property {string[]} ids One run for each.
 * @property {number} [rounds] The same again so often, in the same process, with other runs.
 * @property {string} [flag] While this file exists, `hang` hangs and `email` dies; once.
 * @property {number} [at] The step in which it does.
 * @property {string} [outbox]
 */

const words =
  `the agent reads file and calls tool with result error value list order user message plan search
  index token cost retry state step name path line query table row`.split(/\s+/)

/** About 2 KB of text that compresses much as prose does, and the same for the same number. */
export function message(/** @type {number} */ i) {
  let x = ((i + 1) * 2_654_435_761) >>> 0
  let text = `#${i}`
  while (text.length < 2_000) {
    x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0
    text += ` ${words[(x >>> 16) % words.length]}${(x >>> 24) & 3 ? '' : (x >>> 8).toString(36)}`
  }
  return { role: 'tool', content: text }
}

const stages = ['prepare', 'send_email', 'finish']

/**
 * @param {Job} job
 * @param {(event: object) => void} tell
 */
export function workOf(job, tell) {
  /** @type {number[]} */
  const begun = []
  const { workload, flag = '', at = -1, outbox = '' } = job
  /** @type {Record<Job['workload'], (id: string, i: number) => Promise<Message | null>>} */
  const steps = {
    noop: async () => null,
    grow: async (_, i) => message(i),
    hang: async (_, i) => {
      if (i < at) return null
      const hangs = take(flag) // Before it is told: whoever hears it kills us.
      tell({ event: 'reached', at: now(), step: i })
      if (hangs) await new Promise(() => setInterval(() => {}, 1_000_000))
      return null
    },
    email: async (id, i) => {
      if (i === 1) appendDurably(outbox, `e-mail of ${id}`)
      if (i === at && take(flag)) process.kill(process.pid, 'SIGKILL')
      return { role: 'tool', content: stages[i] ?? '' }
    },
  }
  /** @type {Work} */
  const work = {
    steps: job.steps,
    name: (i) => (workload === 'email' ? (stages[i] ?? '') : `step-${i}`),
    kind: (i) => {
      if (workload === 'email') return i === 1 ? 'act' : 'read'
      return workload === 'hang' && i >= at ? 'read' : 'act'
    },
    act: workload === 'email' ? 'send_email' : 'act',
    run: (id, i) => {
      begun.push(now())
      return steps[workload](id, i)
    },
  }
  return { work, begun }
}

/**
 * For systems with a function that is replayed and a step that is recorded.
 * @param {Work} work
 * @param {string} id
 * @param {(name: string, run: () => Promise<Message | null>) => Promise<Message | null>} step
 */
export async function drive(work, id, step) {
  /** @type {Message[]} */
  const messages = []
  for (let i = 0; i < work.steps; i++) {
    const said = await step(work.name(i), () => work.run(id, i))
    if (said !== null && said !== undefined) messages.push(said)
  }
  return messages.length
}
