// The dial (D10): how often a checkpoint is written changes what a crash repeats, and nothing else.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { failedCalls, retryRun } from '../../../src/client/run/retry.ts'
import { RefusedError } from '../../../src/model/errors.ts'
import { type Dial, type Graph, graph } from '../../../src/model/graph/graph.ts'
import { fake, Lab } from '../../lab.ts'

const ref = { namespace: 'default', runId: 'lab' }

/** Five nodes in a row; the third and the last send something. */
function makeRow(lab: Lab, dial: Dial | undefined) {
  const look = fake(lab, 'look', 'pure')
  const mail = fake(lab, 'mail', 'unsafe_on_replay')
  const node = (run: (n: number, ctx: Ctx) => Promise<unknown>) => ({
    ...(dial ? { checkpoint: dial } : {}),
    run: async ({ n }: { n: number }, ctx: Ctx) => {
      await run(n, ctx)
      return n === 5 ? ctx.done(n) : ctx.go(`n${n + 1}`, { n: n + 1 })
    },
  })
  const looks = node(async (n, ctx) => {
    await ctx.call(look.tool, { n })
    await ctx.call(look.tool, { n, again: true })
  })
  const sends = node((n, ctx) => ctx.call(mail.tool, { n }))
  const made = graph({
    id: 'w@1.0.0',
    state: z.object({ n: z.number() }),
    tools: [look.tool, mail.tool],
    start: 'n1',
    nodes: { n1: looks, n2: looks, n3: sends, n4: looks, n5: sends } as never,
  }) as Graph
  return { graph: made, look, mail }
}

type Ctx = {
  call(tool: unknown, input: unknown): Promise<{ id: string }>
  go(node: string, patch?: object): never
  done(output: unknown): never
}

async function checkpointsOf(lab: Lab): Promise<number[]> {
  return (await lab.store.listCheckpoints(ref)).map((row) => row.visit)
}

describe('D10 the dial', () => {
  test('D10 visit numbers and the ledger do not depend on it', async () => {
    const dials = [undefined, 'always', 'before_effects', 'every:1', 'every:2', 'every:7'] as const
    const ledgers = await Promise.all(
      dials.map(async (dial) => {
        const lab = new Lab()
        await lab.process(makeRow(lab, dial).graph, { n: 1 })
        expect(await lab.state()).toBe('completed')
        return (await lab.records()).map((row) => [row.nodeId, row.checkpointId, row.inputHash])
      }),
    )
    for (const ledger of ledgers) expect(ledger).toEqual(ledgers[0])
    expect(ledgers[0]?.map(([node, id]) => [node, id])).toEqual(
      [1, 1, 2, 2, 3, 4, 4, 5].map((visit) => [`n${visit}`, `1.0.0#0#${visit}`]),
    )
  })

  test.each([
    ['always', [1, 2, 3, 4, 5]],
    ['before_effects', [1, 3, 5]],
    ['every:2', [1, 2, 3, 4, 5]],
    ['every:3', [1, 3, 5]],
    ['every:4', [1, 3, 4, 5]],
  ] as const)('D10 %s writes the checkpoints of visits %j', async (dial, visits) => {
    const lab = new Lab()
    await lab.process(makeRow(lab, dial).graph, { n: 1 })
    expect(await checkpointsOf(lab)).toEqual(visits)
    const run = await lab.store.getRun(ref)
    expect(run).toMatchObject({ visit: 5, node: 'n5', reached: 5, state: 'completed' })
  })

  test('D10 a run of pure visits that is skipped still says how far records reach', async () => {
    const lab = new Lab()
    const { graph: made, look } = makeRow(lab, 'before_effects')
    const killWhen = () => lab.durable('look', 'committed', 3)
    await lab.process(made, { n: 1 }, { killWhen })
    expect(await lab.store.getRun(ref)).toMatchObject({ visit: 1, node: 'n1', reached: 2 })
    await lab.process(made, { n: 1 })
    const first = look.sent.map((one) => one.input as { n: number; again?: true })
    const again = first.filter((input) => input.again)
    expect(first.filter((input) => !input.again).map(({ n }) => n)).toEqual([1, 2, 4])
    // The second look of n2 was in flight when the process died.
    expect(again.map(({ n }) => n)).toEqual([1, 2, 2, 4])
    expect(await lab.state()).toBe('completed')
  })
})

describe('what it costs', () => {
  test.each(['always', 'before_effects', 'every:3'] as const)(
    'B4 with dial %s n back-to-back unsafe calls, one a node, cost n + 1 commits',
    async (dial) => {
      const lab = new Lab()
      const mail = fake(lab, 'mail', 'unsafe_on_replay')
      const count = 8
      const loop = graph({
        id: 'w@1.0.0',
        state: z.object({ n: z.number() }),
        tools: [mail.tool],
        start: 'send',
        nodes: {
          send: {
            checkpoint: dial,
            run: async ({ n }, ctx) => {
              await ctx.call(mail.tool, { n })
              return n === count ? ctx.done() : ctx.go('send', { n: n + 1 })
            },
          },
        },
      }) as Graph
      await lab.process(loop, { n: 1 })
      expect(mail.sent.length).toBe(count)
      expect(lab.commits.length).toBe(count + 1)
      // The receipt, the checkpoint that follows from it and the next intent are one commit (B4).
      for (const [i, { changes }] of lab.commits.slice(1, -1).entries()) {
        expect(changes.records?.map((row) => row.status)).toEqual(['committed', 'pending'])
        expect(changes.checkpoints?.map((row) => row.visit)).toEqual([i + 2])
      }
    },
  )

  test('D10 visits without effects cost no commit of their own when they are skipped', async () => {
    const lab = new Lab()
    const hops = graph({
      id: 'w@1.0.0',
      state: z.object({ n: z.number() }),
      start: 'hop',
      nodes: {
        hop: {
          checkpoint: 'before_effects',
          run: async ({ n }, ctx) => (n === 50 ? ctx.done(n) : ctx.go('hop', { n: n + 1 })),
        },
      },
    }) as Graph
    await lab.process(hops, { n: 0 })
    expect(await lab.output()).toBe(50)
    expect(lab.commits.length).toBe(1)
  })
})

describe('a visit without a checkpoint that has to wait or fails', () => {
  /** The first node sends; the second, whose checkpoint is skipped, sends with the same key. */
  function makeConflict(lab: Lab) {
    const idempotencyKey = () => 'one-key'
    const pay = fake(lab, 'pay', 'idempotent_with_key', { idempotencyKey })
    const made = graph({
      id: 'w@1.0.0',
      state: z.object({}),
      tools: [pay.tool],
      start: 'first',
      nodes: {
        first: async (_, ctx) => {
          await ctx.call(pay.tool, { amount: 1 })
          return ctx.go('second')
        },
        second: {
          checkpoint: 'before_effects',
          run: async (_, ctx) => ctx.done(await ctx.call(pay.tool, { amount: 2 })),
        },
      },
    }) as Graph
    return { graph: made, pay }
  }

  test('D10 a doubt is found again with its decision: its checkpoint comes with it', async () => {
    const lab = new Lab()
    const { graph: made, pay } = makeConflict(lab)
    await lab.process(made, {})
    expect((await lab.item()).reason).toBe('key_conflict')
    expect(await lab.store.getRun(ref)).toMatchObject({ visit: 2, node: 'second' })
    await lab.decide({ outcome: 'happened', result: { id: 'by hand' } })
    await lab.process(made, {})
    expect(await lab.items()).toEqual([])
    expect(await lab.output()).toEqual({ id: 'by hand' })
    expect(pay.sent.length).toBe(1)
  })

  test('C10 D10 a failed run stands where it failed: a retry can name the call', async () => {
    const lab = new Lab()
    const does = (n: number) => {
      if (n === 1) throw new RefusedError('not today')
      return { id: `look${n}` }
    }
    const look = fake(lab, 'look', 'pure', { does })
    const made = graph({
      id: 'w@1.0.0',
      state: z.object({}),
      tools: [look.tool],
      start: 'first',
      nodes: {
        first: async (_, ctx) => ctx.go('second'),
        second: {
          checkpoint: 'before_effects',
          run: async (_, ctx) => ctx.done(await ctx.call(look.tool, {})),
        },
      },
    }) as Graph
    await lab.process(made, {})
    expect(await lab.state()).toBe('failed')
    expect(await lab.store.getRun(ref)).toMatchObject({ visit: 2, node: 'second' })
    const [failed] = await failedCalls(lab.store, ref)
    expect(failed?.name).toBe('look#0')
    const calls = { 'look#0': 'send' } as const
    await retryRun(lab.store, lab.clock, ref, { by: 'ana', reason: 'is up again', calls })
    await lab.process(made, {})
    expect(await lab.output()).toEqual({ id: 'look2' })
  })
})
