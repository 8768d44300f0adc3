// LangGraph: an agent's loop as a graph, one node for each superstep.
import { join } from 'node:path'
import { diskBytes } from '../disk.mjs'
import { peer } from '../peer.mjs'

/** @typedef {import('../workload.mjs').Work} Work */
/** @typedef {import('../harness.mjs').System} System */

const pool = 20

/**
 * @param {Work} work
 * @param {any} checkpointer
 * @param {{ durability?: 'sync', facts?: object, close: () => unknown }} how
 */
async function openGraph(work, checkpointer, { durability, facts, close }) {
  const { Annotation, END, START, StateGraph } = await peer('@langchain/langgraph')
  const State = Annotation.Root({
    id: Annotation(),
    i: Annotation(),
    messages: Annotation({
      reducer: (/** @type {unknown[]} */ a, /** @type {unknown[]} */ b) => a.concat(b),
      default: () => [],
    }),
  })
  const graph = new StateGraph(State)
    .addNode('step', async (/** @type {{ id: string, i: number }} */ { id, i }) => {
      const said = await work.run(id, i)
      return { i: i + 1, messages: said === null ? [] : [said] }
    })
    .addEdge(START, 'step')
    .addConditionalEdges(
      'step',
      (/** @type {{ i: number }} */ { i }) => (i < work.steps ? 'step' : END),
      ['step', END],
    )
    .compile({ checkpointer })
  const invoke = (/** @type {unknown} */ input, /** @type {string} */ id) =>
    graph.invoke(input, {
      configurable: { thread_id: id },
      recursionLimit: work.steps + 10,
      ...(durability ? { durability } : {}),
    })
  return {
    start: (/** @type {string[]} */ ids) =>
      Promise.all(ids.map((id) => invoke({ id, i: 0, messages: [] }, id))).then(() => {}),
    // Documented: no input, on the same thread. If nothing of it had been saved, from its input.
    resume: async (/** @type {string[]} */ ids) => {
      const again = (/** @type {string} */ id) =>
        invoke(null, id).catch((/** @type {Error} */ error) => {
          if (error.name !== 'EmptyInputError') throw error
          return invoke({ id, i: 0, messages: [] }, id)
        })
      await Promise.all(ids.map(again))
    },
    close,
    facts,
  }
}

/** @param {boolean} careful */
function sqlite(careful) {
  /** @type {System} */
  const system = {
    about: careful
      ? 'LangGraph, SqliteSaver; durability "sync" and PRAGMA synchronous = FULL, both set by us'
      : 'LangGraph, SqliteSaver as it comes: durability "async", WAL with synchronous = NORMAL',
    floor: 'sqlite',
    durable: careful,
    packages: ['@langchain/langgraph', '@langchain/langgraph-checkpoint-sqlite'],
    createStore: async ({ dir }) => ({
      env: { file: join(dir, 'langgraph.db') },
      bytes: async () => diskBytes(dir),
    }),
    async open(env, work) {
      const { default: Database } = await peer('better-sqlite3')
      const { SqliteSaver } = await peer('@langchain/langgraph-checkpoint-sqlite')
      const db = new Database(env.file)
      const saver = new SqliteSaver(db)
      saver.setup()
      if (careful) db.pragma('synchronous = FULL')
      return openGraph(work, saver, {
        ...(careful ? { durability: /** @type {const} */ ('sync') } : {}),
        facts: { synchronous: db.pragma('synchronous', { simple: true }) },
        close: () => db.close(),
      })
    },
  }
  return system
}

/** @param {boolean} careful */
function postgres(careful) {
  /** @type {System} */
  const system = {
    about: `LangGraph, PostgresSaver, pool of ${pool}; durability ${careful ? '"sync", set by us' : '"async", as it comes'}`,
    floor: 'postgres',
    durable: careful,
    packages: ['@langchain/langgraph', '@langchain/langgraph-checkpoint-postgres'],
    createStore: ({ postgres, label }) => postgres.store(label),
    async open(env, work) {
      const { default: pg } = await peer('pg')
      const { PostgresSaver } = await peer('@langchain/langgraph-checkpoint-postgres')
      const clients = new pg.Pool({ connectionString: env.url, max: pool })
      const saver = new PostgresSaver(clients)
      await saver.setup()
      return openGraph(work, saver, {
        ...(careful ? { durability: /** @type {const} */ ('sync') } : {}),
        close: () => clients.end(),
      })
    },
  }
  return system
}

export const systems = {
  'langgraph-sqlite': sqlite(false),
  'langgraph-sqlite-careful': sqlite(true),
  'langgraph-postgres': postgres(false),
  'langgraph-postgres-careful': postgres(true),
}
