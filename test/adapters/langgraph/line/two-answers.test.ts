// Two people answer one interrupt at once, one of them "yes", the other "no". What the thread says
// afterwards is what was done: who sends from a checkpoint has the turn there, and nobody puts
// another checkpoint behind it meanwhile.
import { fileURLToPath } from 'node:url'
import { tool } from '@langchain/core/tools'
import { Annotation, Command, END, interrupt, START, StateGraph } from '@langchain/langgraph'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CounterfoilSaver, guard } from '../../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../../src/index.ts'
import { Site } from '../../../crash/driver.ts'
import { describePostgres, postgresUrl } from '../../../postgres/bench.ts'
import { settled, thread, unsafe } from '../lab.ts'
import { kinds } from '../saver/stores.ts'

const all = kinds()
afterAll(async () => {
  for (const kind of all) await kind.end()
})

class Vendor {
  sent = 0
  readonly #waits: (() => void)[] = []
  #began: () => void = () => {}
  /** Until the vendor has an order, which it does not answer yet. */
  readonly began = new Promise<void>((resolve) => {
    this.#began = resolve
  })

  async order(): Promise<string> {
    this.sent++
    const answered = new Promise<void>((resolve) => this.#waits.push(resolve))
    this.#began()
    await answered
    return `PO-${this.sent}`
  }

  answers(): void {
    for (const answer of this.#waits.splice(0)) answer()
  }
}

function buys(cf: Counterfoil, vendor: Vendor) {
  const schema = z.object({ id: z.string() })
  const order = tool(() => vendor.order(), { name: 'order', description: 'Orders.', schema })
  const [place] = guard(cf, [order], { order: unsafe })
  return new StateGraph(Annotation.Root({ placed: Annotation<string>, told: Annotation<string> }))
    .addNode('buy', async () => ({
      placed: interrupt('order?') === 'yes' ? String(await place?.invoke({ id: 'x' })) : 'nothing',
    }))
    .addNode('tell', ({ placed }) => ({ told: `the team: ${placed}` }))
    .addEdge(START, 'buy')
    .addEdge('buy', 'tell')
    .addEdge('tell', END)
    .compile({ checkpointer: new CounterfoilSaver(cf) })
}

type Graph = ReturnType<typeof buys>

async function asked(graph: Graph): Promise<string> {
  const { __interrupt__: asks } = (await graph.invoke({}, thread())) as {
    __interrupt__?: { id: string }[]
  }
  return asks?.[0]?.id ?? ''
}

const say = (graph: Graph, id: string, answer: string) =>
  graph.invoke(new Command({ resume: { [id]: answer } }), thread())

for (const kind of all) {
  kind.describe(`two answers, ${kind.name}`, () => {
    for (const where of ['one process', 'two processes']) {
      test(`K1, C2 a "no" while the "yes" sends is set aside: ${where}`, async () => {
        const vendor = new Vendor()
        const cf = await kind.open()
        const one = buys(cf, vendor)
        const two = where === 'one process' ? one : buys(await kind.again(cf), vendor)
        const id = await asked(one)
        const yes = say(one, id, 'yes')
        await vendor.began
        const no = say(two, id, 'no')
        // Whether the other one has come to its put or not: it waits for who sends.
        await new Promise((resolve) => setTimeout(resolve, 60))
        vendor.answers()
        expect((await settled([yes, no]))[0]).toBe('done')
        expect(vendor.sent).toBe(1)
        const { values, tasks } = await one.getState(thread())
        expect(values).toEqual({ placed: 'PO-1', told: 'the team: PO-1' })
        expect(tasks).toEqual([])
        await cf.askAboutLeft()
        expect((await cf.inbox.list()).items).toEqual([])
      })

      test(`K1, C2 a "no" first, then a "yes": what is sent is said: ${where}`, async () => {
        for (const ms of [0, 2, 5, 10]) {
          const vendor = new Vendor()
          const cf = await kind.open()
          const one = buys(cf, vendor)
          const two = where === 'one process' ? one : buys(await kind.again(cf), vendor)
          const id = await asked(one)
          const no = say(one, id, 'no')
          await new Promise((resolve) => setTimeout(resolve, ms))
          const yes = say(two, id, 'yes')
          void vendor.began.then(() => vendor.answers())
          await settled([yes, no])
          const placed = vendor.sent === 0 ? 'nothing' : 'PO-1'
          expect(vendor.sent).toBeLessThanOrEqual(1)
          const { values } = await one.getState(thread())
          expect(values, `${ms} ms`).toEqual({ placed, told: `the team: ${placed}` })
          await cf.askAboutLeft()
          expect((await cf.inbox.list()).items).toEqual([])
        }
      })
    }

    test('K1 the row of a turn is no checkpoint, and goes with the thread', async () => {
      const vendor = new Vendor()
      const cf = await kind.open()
      const graph = buys(cf, vendor)
      const id = await asked(graph)
      void vendor.began.then(() => vendor.answers())
      await say(graph, id, 'yes')
      const rows = async () => (await cf.threads.listSteps({ threadId: 't1', aside: true })).items
      expect((await rows()).map(({ stepId }) => stepId)).toContain('!turn')
      const listed: unknown[] = []
      for await (const { config } of graph.getStateHistory(thread())) {
        listed.push(config.configurable?.['checkpoint_id'])
      }
      expect(listed.length).toBe((await rows()).length - 1)
      await (graph.checkpointer as CounterfoilSaver).deleteThread('t1')
      expect(await rows()).toEqual([])
    })
  })
}

const program = fileURLToPath(new URL('./answer-order.mjs', import.meta.url))

function kills(
  name: string,
  describeStore: typeof describe | typeof describePostgres,
  url: () => string | undefined,
) {
  describeStore(name, () => {
    test('K1, E2 who has the turn and is killed keeps nobody from going on', async () => {
      const site = await Site.open(1, url())
      const runs = async (...args: string[]) =>
        site.spawn(program, [site.store, site.port, ...args]).exit
      try {
        const { asks } = JSON.parse((await runs()).out)
        expect((await runs(asks)).signal).toBe('SIGKILL')
        const { out, error } = await runs(asks, 'no')
        expect(JSON.parse(out || '{}').placed, error).toBe('nothing')
        expect(site.effects().length).toBe(1)
        // Nobody asks for the order again: a person is asked about it.
        await site.with(async (cf) => {
          const { items } = await cf.inbox.list()
          expect(items.map(({ reason }) => reason)).toEqual(['unknown'])
        })
      } finally {
        await site.close()
      }
    })
  })
}

kills('a killed turn, sqlite', describe, () => undefined)
kills('a killed turn, postgres', describePostgres, postgresUrl)
