// What was sent is not left off the thread without a word, whoever answers what, and in whatever
// order: either the thread says it, or a person is told (a drift item that lists it).
import { tool } from '@langchain/core/tools'
import { Annotation, Command, END, interrupt, START, StateGraph } from '@langchain/langgraph'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { CounterfoilSaver, guard } from '../../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../../src/index.ts'
import { settled, thread, unsafe } from '../lab.ts'
import { kinds } from '../saver/stores.ts'

const all = kinds()
afterAll(async () => {
  for (const kind of all) await kind.end()
})

/** Answers an order when it is told to, and knows what it has. */
class Vendor {
  readonly sent: string[] = []
  slow = true
  #waits: (() => void)[] = []
  #watches: { id: string; seen: () => void }[] = []

  async order(id: string): Promise<string> {
    this.sent.push(id)
    const answered = new Promise<void>((resolve) => this.#waits.push(resolve))
    for (const { id: other, seen } of this.#watches) if (other === id) seen()
    if (this.slow) await answered
    return `PO-${id}`
  }

  /** What nodes have come to. */
  readonly notes: string[] = []

  note(what: string): void {
    this.notes.push(what)
    for (const { id, seen } of this.#watches) if (id === what) seen()
  }

  has(id: string): Promise<void> {
    if ([...this.sent, ...this.notes].includes(id)) return Promise.resolve()
    return new Promise((seen) => this.#watches.push({ id, seen }))
  }

  answers(): void {
    for (const answer of this.#waits.splice(0)) answer()
  }
}

/** What a person's answer makes the node do. */
interface Answer {
  send?: string
  next?: string
  asks?: string
  throws?: boolean
}

const rests = new Map<string, Promise<unknown>>()

const State = Annotation.Root({
  got: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  told: Annotation<string>,
})

function lab(cf: Counterfoil, vendor: Vendor) {
  const schema = z.object({ id: z.string() })
  const order = tool(({ id }) => vendor.order(id), { name: 'order', description: 'o', schema })
  const [place] = guard(cf, [order], { order: { ...unsafe, quietMs: 0 } })
  const act = async (name: string, answer: Answer): Promise<string> => {
    if (!answer.send) vendor.note('no')
    let done = answer.send ? String(await place?.invoke({ id: answer.send })) : 'nothing'
    vendor.note('rests')
    await rests.get(answer.send ?? '')
    if (answer.throws) throw new Error('the node fails')
    if (answer.asks) done += `/${JSON.stringify(interrupt(answer.asks))}`
    if (answer.next) done += `+${await place?.invoke({ id: answer.next })}`
    return `${name}:${done}`
  }
  const asks = (name: string) => async () => ({
    got: [await act(name, interrupt(name) as Answer)],
  })
  const tells = ({ got }: typeof State.State) => ({ told: got.join() })
  const checkpointer = new CounterfoilSaver(cf)
  const one = new StateGraph(State)
    .addNode('a', asks('a'))
    .addNode('tell', tells)
    .addEdge(START, 'a')
    .addEdge('a', 'tell')
    .addEdge('tell', END)
    .compile({ checkpointer })
  const two = new StateGraph(State)
    .addNode('a', asks('a'))
    .addNode('b', asks('b'))
    .addNode('tell', tells)
    .addEdge(START, 'a')
    .addEdge(START, 'b')
    .addEdge(['a', 'b'], 'tell')
    .addEdge('tell', END)
    .compile({ checkpointer })
  const inner = new StateGraph(State)
    .addNode('a', async () => {
      const got = [await act('a', interrupt('a') as Answer)]
      return new Command({ graph: Command.PARENT, goto: 'tell', update: { got } })
    })
    .addEdge(START, 'a')
    .compile()
  const up = new StateGraph(State)
    .addNode('sub', inner, { ends: ['tell'] })
    .addNode('tell', tells)
    .addEdge(START, 'sub')
    .addEdge('tell', END)
    .compile({ checkpointer })
  let asked = 0
  /** The model of `a` says something else the second time; `b` asks a person. */
  const fan = new StateGraph(State)
    .addNode('a', async () => ({ got: [await act('a', ++asked === 1 ? { send: 'x' } : {})] }))
    .addNode('b', asks('b'))
    .addNode('tell', tells)
    .addEdge(START, 'a')
    .addEdge(START, 'b')
    .addEdge(['a', 'b'], 'tell')
    .addEdge('tell', END)
    .compile({ checkpointer })
  return { one, two, up, fan }
}

type Lab = ReturnType<typeof lab>
// biome-ignore lint/suspicious/noExplicitAny: graphs of different nodes
type Graph = any

async function asksOf(graph: Graph): Promise<Record<string, string>> {
  const { tasks } = await graph.getState(thread(), { subgraphs: true })
  const open = tasks.flatMap(
    (task: { interrupts: { id: string; value: string }[] }) => task.interrupts,
  )
  return Object.fromEntries(open.map(({ id, value }: { id: string; value: string }) => [value, id]))
}

async function begun(graph: Graph) {
  await graph.invoke({}, thread())
  return asksOf(graph)
}

const say = (graph: Graph, answers: Record<string, Answer>, signal?: AbortSignal) =>
  graph.invoke(new Command({ resume: answers }), { ...thread(), ...(signal && { signal }) })

/** The order has its receipt, and its node does not end. */
async function abortedAfter(graph: Graph, vendor: Vendor, a: string): Promise<void> {
  vendor.slow = false
  let go = () => {}
  rests.set('x', new Promise<void>((resolve) => (go = resolve)))
  const stop = new AbortController()
  const yes = say(graph, { [a]: { send: 'x' } }, stop.signal)
  await vendor.has('rests')
  await soon()
  stop.abort()
  await expect(yes).rejects.toThrow()
  rests.delete('x')
  go()
  await soon()
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 60))

/** Orders that the thread does not speak of, and no open item lists. */
async function lost(cf: Counterfoil, graph: Graph, vendor: Vendor): Promise<string[]> {
  await cf.askAboutLeft()
  const { values } = await graph.getState(thread())
  const items = (await cf.inbox.list()).items
  const bodies = await Promise.all(items.map(({ itemId }) => cf.inbox.get(itemId)))
  const said = JSON.stringify([values, bodies.map(({ body }) => [body.input, body.unmatched])])
  return vendor.sent.filter((id) => !said.includes(id))
}

async function reasons(cf: Counterfoil) {
  await cf.askAboutLeft()
  return (await cf.inbox.list()).items.map(({ reason }) => reason)
}

async function finished(graph: Graph) {
  for (let i = 0; i < 5; i++) {
    const { tasks } = await graph.getState(thread())
    if (tasks.length === 0) break
    const open = await asksOf(graph)
    const answers = Object.fromEntries(Object.values(open).map((id) => [id, {}]))
    await graph.invoke(Object.keys(open).length ? new Command({ resume: answers }) : null, thread())
  }
  return (await graph.getState(thread())).values.got.join()
}

for (const kind of all) {
  kind.describe(`left behind, ${kind.name}`, () => {
    for (const where of ['one process', 'two processes'] as const) {
      if (kind.name === 'memory' && where === 'two processes') continue
      const opened = async (which: keyof Lab, vendor = new Vendor()) => {
        const cf = await kind.open()
        const one = lab(cf, vendor)[which] as Graph
        const two =
          where === 'one process' ? one : (lab(await kind.again(cf), vendor)[which] as Graph)
        return { cf, vendor, one, two }
      }

      test(`C2, K1 the turn lasts while another task of it sends: ${where}`, async () => {
        for (const both of [false, true]) {
          const { cf, vendor, one, two } = await opened('two')
          const { a = '', b = '' } = await begun(one)
          const yes = say(one, { [a]: { send: 'x' } })
          await vendor.has('x')
          const no = say(two, both ? { [a]: {}, [b]: {} } : { [a]: {} })
          await vendor.has('no')
          await soon()
          expect((await one.getState(thread())).values.got).toEqual([])
          vendor.answers()
          await settled([yes, no])
          expect(await finished(one)).toBe('a:PO-x,b:nothing')
          expect(await reasons(cf)).toEqual([])
        }
      })

      test(`C2, K1 a second question ends no turn for another answer: ${where}`, async () => {
        for (const after of [{ asks: 'more?' }, { throws: true }]) {
          const { cf, vendor, one, two } = await opened('one')
          const { a = '' } = await begun(one)
          const yes = say(one, { [a]: { send: 'x', ...after } }).catch(() => {})
          await vendor.has('x')
          const no = say(two, { [a]: {} })
          await vendor.has('no')
          await soon()
          vendor.answers()
          await settled([yes, no])
          const { values, tasks } = await one.getState(thread())
          expect(values.got).toEqual([])
          expect(tasks.length).toBe(1)
          expect(await reasons(cf)).toEqual([])
        }
      })

      test(`C2, K1 two orders of one node, a "no" between them: ${where}`, async () => {
        const { cf, vendor, one, two } = await opened('one')
        const { a = '' } = await begun(one)
        vendor.slow = false
        let go = () => {}
        rests.set('x', new Promise<void>((resolve) => (go = resolve)))
        const yes = say(one, { [a]: { send: 'x', next: 'y' } })
        await vendor.has('x')
        const no = say(two, { [a]: {} })
        await vendor.has('no')
        await soon()
        rests.delete('x')
        go()
        expect((await settled([yes, no]))[0]).toBe('done')
        expect(await finished(one)).toBe('a:PO-x+PO-y')
        expect(await reasons(cf)).toEqual([])
      })

      test(`C2, K1 who sends from a checkpoint of its own has the turn: ${where}`, async () => {
        const vendor = new Vendor()
        const { cf, one, two } = await opened('fan', vendor)
        const first = one.invoke({}, thread())
        await vendor.has('x')
        let b: string | undefined
        while (b === undefined) b = (await asksOf(two))['b']
        const second = say(two, { [b]: {} })
        await vendor.has('no')
        await soon()
        vendor.answers()
        await settled([first, second])
        await finished(one)
        expect(await lost(cf, one, vendor)).toEqual([])
      })

      test(`C2 nobody updates the latest state while a request sends: ${where}`, async () => {
        const { cf, vendor, one, two } = await opened('one')
        const { a = '' } = await begun(one)
        const yes = say(one, { [a]: { send: 'x' } })
        await vendor.has('x')
        const update = () => two.updateState(thread(), { got: ['a note'] })
        await expect(update()).rejects.toMatchObject({ code: 'THREAD_BUSY' })
        vendor.answers()
        await yes
        await update()
        expect(await lost(cf, one, vendor)).toEqual([])
        expect((await one.getState(thread())).values.got).toEqual(['a:PO-x', 'a note'])
      })

      test(`C2, E2 an order that the next answer leaves is an item: ${where}`, async () => {
        const { cf, vendor, one, two } = await opened('one')
        const { a = '' } = await begun(one)
        await abortedAfter(one, vendor, a)
        expect(await reasons(cf)).toEqual([])
        await say(two, { [a]: {} })
        expect(await reasons(cf)).toEqual(['drift'])
        expect(await lost(cf, one, vendor)).toEqual([])
        const [listed] = (await cf.inbox.list()).items
        const item = await cf.inbox.get(listed?.itemId ?? '')
        expect(item.body.subject).toBe(null)
        expect(item.body.unmatched).toMatchObject([
          { tool: 'order', input: { id: 'x' }, result: 'PO-x' },
        ])
        const [record] = item.body.unmatched
        const said = {
          outcome: 'retire_record',
          record,
          by: 'ana',
          reason: 'cancelled it',
        } as const
        await cf.inbox.decide(item.itemId, { version: item.version, ...said } as never)
        expect(await reasons(cf)).toEqual([])
        // Nothing is in the way of what the thread sends next.
        await two.invoke({}, thread())
        const { a: again = '' } = await asksOf(two)
        await say(two, { [again]: { send: 'y' } })
        expect(vendor.sent).toEqual(['x', 'y'])
        expect(await reasons(cf)).toEqual([])
      })

      test(`C2 an aborted order, then a "no", is an item: ${where}`, async () => {
        const { cf, vendor, one, two } = await opened('one')
        const { a = '' } = await begun(one)
        const stop = new AbortController()
        const yes = say(one, { [a]: { send: 'x' } }, stop.signal)
        await vendor.has('x')
        stop.abort()
        await expect(yes).rejects.toThrow()
        const no = say(two, { [a]: {} })
        await vendor.has('no')
        await soon()
        vendor.answers()
        await no
        // It was answered while the order was under way, and is asked again.
        const { a: again = '' } = await asksOf(one)
        expect(again).toBe(a)
        expect(await reasons(cf)).toEqual([])
        await say(two, { [a]: {} })
        expect(await finished(one)).toBe('a:nothing')
        expect(await lost(cf, one, vendor)).toEqual([])
        expect(await reasons(cf)).toEqual(['drift'])
      })

      test(`C2, E2 a new message that leaves an order behind is an item: ${where}`, async () => {
        const { cf, vendor, one, two } = await opened('one')
        const { a = '' } = await begun(one)
        vendor.slow = false
        await say(one, { [a]: { send: 'x', asks: 'more?' } })
        expect(await reasons(cf)).toEqual([])
        await two.invoke({}, thread())
        expect(await reasons(cf)).toEqual(['drift'])
        expect(await lost(cf, one, vendor)).toEqual([])
      })

      test(`C2 who comes back for an order is asked nothing: ${where}`, async () => {
        const { cf, vendor, one, two } = await opened('one')
        const { a = '' } = await begun(one)
        await abortedAfter(one, vendor, a)
        await say(two, { [a]: { send: 'x' } })
        expect(vendor.sent).toEqual(['x'])
        expect(await finished(two)).toBe('a:PO-x')
        expect(await reasons(cf)).toEqual([])
      })

      test(`K1 tasks of one request are not in each other's way: ${where}`, async () => {
        for (let i = 0; i < 5; i++) {
          const { cf, vendor, one, two } = await opened('two')
          const { a = '', b = '' } = await begun(one)
          await abortedAfter(one, vendor, a)
          await say(two, { [a]: { send: 'x' }, [b]: i % 2 === 0 ? {} : { send: 'y' } })
          expect(vendor.sent.filter((id) => id === 'x')).toEqual(['x'])
          expect(await finished(two)).toBe(`a:PO-x,b:${i % 2 === 0 ? 'nothing' : 'PO-y'}`)
          expect(await reasons(cf)).toEqual([])
        }
      })

      test(`K1 a command to the parent gives the turn back: ${where}`, async () => {
        const { cf, vendor, one, two } = await opened('up')
        vendor.slow = false
        const { a = '' } = await begun(one)
        await say(one, { [a]: { send: 'x' } })
        const from = performance.now()
        const { a: again = '' } = await begun(two)
        await say(two, { [again]: { send: 'y' } })
        expect(performance.now() - from).toBeLessThan(10_000)
        expect(vendor.sent).toEqual(['x', 'y'])
        expect(await reasons(cf)).toEqual([])
      })
    }
  })
}
