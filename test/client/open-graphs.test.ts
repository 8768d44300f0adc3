// Graphs at open (F3): a version that the store knows with other content is refused, before
// anything of it is started or claimed. And what a real worker does with branches and waits.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type } from 'arktype'
import Database from 'better-sqlite3'
import * as v from 'valibot'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { registerGraphs } from '../../src/client/run/graphs.ts'
import { systemClock } from '../../src/clock.ts'
import { type Counterfoil, type Graph, graph, open, tool } from '../../src/index.ts'
import { openMemory } from '../../src/store/memory/index.ts'

const opened: Counterfoil[] = []
const folders: string[] = []

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-graphs-'))
  folders.push(folder)
  return join(folder, 'runs.db')
}

async function opens(store: string, graphs: Graph[], more: object = {}): Promise<Counterfoil> {
  const cf = await open({ store, graphs, onWarning: () => {}, ...more })
  opened.push(cf)
  return cf
}

const look = (more: object = {}) =>
  tool({
    name: 'look',
    replayClass: 'pure',
    input: z.object({ q: z.string() }),
    run: async () => 1,
    ...more,
  } as never)

function made(more: object = {}): Graph {
  return graph({
    id: 'g@1.0.0',
    state: z.object({ n: z.number(), note: z.string().default('') }),
    tools: [look()],
    start: 'a',
    nodes: { a: async (_: unknown, ctx: never) => (ctx as { done(): never }).done() },
    ...more,
  } as never) as Graph
}

const node = async (_: unknown, ctx: { done(): never }) => ctx.done()

const changes: [string, object, RegExp][] = [
  ['a node more', { nodes: { a: node, b: node } }, /node b is new/],
  ['another start', { nodes: { a: node, b: node }, start: 'b' }, /start was a, is b/],
  ['edges', { edges: { a: ['a'] } }, /edges are declared now/],
  ['a tool less', { tools: [] }, /tool look is gone/],
  [
    'a class',
    { tools: [look({ replayClass: 'unsafe_on_replay' })] },
    /tool look: class was pure, is unsafe_on_replay/,
  ],
  [
    "a tool's input",
    { tools: [look({ input: z.object({ q: z.string(), page: z.number() }) })] },
    /tool look: input schema changed at/,
  ],
  ['the state', { state: z.object({ n: z.string() }) }, /state schema changed at/],
  ['an output', { output: z.number() }, /output schema is new/],
]

describe('F3 a known version with other content', () => {
  test.each(changes)('F3 %s is refused at open, with what differs', async (_, change, message) => {
    const store = `sqlite:${file()}`
    const known = made()
    const cf = await opens(store, [known])
    const refused = open({ store, graphs: [made(change)], onWarning: () => {} })
    await expect(refused).rejects.toMatchObject({ code: 'GRAPH_CHANGED', retryable: false })
    await expect(refused).rejects.toThrow(message)
    await expect(refused).rejects.toThrow(/this store knows graph g@1\.0\.0/)
    // Who was there works on, and the same graph made once more is the same graph.
    await cf.worker().start()
    await (await cf.start(known, { n: 1 })).result()
    await opens(store, [made()])
  })

  test('F3 what may be tuned without a new version is not content', async () => {
    const store = `sqlite:${file()}`
    await opens(store, [made()])
    const tuned = look({ timeoutMs: 5, retry: { attemptMax: 9 }, tags: ['slow'], run: () => 2 })
    await opens(store, [made({ tools: [tuned], checkpoints: 'full' })])
    await opens(store, [made({ nodes: { a: { run: node, checkpoint: 'every:2' } } })])
  })

  test('F3 a new version stands beside the old one; another namespace has its own', async () => {
    const store = `sqlite:${file()}`
    await opens(store, [made()])
    const other = { nodes: { a: node, b: node } }
    await opens(store, [made(), made({ id: 'g@1.0.1', ...other })])
    await opens(store, [made(other)], { namespace: 'theirs' })
    await expect(open({ store, graphs: [made(other)] })).rejects.toMatchObject({
      code: 'GRAPH_CHANGED',
    })
  })

  test('F3 one of several: the file is free afterwards, and it can be mended', async () => {
    const path = file()
    const first = await opens(`sqlite:${path}`, [made()])
    await first.close()
    const fresh = made({ id: 'h@1.0.0' })
    const bad = made({ tools: [] })
    await expect(
      open({ store: `sqlite:${path}`, graphs: [fresh, bad], onWarning: () => {} }),
    ).rejects.toMatchObject({ code: 'GRAPH_CHANGED' })
    // The file is free: nothing of the failed opening holds it.
    const db = new Database(path)
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec('begin exclusive; commit')
    db.close()
    await opens(`sqlite:${path}`, [fresh, made()])
  })

  test('F3 the memory store keeps to it as well', async () => {
    const store = openMemory({ clock: systemClock })
    const register = (more: object) => registerGraphs(store, systemClock, 'default', [made(more)])
    await register({})
    await register({})
    await expect(register({ tools: [] })).rejects.toMatchObject({
      code: 'GRAPH_CHANGED',
      details: { graph: 'g@1.0.0', differences: ['tool look is gone'] },
    })
  })

  test('F3 other libraries, tools without a schema, and what no library can show', async () => {
    const store = `sqlite:${file()}`
    const states = {
      valibot: v.object({ n: v.number() }),
      arktype: type({ n: 'number' }),
      dates: z.object({ n: z.number(), at: z.date().optional() }),
      anything: z.any(),
    }
    for (const [name, state] of Object.entries(states)) {
      const id = `${name.toLowerCase()}@1.0.0`
      await opens(store, [made({ id, state })])
      await opens(store, [made({ id, state })])
    }
  })
})

describe('branches that nobody awaits', () => {
  /** A branch that rejects while the node goes on to the next; `b` says whether it was reached. */
  function branching(branch: (call: () => Promise<unknown>) => void) {
    const reached: string[] = []
    const seen = look()
    const wild = graph({
      id: 'wild@1.0.0',
      state: z.object({}),
      tools: [seen],
      start: 'a',
      nodes: {
        a: async (_, ctx) => {
          branch(() => ctx.call(seen as never, { q: 'a' } as never))
          return ctx.go('b')
        },
        b: async (_, ctx) => {
          reached.push('b')
          return ctx.done('end')
        },
      },
    }) as Graph
    return { wild, reached }
  }

  test('D1 a rejection that nobody handles fails the run, and it does not go on', async () => {
    const { wild, reached } = branching(async (call) => {
      await call()
      throw new Error('forgotten')
    })
    const cf = await opens('memory:', [wild])
    await cf.worker().start()
    const run = await cf.start(wild, {})
    await expect(run.result()).rejects.toThrow(/forgotten/)
    expect(reached).toEqual([])
    expect(await run.status()).toMatchObject({ state: 'failed', node: 'a', visit: 1 })
  })

  test('D1 one that is handled later does not', async () => {
    const { wild, reached } = branching((call) => {
      const failing = call().then(() => {
        throw new Error('caught in time')
      })
      void call().then(() => failing.catch(() => {}))
    })
    const cf = await opens('memory:', [wild])
    await cf.worker().start()
    expect(await (await cf.start(wild, {})).result()).toBe('end')
    expect(reached).toEqual(['b'])
  })

  test('D1 one that comes after its node has ended harms no other run', async () => {
    const { wild } = branching(() => {
      setTimeout(() => Promise.reject(new Error('long after')), 50)
    })
    const cf = await opens('memory:', [wild])
    await cf.worker().start()
    expect(await (await cf.start(wild, {})).result()).toBe('end')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await (await cf.start(wild, {})).result()).toBe('end')
    await new Promise((resolve) => setTimeout(resolve, 100))
  })
})

describe('D3 a run that waits', () => {
  test('D3 holds no lease and no state in its worker, at whatever visit', async () => {
    const waits = graph({
      id: 'waits@1.0.0',
      state: z.object({ n: z.number() }),
      start: 'a',
      nodes: {
        a: async ({ n }, ctx) => (n < 3 ? ctx.go('a', { n: n + 1 }) : ctx.go('ask')),
        ask: async (_, ctx) => ctx.done((await ctx.approval({ title: 'So?' })).approved),
      },
    })
    const cf = await opens(`sqlite:${file()}`, [waits as Graph])
    const worker = cf.worker({ concurrency: 1 })
    await worker.start()
    const runs = await Promise.all(
      Array.from({ length: 20 }, (_, i) => cf.start(waits, { n: 0 }, { runId: `r${i}` })),
    )
    // One place for work, twenty runs: each gives it up when it waits.
    for (const run of runs) {
      const status = await run.until('waiting_human')
      expect(status).toMatchObject({ node: 'ask', visit: 5, waitingFor: { kind: 'approval' } })
      const row = await cf.store.getRun({ namespace: 'default', runId: run.runId })
      expect(row?.workerId).toBe(null)
    }
    await worker.stop()
    const next = cf.worker()
    await next.start()
    for (const { itemId, version } of (await cf.inbox.list()).items) {
      await cf.inbox.decide(itemId, { outcome: 'approve', version, by: 'ana', reason: 'fine' })
    }
    for (const run of runs) expect(await run.result()).toBe(true)
  })
})

describe('B4 what a step costs', () => {
  test.each([1, 20])(
    'B4 %i runs at once: n unsafe calls, one a node, are n + 1 commits each',
    async (count) => {
      const steps = 6
      const post = tool({
        name: 'post',
        replayClass: 'unsafe_on_replay',
        input: z.object({ n: z.number() }),
        run: async () => {},
      })
      const loop = graph({
        id: 'loop@1.0.0',
        state: z.object({ n: z.number() }),
        tools: [post],
        start: 'send',
        nodes: {
          send: async ({ n }, ctx) => {
            await ctx.call(post, { n })
            return n === steps ? ctx.done() : ctx.go('send', { n: n + 1 })
          },
        },
      })
      const cf = await opens(`sqlite:${file()}`, [loop as Graph])
      await cf.worker({ concurrency: count }).start()
      const runs = await Promise.all(Array.from({ length: count }, () => cf.start(loop, { n: 1 })))
      for (const run of runs) {
        await run.result()
        const row = await cf.store.getRun({ namespace: 'default', runId: run.runId })
        // A commit is named by fence and number.
        expect(row?.commitId).toBe(`1.${steps + 1}`)
      }
    },
  )
})
