// The story of a golden ledger: graphs, runs in every state that a store can be left in, and what
// must become of each. scripts/golden.mjs tells it to a new store once for each release;
// golden.test.ts goes on from where it ends, in this release and in every later one. Never change a
// graph here: a new one gets a new name.
import { graph, tool, workflow } from 'counterfoil'

/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'golden', validate: (value) => ({ value }) } }

const page = 'x'.repeat(70_000)

/**
 * @typedef {{ tool: string, to: string, key: string | null }} Sent
 * @typedef {(sent: Sent) => void | Promise<void>} Acting
 */

/** @param {Acting} act What happens in the world; it may kill this process. */
export function makeTools(act) {
  /** @type {(input: any, call: import('counterfoil').CallInfo) => Promise<{ id: string }>} */
  const send = async ({ to }, call) => {
    await act({ tool: call.tool, to, key: call.idempotencyKey })
    return { id: `${call.tool}-${to}` }
  }
  const draft = tool({
    name: 'draft',
    replayClass: 'pure',
    input: any,
    run: (/** @type {{ to: string }} */ { to }) => `dear ${to}`,
  })
  const mail = tool({
    ...{ name: 'mail', replayClass: 'unsafe_on_replay', input: any, quietMs: 100 },
    run: send,
  })
  const fetched = tool({
    ...{ name: 'fetched', replayClass: 'unsafe_on_replay', input: any, quietMs: 100 },
    run: async (/** @type {{ to: string }} */ input, call) => ({
      ...(await send(input, call)),
      page,
    }),
  })
  const charge = tool({
    ...{ name: 'charge', replayClass: 'idempotent_with_key', input: any, quietMs: 100 },
    idempotencyKey: (/** @type {{ to: string }} */ { to }, call) => `${call.runId}:${to}`,
    keyTtlMs: Number.POSITIVE_INFINITY,
    run: send,
  })
  return { draft, mail, fetched, charge }
}

/** @param {Acting} act */
export function makeGraphs(act) {
  const { draft, mail, fetched, charge } = makeTools(act)
  const tools = [draft, mail, fetched, charge]
  const order = graph({
    ...{ id: 'order@1.0.0', state: any, tools, start: 'plan' },
    nodes: {
      plan: async ({ to }, ctx) => {
        const text = await ctx.call(draft, { to })
        const { page: found } = await ctx.call(fetched, { to })
        return ctx.go('send', { text, length: found.length })
      },
      send: async ({ to }, ctx) => {
        const [{ id }, paid] = await Promise.all([ctx.call(mail, { to }), ctx.call(charge, { to })])
        return ctx.go('approve', { log: [id, paid.id] })
      },
      approve: {
        checkpoint: 'before_effects',
        run: async ({ to }, ctx) => {
          const answer = await ctx.approval({ title: `close ${to}?`, queue: 'orders', data: 1 })
          return ctx.go('end', { approved: answer.approved })
        },
      },
      end: async ({ to, text, length, log, approved }, ctx) => {
        await ctx.call(mail, { to: `${to}, again` })
        return ctx.done({ text, length, log, approved })
      },
    },
  })
  const waiting = workflow({
    ...{ id: 'waiting@1.0.0', input: any, tools },
    run: async (/** @type {{ to: string, how: string }} */ { to, how }, ctx) => {
      const { id } = await ctx.call(mail, { to })
      const heard = how === 'sleep' ? await ctx.sleep(60_000) : await ctx.signal('go')
      await ctx.call(charge, { to })
      return { id, heard: heard?.data ?? null }
    },
  })
  const family = workflow({
    ...{ id: 'family@1.0.0', input: any, tools },
    run: async (/** @type {{ to: string }} */ { to }, ctx) => {
      await ctx.call(mail, { to })
      const child = await ctx.spawn(waiting, { to: `child of ${to}`, how: 'signal' })
      return { child: child.state === 'completed' ? child.output : null }
    },
  })
  return { order, waiting, family, tools: { draft, mail, fetched, charge } }
}

/** Where each run stands in the ledger, and what must come of it. */
export const story = /** @type {const} */ ({
  done: { state: 'completed' },
  approval: { state: 'waiting_human' },
  /** Its worker died in its mail, and it was asked about. */
  doubt: { state: 'waiting_human' },
  /** Its worker died in its mail, and nobody has come since. */
  cut: { state: 'running' },
  signal: { state: 'waiting_tool' },
  sleep: { state: 'waiting_tool' },
  child: { state: 'waiting_tool' },
  paused: { state: 'paused' },
  cancelled: { state: 'cancelled' },
  scope: { state: 'waiting_tool' },
})
/** @typedef {keyof typeof story} Name */

/** @type {(to: string) => unknown} */
export const orderOutput = (to) => ({
  ...{ text: `dear ${to}`, length: page.length, approved: true },
  log: [`mail-${to}`, `charge-${to}`],
})

/** The ids under which a foreign runtime has made calls. */
export const scopeIds = { workflowId: 'scope', nodeId: 'tools', checkpointId: 'step-1' }
