// How a worker ends, which namespaces it works for, and what it tells of itself.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { startRun } from '../../src/client/run/start.ts'
import { systemClock } from '../../src/clock.ts'
import { open, tool, workflow } from '../../src/index.ts'
import { canonical } from '../../src/model/json/canonical.ts'

/** A tool whose calls end when they are told to. */
function slowTool() {
  const sent: number[] = []
  const release: (() => void)[] = []
  const slow = tool({
    name: 'slow',
    replayClass: 'unsafe_on_replay',
    input: z.number(),
    timeoutMs: 60_000,
    run: async (n) => {
      sent.push(n)
      await new Promise<void>((resolve) => release.push(resolve))
      return n
    },
  })
  const graph = workflow({
    id: 'slow@1.0.0',
    input: z.null(),
    tools: [slow],
    run: async (_, ctx) => [await ctx.call(slow, 1), await ctx.call(slow, 2)],
  })
  const letGo = () => {
    for (const done of release.splice(0)) done()
  }
  return { sent, graph, letGo }
}

async function opened(graphs: Parameters<typeof open>[0]['graphs'] = []) {
  const warnings: string[] = []
  const cf = await open({ store: 'memory:', graphs, onWarning: (text) => warnings.push(text) })
  onTestFinished(() => cf.close())
  return { cf, warnings }
}

test('D2 a grace that is over: the worker says what it leaves, not that it ended', async () => {
  const { sent, graph, letGo } = slowTool()
  const { cf } = await opened([graph])
  const worker = cf.worker()
  await worker.start()
  const run = await cf.start(graph, null, { runId: 'r1' })
  while (sent.length === 0) await sleep(1)
  const { unfinished } = await worker.stop({ graceMs: 30 })
  expect(unfinished).toEqual([{ namespace: 'default', runId: 'r1', calls: 1 }])
  // Its socket still proves that this process lives: its calls have not ended.
  const provable = await cf.store.workers({ provable: true })
  expect(provable.map((row) => row.workerId)).toEqual([worker.id])
  // The next one takes the run over, and asks a person; the late answer settles it.
  await cf.worker().start()
  await run.until('waiting_human')
  expect(sent).toEqual([1])
  letGo()
  while (sent.length < 2) await sleep(1)
  letGo()
  expect(await run.result()).toEqual([1, 2])
  expect(sent).toEqual([1, 2])
})

test('D2 within its grace a worker finishes its calls and gives the run back', async () => {
  const { sent, graph, letGo } = slowTool()
  const { cf } = await opened([graph])
  const worker = cf.worker()
  await worker.start()
  const run = await cf.start(graph, null)
  while (sent.length === 0) await sleep(1)
  const stopping = worker.stop({ graceMs: 60_000 })
  // The same end for whoever asks again.
  const again = worker.stop()
  letGo()
  expect(await stopping).toEqual({ unfinished: [] })
  expect(await again).toEqual({ unfinished: [] })
  expect((await run.status()).state).toBe('pending')
  expect((await cf.store.workers())[0]?.stoppedAt).not.toBeNull()
  await expect(worker.start()).rejects.toMatchObject({ code: 'WORKER_DEAD' })
  await cf.run(run.runId).cancel()
})

test('D2 a shorter grace that comes later counts', async () => {
  const { sent, graph, letGo } = slowTool()
  const { cf } = await opened([graph])
  const worker = cf.worker()
  await worker.start()
  const run = await cf.start(graph, null)
  while (sent.length === 0) await sleep(1)
  const patient = worker.stop()
  const hasty = await worker.stop({ graceMs: 10 })
  expect(hasty.unfinished).toHaveLength(1)
  expect(await patient).toBe(hasty)
  letGo()
  await run.cancel()
})

test('WORKER_OPTIONS names what cannot work', async () => {
  const { cf } = await opened()
  const bad = { code: 'WORKER_OPTIONS' }
  expect(() => cf.worker({ namespaces: 'some' as 'own' })).toThrow(/'own' or 'all'/)
  expect(() => cf.worker({ blockedMsMax: 0 })).toThrow(expect.objectContaining(bad))
  expect(() => cf.worker({ concurency: 3 } as object)).toThrow(/no option `concurency`/)
  await expect(cf.worker().stop({ graceMs: -1 })).rejects.toMatchObject(bad)
})

test('B6 retention is refused below its floor, out of order, or misspelt', async () => {
  const day = 24 * 3_600_000
  const tried = (retention: object) => open({ store: 'memory:', retention, onWarning: () => {} })
  const bad = { code: 'RETENTION_INVALID' }
  await expect(tried({ unsafeMs: 13 * day })).rejects.toMatchObject(bad)
  await expect(tried({ pureMs: 20 * day })).rejects.toMatchObject(bad)
  await expect(tried({ unsafeMS: 100 * day })).rejects.toMatchObject(bad)
  await expect(tried('never' as unknown as object)).rejects.toMatchObject(bad)
  await (await tried({ unsafeMs: Number.POSITIVE_INFINITY })).close()
  await (await open({ store: 'memory:', retention: 'off', onWarning: () => {} })).close()
})

const echo = workflow({ id: 'echo@1.0.0', input: z.number(), run: async (n) => n })
const theirs = { namespace: 'theirs', runId: 'theirs' }

test('M3 a worker takes runs of its own namespace, or of all if it is told so', async () => {
  const { cf } = await opened([echo])
  const { store } = cf
  await startRun(store, systemClock, echo, 2, theirs)
  const ours = await cf.start(echo, 1)
  const own = cf.worker({ pollMs: 10 })
  await own.start()
  expect(await ours.result()).toBe(1)
  // It has looked again and again.
  let looks = 0
  const claim = store.claim
  store.claim = (request) => {
    looks++
    return claim(request)
  }
  await expect.poll(() => looks).toBeGreaterThan(3)
  expect((await store.getRun(theirs))?.state).toBe('pending')
  const all = cf.worker({ namespaces: 'all' })
  await all.start()
  await expect.poll(async () => (await store.getRun(theirs))?.state).toBe('completed')
  await expect.poll(() => all.stats().running).toBe(0)
  expect(all.stats()).toMatchObject({ claimed: 1, lost: 0 })
  expect(own.stats()).toMatchObject({ claimed: 1, running: 0, lost: 0, woken: 0, failures: 0 })
})

test('F3 M3 the same version with other content elsewhere is not worked on', async () => {
  const { cf, warnings } = await opened([echo])
  const { graph } = slowTool()
  const { name, version } = echo
  const known = { fingerprint: graph.fingerprint, contentJson: canonical(graph.content) }
  const { namespace } = theirs
  await cf.store.registerGraph({ namespace, name, version, ...known, registeredAt: 1 })
  await startRun(cf.store, systemClock, echo, 2, theirs)
  const worker = cf.worker({ namespaces: 'all', concurrency: 1 })
  await worker.start()
  await expect.poll(() => warnings.join()).toContain('this store knows graph echo@1.0.0 with other')
  expect(worker.stats()).toMatchObject({ claimed: 1, running: 0 })
  await worker.stop()
  expect((await cf.store.getRun(theirs))?.state).not.toBe('completed')
})

test('I9 a worker that is declared dead says so', async () => {
  const { cf, warnings } = await opened([echo])
  const worker = cf.worker({ leaseMs: 3_000 })
  await worker.start()
  expect(worker.holds()).toBe(true)
  await cf.store.declareDead(worker.id, 'stated by a test')
  await worker.died
  expect(worker.holds()).toBe(false)
  expect(warnings.filter((text) => text.includes('it takes no more runs'))).toHaveLength(1)
})

test('D2 a worker that could not be registered stops, and its store is closed', async () => {
  const cf = await open({ store: 'memory:', graphs: [echo], onWarning: () => {} })
  let closed = 0
  const { close } = cf.store
  Object.assign(cf.store, {
    register: () => Promise.reject(new Error('the store cannot be reached')),
    close: () => close().then(() => closed++),
  })
  const worker = cf.worker()
  await expect(worker.start()).rejects.toThrow('cannot be reached')
  expect(await worker.stop()).toEqual({ unfinished: [] })
  await cf.close()
  expect(closed).toBe(1)
})
