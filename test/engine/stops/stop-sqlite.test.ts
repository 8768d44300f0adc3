// Pauses, cancels, approvals, held calls and retries on a real SQLite file, on the real clock, with
// two workers and a client that holds none: what the laboratory shows, with triggers and locks.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { verifyLedger } from '../../../src/client/ledger/verify.ts'
import { type Counterfoil, open, RefusedError, tool, workflow } from '../../../src/index.ts'
import type { RiskPolicy } from '../../../src/model/tool/risk.ts'

const opened: Counterfoil[] = []
const folders: string[] = []

afterEach(async () => {
  const [client] = opened
  const report = client && (await verifyLedger(client.store, { namespace: 'default' }))
  expect(report?.findings).toEqual([])
  for (const cf of opened.splice(0)) await cf.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

const sent: string[] = []
const returned: string[] = []

const mail = tool({
  name: 'mail',
  replayClass: 'unsafe_on_replay',
  input: z.object({ run: z.string(), n: z.number(), fails: z.boolean().optional() }),
  run: async ({ run, n, fails }) => {
    sent.push(`${run}/${n}`)
    const isFirst = times(run, n) === 1
    await sleep(15)
    returned.push(`${run}/${n}`)
    if (fails && isFirst) throw new RefusedError('full')
    return { id: `${run}/${n}` }
  },
})

const steps = workflow({
  id: 'steps@1.0.0',
  input: z.number(),
  tools: [mail],
  run: async (count, ctx) => {
    for (let n = 0; n < count; n++) await ctx.call(mail, { run: ctx.runId, n })
    return count
  },
})

const asking = workflow({
  id: 'asking@1.0.0',
  input: z.object({ max: z.number() }),
  tools: [mail],
  run: async ({ max }, ctx) => {
    const schema = z.object({ n: z.number().refine((n) => n <= max) })
    const data = { n: Date.now() }
    const { data: said } = await ctx.approval({ title: 'Which?', data, schema })
    await ctx.call(mail, { run: ctx.runId, n: said.n })
    return said.n
  },
})

const failing = workflow({
  id: 'failing@1.0.0',
  input: z.null(),
  tools: [mail],
  run: async (_, ctx) => {
    const both = [0, 0].map((n) => ctx.call(mail, { run: ctx.runId, n, fails: true }))
    const ended = await Promise.allSettled(both)
    if (ended.some((each) => each.status === 'rejected')) throw new Error('one is missing')
    return 'all'
  },
})

const graphs = [steps, asking, failing]

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-stop-'))
  folders.push(folder)
  return `sqlite:${join(folder, 'runs.db')}`
}

async function opens(store: string, gate?: RiskPolicy): Promise<Counterfoil> {
  const cf = await open({ store, graphs, onWarning: () => {}, ...(gate ? { gate } : {}) })
  opened.push(cf)
  return cf
}

function times(run: string, n: number): number {
  return sent.filter((each) => each === `${run}/${n}`).length
}

/** A client, and two processes' worth of workers on the same file. */
async function site(gate?: RiskPolicy) {
  const store = file()
  const client = await opens(store)
  const workers = [await opens(store, gate), await opens(store, gate)]
  for (const cf of workers) await cf.worker({ concurrency: 4, pollMs: 10 }).start()
  return { store, client, workers }
}

async function decideNext(
  cf: Counterfoil,
  outcome: 'approve' | 'edit' | 'abandon',
  result?: unknown,
) {
  const [item] = (await cf.inbox.list()).items
  if (item === undefined) throw new Error('nothing waits')
  const { itemId, version } = item
  const request = { outcome, by: 'ana', reason: 'r', version }
  await cf.inbox.decide(itemId, result === undefined ? request : { ...request, result })
  return item
}

describe('D4 two workers, and a client that holds none', () => {
  test('D4 I7 wishes in any order: what was asked comes about, nothing is sent twice', async () => {
    const { client } = await site()
    const ids = Array.from({ length: 8 }, (_, i) => `many-${i}`)
    const runs = await Promise.all(ids.map((runId) => client.start(steps, 12, { runId })))
    const wishes = runs.map(async (run, i) => {
      for (let round = 0; round < 3; round++) {
        await sleep(20 + i * 7)
        await run.pause().catch(() => {})
        await sleep(5 * round)
        if (i % 2 === 0) await run.until('paused', 'completed')
        await run.resume().catch(() => {})
      }
      if (i % 4 === 3) await run.cancel().catch(() => {})
    })
    await Promise.all(wishes)
    const ended = await Promise.all(
      runs.map(async (run) => (await run.until('completed', 'cancelled')).state),
    )
    ended.forEach((state, i) => {
      if (i % 4 !== 3) expect([ids[i], state]).toEqual([ids[i], 'completed'])
    })
    for (const [i, id] of ids.entries()) {
      for (let n = 0; n < 12; n++) {
        if (ended[i] === 'completed') expect([id, n, times(id, n)]).toEqual([id, n, 1])
        else expect(times(id, n)).toBeLessThanOrEqual(1)
      }
      const { items } = await client.store.listRecords(
        { namespace: 'default', runId: id },
        { countMax: 100 },
      )
      expect(items.map((row) => row.status)).toEqual(items.map(() => 'committed'))
    }
    expect((await client.inbox.list()).items).toEqual([])
  })

  test('D4 a worker that stops obeys a pause; its call under way is recorded', async () => {
    const { client, workers } = await site()
    const run = await client.start(steps, 50, { runId: 'drained' })
    while (times('drained', 1) === 0) await sleep(2)
    await Promise.all([run.pause(), ...workers.map((cf) => cf.close())])
    opened.splice(1)
    expect((await run.status()).state).toBe('paused')
    expect(returned.filter((each) => each.startsWith('drained/'))).toEqual(
      sent.filter((each) => each.startsWith('drained/')),
    )
  })

  test('D4 a worker that was declared dead: the wish takes effect at once', async () => {
    const { client, workers } = await site()
    const run = await client.start(steps, 200, { runId: 'dead' })
    while (times('dead', 1) === 0) await sleep(2)
    for (const { workerId } of await client.store.workers()) {
      await client.store.declareDead(workerId, 'asserted by the test')
    }
    await run.cancel()
    expect((await run.status()).state).toBe('cancelled')
    const before = sent.length
    await sleep(100)
    expect(sent.length - before).toBeLessThanOrEqual(1)
    expect(workers).toHaveLength(2)
  })
})

describe('E1 on SQLite', () => {
  test('E1 an edit that does not fit, then an approval of what was shown by then', async () => {
    const { client } = await site()
    const run = await client.start(asking, { max: 5 }, { runId: 'asks' })
    await run.until('waiting_human')
    await decideNext(client, 'edit', { n: 6 })
    while ((await client.inbox.list()).items.length === 0) await sleep(2)
    const second = await decideNext(client, 'approve')
    const { n } = second.body.data as { n: number }
    expect(await run.result()).toBe(n)
    expect(times('asks', n)).toBe(1)
  })

  test('E1 a held call, edited: the edit is sent, once', async () => {
    const { client } = await site(() => ({ ask: { queue: 'cfo' } }))
    const run = await client.start(steps, 1, { runId: 'held' })
    await run.until('waiting_human')
    const bad = decideNext(client, 'edit', { run: 'held', n: 'many' })
    await expect(bad).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    const input = { run: 'held', n: 77 }
    await decideNext(client, 'edit', input)
    expect(await run.result()).toBe(1)
    expect([times('held', 0), times('held', 77)]).toEqual([0, 1])
  })

  test('E1 the policy of either worker holds; a decision by two at once is one', async () => {
    const { client, store } = await site(() => ({ ask: true }))
    const other = await opens(store)
    const run = await client.start(steps, 1, { runId: 'both' })
    await run.until('waiting_human')
    const said = await Promise.allSettled([
      decideNext(client, 'approve'),
      decideNext(other, 'edit', { run: 'both', n: 5 }),
    ])
    expect(said.map((each) => each.status).sort()).toEqual(['fulfilled', 'rejected'])
    await run.result()
    expect(times('both', 0) + times('both', 5)).toBe(1)
  })
})

describe('C10 on SQLite', () => {
  test('C10 one of two identical calls is sent again, by one of two people', async () => {
    const { client, store } = await site()
    const other = await opens(store)
    const run = await client.start(failing, null, { runId: 'again' })
    await expect(run.result()).rejects.toThrow('one is missing')
    const [call] = await run.failedCalls()
    const request = { by: 'ana', reason: 'r', calls: { [call?.name ?? '']: 'send' } } as const
    const both = await Promise.allSettled([
      run.retry(request),
      other.run('again').retry({ ...request, by: 'bo' }),
    ])
    expect(both.map((each) => each.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await run.result()).toBe('all')
    expect(times('again', 0)).toBe(3)
  })

  test('C10 an abandoned run is taken up again', async () => {
    const { client } = await site()
    const run = await client.start(asking, { max: 9e15 }, { runId: 'left' })
    await run.until('waiting_human')
    await decideNext(client, 'abandon')
    await expect(run.result()).rejects.toThrow('abandoned')
    await run.retry({ by: 'ana', reason: 'r' })
    await run.until('waiting_human')
    await decideNext(client, 'edit', { n: 3 })
    expect(await run.result()).toBe(3)
  })
})
