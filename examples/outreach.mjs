// A reorder for a customer in five nodes: plan, draft, send, approve, commit. Kill it whenever you
// like and start it again with the same folder: one mail, one order.
//
//   node examples/outreach.mjs [folder]                 a scripted person rejects once, then approves
//   node examples/outreach.mjs [folder] --interactive   you decide, from another terminal
import { appendFileSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { graph, open, tool } from 'counterfoil'
import { z } from 'zod'

const interactive = process.argv.includes('--interactive')
const given = process.argv.slice(2).find((word) => !word.startsWith('--'))
const folder = given ?? mkdtempSync(join(tmpdir(), 'counterfoil-outreach-'))
const store = `sqlite:${join(folder, 'runs.db')}`
const runId = 'acme-1'

// The outside world: a mail server that sends whatever it is given, and a shop that knows an order
// by its key. Both take the work at once and are slow to answer, so that a kill can come between.
const slowMs = Number(process.env['OUTREACH_SLOW_MS'] ?? 200)
const outbox = join(folder, 'outbox.jsonl')
/** @returns {{ messageId: string, to: string }[]} */
const mails = () =>
  existsSync(outbox)
    ? readFileSync(outbox, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    : []

/** @param {{ to: string, body: string, reference: string }} message */
async function mail(message) {
  const messageId = `m-${mails().length + 1}`
  appendFileSync(outbox, `${JSON.stringify({ messageId, ...message })}\n`)
  say(`the mail server takes ${messageId}`)
  await pause(slowMs)
  return { messageId }
}

/**
 * @param {string} key
 * @param {{ boxes: number }} what
 */
async function order(key, what) {
  const path = join(folder, `order-${key}.json`)
  if (!existsSync(path)) writeFileSync(path, JSON.stringify(what))
  say(`the shop has order ${key}: ${what.boxes} boxes`)
  await pause(slowMs)
  return { number: `ORD-${key}` }
}

// What the agent may do, and what may happen to each on a replay.
const Decision = z.object({
  ...{ role: z.literal('human'), kind: z.literal('decision'), item: z.string() },
  ...{ outcome: z.string(), by: z.string(), reason: z.string(), at: z.number() },
  content: z.unknown(),
})
const Order = z.object({ customer: z.string(), boxes: z.number() })

const plan = tool({
  name: 'plan',
  replayClass: 'pure',
  input: z.object({ customer: z.string() }),
  run: async ({ customer }) => {
    await pause(50)
    return [`tell ${customer} that a reorder is due`, 'have the order approved', 'file it']
  },
})

// A model would read the messages; this one finds the number in the last reason.
const draft = tool({
  name: 'draft',
  replayClass: 'pure',
  input: z.object({ customer: z.string(), messages: z.array(Decision) }),
  run: async ({ customer, messages }) => {
    await pause(50)
    const asked = messages.at(-1)?.reason.match(/\d+/)?.[0]
    return { body: `Dear ${customer}, your reorder is due.`, boxes: Number(asked ?? 40) }
  },
  usage: () => ({ tokensIn: 900, tokensOut: 120, usd: 0.0045 }),
})

const sendEmail = tool({
  name: 'send_email',
  replayClass: 'unsafe_on_replay', // posted twice, it is sent twice
  input: z.object({ to: z.string(), body: z.string() }),
  output: z.object({ messageId: z.string() }),
  run: (message, call) => mail({ ...message, reference: call.attemptId }),
  externalId: ({ messageId }) => messageId,
})

const fileOrder = tool({
  name: 'file_order',
  replayClass: 'idempotent_with_key', // the key names the order: filed twice, it is one
  idempotencyKey: (_order, call) => call.runId,
  keyTtlMs: Number.POSITIVE_INFINITY,
  input: Order,
  run: (what, call) => order(call.idempotencyKey ?? '', what),
  externalId: ({ number }) => number,
})

const outreach = graph({
  id: 'outreach@1.0.0',
  state: z.object({
    customer: z.string(),
    plan: z.array(z.string()).default([]),
    body: z.string().default(''),
    boxes: z.number().default(0),
    messageId: z.string().default(''),
    messages: z.array(Decision).default([]),
  }),
  output: z.object({ order: z.string(), boxes: z.number(), messageId: z.string() }),
  tools: [plan, draft, sendEmail, fileOrder],
  start: 'plan',
  nodes: {
    plan: async ({ customer }, ctx) =>
      ctx.go('draft', { plan: await ctx.call(plan, { customer }) }),
    draft: async ({ customer, messages, messageId }, ctx) => {
      const written = await ctx.call(draft, { customer, messages })
      // On the way back from a rejection the mail is out already: only the order changes.
      return ctx.go(messageId === '' ? 'send' : 'approve', written)
    },
    send: async ({ customer, body }, ctx) => {
      const to = `orders@${customer}.example`
      return ctx.go('approve', await ctx.call(sendEmail, { to, body }))
    },
    approve: async ({ customer, boxes, messages }, ctx) => {
      const answer = await ctx.approval({
        title: `File ${boxes} boxes for ${customer}?`,
        data: { customer, boxes },
        schema: Order,
        queue: 'sales',
        slaMs: 72 * 3_600_000,
      })
      const heard = [...messages, answer.message]
      if (answer.approved) return ctx.go('commit', { boxes: answer.data.boxes, messages: heard })
      if (heard.length >= 3) return ctx.fail(`rejected three times: ${answer.reason}`)
      return ctx.go('draft', { messages: heard })
    },
    commit: async ({ customer, boxes, messageId }, ctx) => {
      const { number } = await ctx.call(fileOrder, { customer, boxes })
      return ctx.done({ order: number, boxes, messageId })
    },
  },
})

/**
 * The scripted person looks before they decide, as a real one would.
 * @param {import('counterfoil').Item} item
 */
async function decide(item) {
  const said = verdict(item)
  say(`${item.title} ${said.outcome}: ${said.reason}`)
  await cf.inbox.decide(item.itemId, { ...said, by: 'ana', version: item.version })
}

/**
 * @param {import('counterfoil').Item} item
 * @returns {Omit<import('counterfoil').DecideRequest, 'by' | 'version'>}
 */
function verdict({ kind, body }) {
  if (kind === 'approval') {
    if (Order.parse(body.data).boxes <= 20) return { outcome: 'approve', reason: 'as agreed' }
    return { outcome: 'reject', reason: 'they have half of it left: 20 boxes' }
  }
  // Did the mail of a worker that was killed go out? The outbox knows.
  const { to } = z.object({ to: z.string() }).parse(body.input)
  const sent = mails().find((one) => one.to === to)
  if (sent === undefined) {
    return { outcome: 'did_not_happen', reason: 'not in the outbox', madeSure: true }
  }
  const result = { messageId: sent.messageId }
  return { outcome: 'happened', reason: `${sent.messageId} is in the outbox`, result }
}

/**
 * You are the person: each item is shown once.
 * @param {import('counterfoil').Item} item
 */
function show({ itemId, title }) {
  if (shown.has(itemId)) return
  shown.add(itemId)
  say(`${title} Decide it from another terminal; this one goes on by itself:`)
  console.log(`  npx counterfoil approve ${itemId} --yes --store ${store}`)
  console.log(`  npx counterfoil reject ${itemId} --reason '…' --yes --store ${store}`)
}

/** @param {string} what */
function say(what) {
  console.log(`${String(process.pid).padStart(7)}  ${what}`)
}

const shown = new Set()
say(`everything is in ${folder}`)
const cf = await open({ store, graphs: [outreach] })
await cf.worker().start()
const run = await cf.start(outreach, { customer: 'acme' }, { runId })
for (;;) {
  const now = await run.until('waiting_human', 'completed', 'failed', 'cancelled')
  if (now.state !== 'waiting_human') break
  const { items } = await cf.inbox.list({ runId })
  if (interactive) {
    items.forEach(show)
    await pause(200)
  } else for (const item of items) await decide(item)
}
const { budget, decisions } = await run.document()
const end = await run.result().then(JSON.stringify, (error) => error.message)
say(`decisions: ${decisions.map((one) => `${one.outcome} by ${one.by}`).join(', ')}`)
say(`spent: ${budget.tokensIn + budget.tokensOut} tokens, $${budget.usd.toFixed(4)}`)
say(`mails in the outbox: ${mails().length}`)
say(`end: ${end}`)
await cf.close()
