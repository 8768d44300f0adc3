// Counterfoil, as a user has it: the built package, its public names, its settings as they come.
// One tool for what acts and one for what reads; a workflow, and the same loop as a graph.
import { join } from 'node:path'
import { diskBytes } from '../disk.mjs'

/** @typedef {import('../workload.mjs').Work} Work */
/** @typedef {import('../workload.mjs').Message} Message */
/** @typedef {import('../harness.mjs').System} System */
/** @typedef {{ id: string, i: number }} Place */
/** @typedef {Place & { messages: Message[] }} State */

const concurrency = 50
// A copy of the built package: a build during the run must not change what is measured.
const dist = String(process.env['COUNTERFOIL_DIST'])

/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } }

/**
 * @param {typeof import('counterfoil')} counterfoil
 * @param {Work} work
 * @param {boolean} reads Every step is declared `pure`.
 */
function toolsOf({ tool }, work, reads) {
  const run = (/** @type {Place} */ { id, i }) => work.run(id, i)
  const act = tool({ name: work.act, replayClass: 'unsafe_on_replay', input: any, run })
  const read = tool({ name: 'read', replayClass: 'pure', input: any, run })
  const toolOf = (/** @type {number} */ i) => (reads || work.kind(i) === 'read' ? read : act)
  return { tools: [act, read], toolOf }
}

/**
 * @param {typeof import('counterfoil')} counterfoil
 * @param {Work} work
 * @param {boolean} reads
 */
function workflowOf(counterfoil, work, reads) {
  const { tools, toolOf } = toolsOf(counterfoil, work, reads)
  return counterfoil.workflow({
    id: 'bench@1.0.0',
    input: any,
    tools,
    run: async (/** @type {{ id: string }} */ { id }, ctx) => {
      /** @type {Message[]} */
      const messages = []
      for (let i = 0; i < work.steps; i++) {
        const said = await ctx.call(toolOf(i), { id, i })
        if (said !== null) messages.push(said)
      }
      return messages.length
    },
  })
}

/**
 * @param {typeof import('counterfoil')} counterfoil
 * @param {Work} work
 */
function graphOf(counterfoil, work) {
  const { tools, toolOf } = toolsOf(counterfoil, work, false)
  return counterfoil.graph({
    id: 'bench@1.0.0',
    state: any,
    tools,
    start: 'step',
    nodes: {
      step: async (/** @type {State} */ { id, i, messages }, ctx) => {
        const said = await ctx.call(toolOf(i), { id, i })
        const patch = { i: i + 1, messages: said === null ? messages : [...messages, said] }
        return patch.i < work.steps ? ctx.go('step', patch) : ctx.done(patch.i)
      },
    },
  })
}

/**
 * @param {string} store
 * @param {Work} work
 * @param {{ reads?: boolean, asGraph?: boolean, key?: string }} how
 */
async function openOn(store, work, { reads = false, asGraph = false, key }) {
  /** @type {typeof import('counterfoil')} */
  const counterfoil = await import(dist)
  const bench = asGraph ? graphOf(counterfoil, work) : workflowOf(counterfoil, work, reads)
  const cf = await counterfoil.open({ store, graphs: [bench], ...(key ? { key } : {}) })
  await cf.worker({ concurrency }).start()
  const start = async (/** @type {string} */ id) =>
    (await cf.start(bench, { id, i: 0, messages: [] }, { runId: id })).result()
  return {
    start: (/** @type {string[]} */ ids) => Promise.all(ids.map(start)).then(() => {}),
    resume: async (/** @type {string[]} */ ids) =>
      (await Promise.all(ids.map((id) => resume(cf, id)))).flat(),
    close: () => cf.close(),
  }
}

/**
 * A run of a dead worker goes on by itself. If it asks, the person has looked into the outbox.
 * @param {import('counterfoil').Counterfoil} cf
 * @param {string} id
 */
async function resume(cf, id) {
  const run = cf.run(id)
  const told = []
  const asks = async () => (await run.until('waiting_human', 'completed')).state !== 'completed'
  while (await asks()) {
    const { items } = await cf.inbox.list({ kind: 'doubt', runId: id })
    for (const { itemId, version, title, reason, body } of items) {
      const { node, subject, input, attempt } = body
      told.push({ itemId, title, reason, runId: id, node, tool: subject?.tool, input, attempt })
      const result = { role: 'tool', content: 'sent' }
      const why = { by: 'ana', reason: 'one line in the outbox' }
      await cf.inbox.decide(itemId, { outcome: 'happened', result, ...why, version })
    }
  }
  await run.result()
  return told
}

/**
 * @param {string} about
 * @param {{ reads?: boolean, asGraph?: boolean, tests?: string[] }} how
 */
function sqlite(about, { tests, ...how }) {
  /** @type {System} */
  const system = {
    about: `Counterfoil on SQLite, ${about}`,
    floor: 'sqlite',
    durable: !how.reads,
    packages: ['counterfoil'],
    ...(tests ? { tests } : {}),
    createStore: async ({ dir }) => ({
      env: { store: `sqlite:${join(dir, 'runs.db')}` },
      bytes: async () => diskBytes(dir),
    }),
    open: (env, work) => openOn(env.store, work, how),
  }
  return system
}

/**
 * @param {string} about
 * @param {{ reads?: boolean, tests?: string[] }} how
 */
function postgres(about, { tests, ...how }) {
  /** @type {System} */
  const system = {
    about: `Counterfoil on Postgres, ${about}`,
    floor: 'postgres',
    durable: !how.reads,
    packages: ['counterfoil'],
    ...(tests ? { tests } : {}),
    createStore: ({ postgres, label }) => postgres.store(label),
    open: (env, work) => openOn(env.url, work, { ...how, key: 'b'.repeat(64) }),
  }
  return system
}

const unsafe = 'every step unsafe: recorded before it is sent and after it'
const pure = 'every step pure: on disk within 10 ms, not before the next begins'

/** @type {Record<string, System>} */
export const systems = {
  'counterfoil-sqlite': sqlite(unsafe, {}),
  'counterfoil-sqlite-pure': sqlite(pure, { reads: true, tests: ['A', 'B', 'D'] }),
  'counterfoil-sqlite-graph': sqlite('a graph with its list in the state, every step unsafe', {
    asGraph: true,
    tests: ['A', 'C', 'D'],
  }),
  'counterfoil-postgres': postgres(unsafe, {}),
  'counterfoil-postgres-pure': postgres(pure, { reads: true, tests: ['A', 'B', 'D'] }),
}
