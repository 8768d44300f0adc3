// What `ctx.context()` writes: what is new since the last one, in one visit and over many.
import { describe, expect, test } from 'vitest'
import type { Context, NodeContext } from '../../../src/model/graph/context.ts'
import { type Graph, graph } from '../../../src/model/graph/graph.ts'
import { ContextChain } from '../../../src/model/run/context-chain.ts'
import type { RunDocument } from '../../../src/model/run/document.ts'
import type { Schema } from '../../../src/model/tool/schema.ts'
import type { Store } from '../../../src/store/store.ts'
import { type Fake, fake, flow, Lab, work } from '../../lab.ts'

const anything: Schema = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
}

type Seen = Map<number, unknown>

async function step(lab: Lab, ctx: Context, mail: Fake<unknown>, i: number, seen: Seen) {
  const call = ctx.context()
  const context = (await call) as RunDocument
  if (seen.has(i)) expect(context, `context ${i}`).toEqual(seen.get(i))
  expect(context.completed.length).toBe(i)
  seen.set(i, structuredClone(context))
  // What a node is given is its own, and nobody else sees what it does to it.
  ;(context.completed as unknown[]).push('mine')
  await ctx.call(mail.tool as never, { i } as never)
  await work(lab, 1)
}

const shapes = {
  workflow: (lab: Lab, mail: Fake<unknown>, steps: number, seen: Seen): Graph =>
    flow([mail.tool], async (ctx) => {
      for (let i = 0; i < steps; i++) await step(lab, ctx, mail, i, seen)
      return steps
    }),
  graph: (lab: Lab, mail: Fake<unknown>, steps: number, seen: Seen): Graph =>
    graph({
      id: 'w@1.0.0',
      state: anything,
      tools: [mail.tool],
      start: 'a',
      nodes: {
        a: async (state: { i?: number }, ctx: NodeContext) => {
          const { i = 0 } = state
          await step(lab, ctx, mail, i, seen)
          return i + 1 < steps ? ctx.go('a', { i: i + 1 }) : ctx.done(steps)
        },
      },
    } as never) as unknown as Graph,
}

type Shape = keyof typeof shapes

function agent(lab: Lab, shape: Shape, steps: number) {
  const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 1 })
  const seen: Seen = new Map()
  return { mail, seen, made: shapes[shape](lab, mail, steps, seen) }
}

/** Bytes of all that one run has written as results. */
async function written(shape: Shape, steps: number): Promise<number> {
  const lab = new Lab()
  const { made } = agent(lab, shape, steps)
  await lab.process(made, {})
  expect(await lab.output()).toBe(steps)
  const rows = lab.commits.flatMap((commit) => commit.changes.records ?? [])
  return rows.reduce((sum, row) => sum + (row.resultJson?.length ?? 0), 0)
}

describe.each(Object.keys(shapes) as Shape[])('contexts of a %s in a loop', (shape) => {
  test('D7 twice as many steps write about twice as much', async () => {
    const [half, whole] = [await written(shape, 200), await written(shape, 400)]
    expect(whole).toBeLessThan(half * 3)
  })

  test('D7 C9 killed at any step, a replay is given the first contexts again', async () => {
    for (const at of [1, 2, 3, 7, 8]) {
      const lab = new Lab()
      const { made, mail } = agent(lab, shape, 8)
      await lab.process(made, {}, { killWhen: () => lab.durable('mail', 'committed', at) })
      await lab.process(made, {})
      expect(await lab.output()).toBe(8)
      expect(mail.sent.length).toBe(8)
    }
  })
})

test('B8 D7 a context is trusted no more than the one that it builds on', async () => {
  const lab = new Lab()
  const { made } = agent(lab, 'graph', 8)
  await lab.process(made, {}, { killWhen: () => lab.durable('mail', 'committed', 5) })
  const store = lab.store as { -readonly [K in keyof Store]: Store[K] }
  const { listRecords } = lab.store
  store.listRecords = async (...args) => {
    const page = await listRecords(...args)
    // As after a change of the third visit's row in the database.
    const items = page.items.map((row) => ({ ...row, verifies: !row.checkpointId.endsWith('#3') }))
    return { ...page, items }
  }
  await lab.process(made, {})
  expect(await lab.item()).toMatchObject({ kind: 'doubt', reason: 'tampered' })
})

describe('the chain of contexts', () => {
  /** Records each as a run does, and reads all of them as a resume does. */
  function through(contexts: readonly unknown[]): { read: unknown[]; bytes: number } {
    const [writes, reads] = [new ContextChain(), new ContextChain()]
    const texts = contexts.map((context, i) => {
      const recorded = writes.recordOf(context)
      writes.add(`r${i}`, recorded)
      return JSON.stringify(recorded)
    })
    for (const [i, text] of texts.entries()) reads.add(`r${i}`, JSON.parse(text))
    const read = texts.map((text) => reads.read(JSON.parse(text)))
    return { read, bytes: texts.join('').length }
  }

  const odd = { 'counterfoil.delta': { from: 'r0', delta: ['never'] } }

  test('D7 gives back what was put in, also what looks like a change', () => {
    const contexts = [odd, { a: 1 }, odd, odd, null, 'text', [1, 2], [1, 2, odd], { ...odd, b: 1 }]
    expect(through(contexts).read).toEqual(contexts)
  })

  test('D7 a context that changes wholly is written anew, and chains stay short of it', () => {
    const contexts = Array.from({ length: 60 }, (_, i) => ({ text: `${i} `.repeat(3_000) }))
    const { read, bytes } = through(contexts)
    expect(read).toEqual(contexts)
    expect(bytes).toBeLessThan(JSON.stringify(contexts).length * 1.1)
  })

  test('D7 two that build on the same one are both read', () => {
    const chain = new ContextChain()
    chain.add('base', { list: [1] })
    const [one, two] = [chain.recordOf({ list: [1, 2] }), chain.recordOf({ list: [1, 3] })]
    chain.add('one', one)
    chain.add('two', two)
    expect([chain.read(one), chain.read(two)]).toEqual([{ list: [1, 2] }, { list: [1, 3] }])
  })
})
