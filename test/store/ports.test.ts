// Ports: a store of a user's own is opened with the core alone, and what needs more says so.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CounterfoilSaver } from '../../src/adapters/langgraph/index.ts'
import { systemClock } from '../../src/clock.ts'
import { open, tool, workflow } from '../../src/index.ts'
import { openMemory } from '../../src/store/memory/index.ts'
import { corePorts, methodsOf, ports } from '../../src/store/ports.ts'
import type { OwnStore, Port } from '../../src/store/store.ts'
import { type ManualClock, storeSuite, type TestApi } from '../../src/testing/index.ts'

const base = ['url', 'clock', 'steadyNow', 'local', 'renewal', 'caveats', 'onChange', 'close']

/** The memory store with some of its ports. */
function having(...more: readonly Port[]): Record<string, unknown> {
  const whole = openMemory({ clock: systemClock }) as unknown as Record<string, unknown>
  const names = [...base, ...[...corePorts, ...more].flatMap((port) => methodsOf(port))]
  return Object.fromEntries(names.map((name) => [name, whole[name]]))
}

const own = (...more: readonly Port[]) => having(...more) as unknown as OwnStore
const onWarning = () => {}

const look = tool({
  ...{ name: 'look', replayClass: 'pure', shareMs: 60_000 },
  input: z.object({ at: z.string() }),
  run: ({ at }) => `seen ${at}`,
})
const send = tool({
  ...{ name: 'send', replayClass: 'unsafe_on_replay' },
  input: z.object({ to: z.string() }),
  run: ({ to }) => ({ id: `m-${to}` }),
})
const letter = workflow({
  ...{ id: 'letter@1.0.0', input: z.object({ to: z.string() }), tools: [look, send] },
  run: async ({ to }, ctx) => {
    const seen = await ctx.call(look, { at: to })
    await ctx.sleep(1)
    const { id } = await ctx.call(send, { to })
    const { answer } = await ctx.ask({ title: 'Well?' })
    return { seen, id, said: answer }
  },
})

describe('L5 the core alone', () => {
  test('L5 carries a run through calls, a wait and a person, to its end', async () => {
    const cf = await open({ store: own(), graphs: [letter], onWarning })
    const run = await cf.start(letter, { to: 'ana' })
    cf.worker().start()
    await run.until('waiting_human')
    const [item] = (await cf.inbox.list({})).items
    if (item === undefined) throw new Error('nobody was asked')
    const said = { outcome: 'respond', result: 'well', by: 'ana', reason: 'asked' } as const
    await cf.inbox.decide(item.itemId, { ...said, version: item.version })
    expect(await run.result()).toEqual({ seen: 'seen ana', id: 'm-ana', said: 'well' })
    await cf.close()
    await expect(cf.store.getRun({ namespace: 'default', runId: 'x' })).rejects.toMatchObject({
      code: 'STORE_CLOSED',
    })
  })

  test('L5 is told what it does not promise, as every store is (M5)', async () => {
    const said: string[] = []
    const cf = await open({ store: own(), onWarning: (message) => said.push(message) })
    expect(said).toEqual(cf.store.caveats)
    await cf.close()
  })

  test('L5 a store may be an object of a class', async () => {
    class Wrapped {}
    Object.assign(Wrapped.prototype, having())
    const cf = await open({ store: new Wrapped() as OwnStore, graphs: [letter], onWarning })
    expect((await cf.start(letter, { to: 'ana' }, { runId: 'r1' })).runId).toBe('r1')
    await cf.close()
  })
})

describe('L5 a port that is missing', () => {
  const missing = (port: Port) => ({
    ...{ code: 'STORE_PORT_MISSING', retryable: false, details: { port } },
  })

  test('L5 refuses the server, before it listens', async () => {
    const cf = await open({ store: own(), onWarning })
    await expect(cf.server({ port: 0 })).rejects.toMatchObject(missing('documents'))
    await cf.close()
  })

  test('K1, L5 refuses threads, and the saver of LangGraph says which port and why', async () => {
    const cf = await open({ store: own(), onWarning })
    const steps = cf.threads.loadSteps({ threadId: 't', space: '' })
    await expect(steps).rejects.toMatchObject(missing('threads'))
    const saver = new CounterfoilSaver(cf)
    const told = saver.getTuple({ configurable: { thread_id: 't' } })
    await expect(told).rejects.toMatchObject(missing('threads'))
    await expect(told).rejects.toThrow('LangGraph')
    await cf.close()
  })

  test('B6, L5 refuses a wish for retention, and without one keeps everything', async () => {
    const retention = { pureMs: 1, keyedMs: 1, unsafeMs: 20 * 86_400_000 }
    await expect(open({ store: own(), retention, onWarning })).rejects.toMatchObject(
      missing('retention'),
    )
    const cf = await open({ store: own('retention'), retention, onWarning })
    await cf.close()
  })

  test('L5 refuses facts, a new key and an adoption when they are asked for', async () => {
    const { store, close } = await open({ store: own(), onWarning })
    await expect(store.facts('default')).rejects.toMatchObject(missing('facts'))
    await expect(store.rotateKey()).rejects.toMatchObject(missing('keys'))
    await expect(store.adopt('ana', 'moved')).rejects.toMatchObject(missing('moves'))
    await expect(store.blobsInUse([])).rejects.toMatchObject(missing('blobs'))
    expect(() => store.conceal('x')).toThrow('documents')
    await close()
  })
})

describe('L5 a store that is not whole is refused at open', () => {
  const refused = (store: object) => open({ store: store as OwnStore, onWarning })
  const without = (name: string) => {
    const { [name]: _, ...rest } = having('threads')
    return rest
  }

  test.each(['commit', 'claim', 'listOverdue'])('L5 its core lacks %s', async (name) => {
    const told = refused(without(name))
    await expect(told).rejects.toMatchObject({ code: 'OPEN_INVALID' })
    await expect(told).rejects.toThrow(`lacks ${name} of its core`)
  })

  test.each(base)('L5 it has no %s', async (name) => {
    await expect(refused(without(name))).rejects.toThrow(`no \`${name}\``)
  })

  test('L5 half a port is a slip', async () => {
    const told = refused(without('headOf'))
    await expect(told).rejects.toMatchObject({ code: 'OPEN_INVALID' })
    await expect(told).rejects.toThrow('lacks headOf port `threads`')
  })
})

describe('L5 the suite asks of a store what its ports promise', () => {
  function testsOf(more: readonly Port[] | undefined) {
    const tests = new Map<string, () => Promise<void>>()
    const api = {
      describe: (_name: string, body: () => void) => body(),
      test: (name: string, fn: () => Promise<void>) => void tests.set(name, fn),
      expect,
    } as unknown as TestApi
    const open = async (_: ManualClock) => own()
    storeSuite('some', { open, durable: false, ...(more ? { ports: more } : {}) }, api)
    return tests
  }

  test('L5 the core is always asked, each port adds to it, and all is what is not said', () => {
    const core = testsOf([])
    const sums = new Map(ports.map((port) => [port, testsOf([port]).size - core.size]))
    for (const port of corePorts) expect(sums.get(port), port).toBe(0)
    const silent = ports.filter((port) => !corePorts.includes(port) && sums.get(port) === 0)
    // A key is rotated where it lies, which only its own store can test.
    expect(silent).toEqual(['keys'])
    expect([...core.keys()].every((name) => testsOf(undefined).has(name))).toBe(true)
    expect(testsOf(undefined).size).toBeGreaterThan(core.size + 80)
  })

  test('L5 a port that the store has and that nobody asked to test fails the suite', async () => {
    const [first] = testsOf(['facts']).values()
    await expect(first?.()).rejects.toThrow('these are tested')
    await expect([...testsOf([]).values()][0]?.()).resolves.toBe(undefined)
  })
})
