// A graph with everything that an operator meets: a pure call, an unsafe one that may be slow, lost
// or refused, an approval, and a keyed call that the policy of the program may hold. Runs are real,
// in this process; the command line looks at them from processes of its own.
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, graph, open, RefusedError, tool } from '../../src/index.ts'
import { folder } from './harness.ts'

export interface World {
  /** Who was sent an e-mail. */
  readonly sent: string[]
  readonly charged: number[]
  /** Upstreams refuse while it is true. */
  refusing: boolean
  /** What the customer called slow waits for. */
  held: Promise<void>
  release: () => void
}

function newWorld(): World {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  return { sent: [], charged: [], refusing: false, held, release }
}

function toolsOf(world: World) {
  const draft = tool({
    name: 'draft',
    replayClass: 'pure',
    input: z.object({ for: z.string() }),
    usage: () => ({ tokensIn: 100, tokensOut: 20, usd: 0.002 }),
    run: ({ for: who }) => {
      if (who === 'mute' && world.refusing) throw new Error('the model is overloaded')
      return who === 'large' ? `Dear ${'l'.repeat(100_000)}` : `Dear ${who}`
    },
  })
  const sendEmail = tool({
    name: 'send_email',
    replayClass: 'unsafe_on_replay',
    input: z.object({ to: z.string(), body: z.string() }),
    output: z.object({ messageId: z.string() }),
    timeoutMs: 20_000,
    run: async ({ to }) => {
      if (to === 'refused' && world.refusing) throw new RefusedError('mailbox full')
      world.sent.push(to)
      if (to.startsWith('slow')) await world.held
      if (to === 'lost') throw new Error('socket hang up')
      return { messageId: `m-${to}` }
    },
    externalId: ({ messageId }) => messageId,
  })
  const charge = tool({
    name: 'charge_card',
    replayClass: 'idempotent_with_key',
    idempotencyKey: (_, call) => call.runId,
    keyTtlMs: 3_600_000,
    input: z.object({ amount: z.number() }),
    amount: ({ amount }) => amount,
    run: ({ amount }) => {
      world.charged.push(amount)
      return { amount }
    },
  })
  return { draft, sendEmail, charge }
}

const state = z.object({
  customer: z.string(),
  draft: z.string().default(''),
  notes: z.array(z.string()).default([]),
  plan: z.array(z.string()).optional(),
})

/** What JSON Schema has no word for: only the program itself can check it. */
const isPolite = (letter: string) => !letter.includes('!!')

function deskOf(world: World) {
  const { draft, sendEmail, charge } = toolsOf(world)
  return graph({
    id: 'desk@1.0.0',
    state,
    output: z.object({ amount: z.number() }),
    tools: [draft, sendEmail, charge],
    start: 'plan',
    nodes: {
      plan: async ({ customer, notes }, ctx) => {
        const text = await ctx.call(draft, { for: customer })
        return ctx.go('send', { draft: text, plan: ['send', 'ask'], notes: [...notes, 'drafted'] })
      },
      send: async ({ customer, draft: body, notes }, ctx) => {
        const { messageId } = await ctx.call(sendEmail, { to: customer, body })
        return ctx.go('ask', { plan: undefined, notes: [...notes, messageId] })
      },
      ask: async ({ customer, draft: text }, ctx) => {
        const answer = await ctx.approval({
          ...{ title: `Charge ${customer}?`, queue: 'sales', deciders: ['ana', 'bo'] },
          data: { amount: customer === 'rich' ? 5_000 : 40, letter: text.slice(0, 200) },
          schema: z.object({
            amount: z.number(),
            letter: z.string().refine(isPolite, 'be polite'),
          }),
          slaMs: customer === 'late' ? 1 : 3_600_000,
        })
        if (!answer.approved) return ctx.fail(`not charged: ${answer.reason}`)
        return ctx.go('pay', { notes: [`${answer.data.amount}`] })
      },
      pay: async ({ notes }, ctx) => {
        const { amount } = await ctx.call(charge, { amount: Number(notes[0]) })
        return ctx.done({ amount })
      },
    },
  })
}

export interface Desk {
  readonly cf: Counterfoil
  readonly world: World
  readonly store: string
  readonly path: string
  /** Starts a run with the customer's name as its id, and waits until it waits or ends. */
  start(customer: string): Promise<string>
  /** Starts it, and does not wait. */
  begin(customer: string): Promise<void>
  /** A worker comes back until the run has reached one of these states. */
  until(runId: string, ...states: ('completed' | 'failed' | 'waiting_human')[]): Promise<string>
  /** Nobody is at work any more; what others do is theirs. */
  leave(): Promise<void>
}

export interface DeskOptions {
  refusing?: boolean
  blobDir?: string
}

export async function openDesk(
  path = join(folder(), 'runs.db'),
  options: DeskOptions = {},
): Promise<Desk> {
  const world = newWorld()
  world.refusing = options.refusing === true
  const store = `sqlite:${path}`
  const desk = deskOf(world)
  const gate = ({ amount }: { amount: number | null }) =>
    (amount ?? 0) > 1_000
      ? { ask: { why: 'more than 1000', queue: 'finance', deciders: ['cfo'] } }
      : ('run' as const)
  const { blobDir } = options
  const where = blobDir === undefined ? {} : { blobDir }
  const cf = await open({ store, graphs: [desk], gate, onWarning: () => {}, ...where })
  await cf.worker().start()
  let left = false
  const leave = async () => {
    if (!left) await cf.close()
    left = true
  }
  onTestFinished(() => {
    world.release()
    return leave()
  })
  const begin = async (customer: string) => {
    await cf.start(desk, { customer }, { runId: customer })
  }
  const until: Desk['until'] = async (runId, ...states) =>
    (await cf.run(runId).until(...states)).state
  const start = async (customer: string) => {
    await begin(customer)
    return until(customer, 'waiting_human', 'failed', 'completed')
  }
  return { cf, world, store, path, start, begin, until, leave }
}

/** A desk at which these customers were served as far as it went, and nobody is at work. */
export async function servedDesk(
  customers: readonly string[],
  options: DeskOptions = {},
): Promise<{ store: string; path: string }> {
  const desk = await openDesk(undefined, options)
  for (const customer of customers) await desk.start(customer)
  await desk.leave()
  return { store: desk.store, path: desk.path }
}
