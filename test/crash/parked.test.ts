// Waiting releases the worker: shown by the order of things, not by their duration. A worker that
// can execute one run at a time comes to the next only if it has let go of the last.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, graph, open, tool, type Worker, workflow } from '../../src/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'counterfoil-parked-'))
const opened: Counterfoil[] = []

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  rmSync(folder, { recursive: true, force: true })
})

/** What the worker has in its memory of runs, now and before. */
function held(worker: Worker): number {
  const { executions, past } = worker as unknown as {
    executions: Set<unknown>
    past: unknown[]
  }
  return executions.size + past.length
}

const broken = tool({
  name: 'broken',
  replayClass: 'unsafe_on_replay',
  input: z.number(),
  run: (): string => {
    throw new Error('broke off')
  },
})

const kinds = ['question', 'approval', 'doubt', 'held'] as const

const waits = graph({
  id: 'waits@1.0.0',
  state: z.object({ kind: z.enum(kinds) }),
  tools: [broken],
  start: 'wait',
  nodes: {
    wait: async ({ kind }, ctx) => {
      if (kind === 'question') await ctx.ask({ title: 'which?' })
      else if (kind === 'approval') await ctx.approval({ title: 'may it?' })
      else await ctx.call(broken, kind === 'held' ? 1 : 0)
      return ctx.done(null)
    },
  },
})

const last = workflow({ id: 'last@1.0.0', input: z.null(), run: async () => 'through' })

test('D3, I7 a thousand runs that wait for people hold no worker and no memory', async () => {
  const cf = await open({
    store: `sqlite:${join(folder, 'runs.db')}`,
    graphs: [waits, last],
    gate: ({ input }) => (input === 1 ? { ask: true } : 'run'),
    onWarning: () => {},
  })
  opened.push(cf)
  const order: string[] = []
  const { claim, commit } = cf.store
  cf.store.claim = async (request) => {
    const runs = await claim(request)
    order.push(...runs.map((run) => `claim ${run.runId}`))
    return runs
  }
  cf.store.commit = async (batch) => {
    const results = await commit(batch)
    for (const { changes, runId } of batch) {
      if (changes.run?.release) order.push(`release ${runId}`)
    }
    return results
  }
  const runIds = Array.from({ length: 1_000 }, (_, i) => `r${i}`)
  for (const [i, runId] of runIds.entries()) {
    await cf.start(waits, { kind: kinds[i % 4] ?? 'question' }, { runId })
  }
  const worker = cf.worker({ concurrency: 1 })
  await worker.start()
  await expect.poll(() => order.length, { timeout: 200_000 }).toBe(2 * runIds.length)

  // Each is given back, with the change that parks it, before the next is taken.
  const alternating = runIds.flatMap((runId) => [`claim ${runId}`, `release ${runId}`])
  expect(order).toEqual(alternating)
  expect(await (await cf.start(last, null)).result()).toBe('through')
  expect(held(worker)).toBe(0)
  let waiting = 0
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof cf.store.listRuns>> = await cf.store.listRuns({
      ...{ namespace: 'default', state: 'waiting_human', countMax: 500 },
      ...(cursor === '' ? {} : { cursor }),
    })
    for (const run of page.items) {
      waiting++
      expect([run.workerId, run.waitingFor?.items.length]).toEqual([null, 1])
    }
    cursor = page.next
  }
  expect(waiting).toBe(1_000)
}, 300_000)

test('D4 a paused run holds neither', async () => {
  const cf = await open({ store: 'memory:', graphs: [waits, last], onWarning: () => {} })
  opened.push(cf)
  const worker = cf.worker({ concurrency: 1 })
  await worker.start()
  const run = await cf.start(waits, { kind: 'question' })
  await run.until('waiting_human')
  await run.pause()
  await run.until('paused')
  expect(await (await cf.start(last, null)).result()).toBe('through')
  expect(held(worker)).toBe(0)
  expect((await cf.store.getRun({ namespace: 'default', runId: run.runId }))?.workerId).toBeNull()
})
