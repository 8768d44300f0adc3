// What arrives for a run at the very moment it parks, just before the park is written and just
// after, is never lost (I10). Written once, for every kind of arrival and every store.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, open, tool, workflow } from '../../../src/index.ts'
import type { Graph } from '../../../src/model/graph/graph.ts'
import { bootId } from '../../../src/store/boot.ts'
import type { CommitResult, Store } from '../../../src/store/store.ts'
import { dropSchema, key, postgresUrl } from '../../postgres/bench.ts'

type Order = 'before' | 'after'

const tokens: string[] = []

/** Keeps its run busy for a moment, so that what it waits for is on record before it parks. */
const busy = tool({
  name: 'busy',
  replayClass: 'pure',
  input: z.number(),
  run: (ms) => pause(ms).then(() => 'rested'),
})

const order = tool({
  name: 'order',
  replayClass: 'unsafe_on_replay',
  input: z.null(),
  callbackMs: 60_000,
  run: async (_, call) => {
    tokens.push(call.defer())
  },
})

const child = workflow({ id: 'child@1.0.0', input: z.null(), run: async () => 7 })

function flow(name: string, run: Parameters<typeof workflow>[0]['run']): Graph {
  const tools = [busy, order]
  return workflow({ id: `${name}@1.0.0`, input: z.null(), tools, run: run as never }) as Graph
}

const together = async <T>(wait: PromiseLike<T>, rest: PromiseLike<unknown>): Promise<T> =>
  (await Promise.all([wait, rest]))[0]

const graphs = {
  signal: flow('signal', async (_, ctx) => (await ctx.signal('go')).data),
  callback: flow('callback', (_, ctx) => ctx.call(order, null)),
  decision: flow('decision', async (_, ctx) => {
    const asked = ctx.approval({ title: 'may it?' })
    return (await together(asked, ctx.call(busy, 500))).approved
  }),
  child: flow('child-of', (_, ctx) => together(ctx.spawn(child, null), ctx.call(busy, 500))),
  stop: flow('stop', (_, ctx) => ctx.signal('never')),
  timer: flow('timer', async (_, ctx) => {
    // Less than a quarter of a second is not parked for: the rest is for a slow machine.
    await ctx.sleep(2_400)
    return 'awake'
  }),
}

type Kind = keyof typeof graphs

interface Race {
  readonly cf: Counterfoil
  readonly runId: string
  readonly commit: Store['commit']
}

/** As its last commit does, which tells the parent in the same transaction. */
async function endChild({ cf, runId, commit }: Race): Promise<void> {
  const { store } = cf
  const [made] = await cf.run(runId).children()
  const own = { workerId: `w_${runId}`, pid: 1, host: 'h', bootId: bootId(), startedAt: 1 }
  await store.register({ ...own, socketPath: null, socketInode: null }, 60_000)
  const only = { namespace: 'default', runId: made?.runId ?? '' }
  const wanted = { graphs: [child], countMax: 1, only }
  const [claimed] = await store.claim({ ...wanted, workerId: own.workerId })
  if (claimed === undefined) throw new Error('the child cannot be claimed')
  const { namespace, fence, parentRunId, parentAttemptId } = claimed
  const parent = { runId: parentRunId ?? '', attemptId: parentAttemptId ?? '' }
  const change = { state: 'completed', outputJson: '7', release: true, progress: true } as const
  const by = { namespace, runId: claimed.runId, fence, workerId: own.workerId, commitId: 'end' }
  expect(await commit([{ ...by, parent, changes: { run: change } }])).toEqual(['done'])
}

const arrivals: Record<Kind, (race: Race) => Promise<unknown>> = {
  signal: ({ cf, runId }) => cf.run(runId).signal('go', 'gone', { id: 's1' }),
  callback: ({ cf }) => cf.callbacks.settle(tokens.at(-1) ?? '', 'delivered'),
  decision: async ({ cf, runId }) => {
    const { items } = await cf.inbox.list({ runId })
    const { itemId = '', version = 0 } = items[0] ?? {}
    await cf.inbox.decide(itemId, { outcome: 'approve', by: 'ana', reason: 'fine', version })
  },
  child: endChild,
  stop: ({ cf, runId }) => cf.run(runId).cancel(),
  timer: () => pause(2_500),
}

const outputs: Record<Kind, unknown> = {
  ...{ signal: 'gone', callback: 'delivered', decision: true, timer: 'awake', stop: 'cancelled' },
  child: { runId: expect.any(String), state: 'completed', output: 7 },
}

/** The first park is held up: something arrives before it is written, or as soon as it is. */
function interpose(race: Race, when: Order, arrival: () => Promise<unknown>) {
  const answers: (CommitResult | 'held up')[] = []
  const errors: unknown[] = []
  const arrive = () => arrival().catch((error) => errors.push(error))
  race.cf.store.commit = async (batch) => {
    const parks = batch.some(({ changes }) => changes.run?.state?.startsWith('waiting'))
    if (!parks || answers.length > 0) return race.commit(batch)
    answers.push('held up')
    if (when === 'before') await arrive()
    const results = await race.commit(batch)
    answers.splice(0, 1, ...results)
    if (when === 'after') await arrive()
    return results
  }
  return { answers, errors }
}

async function run(cf: Counterfoil, kind: Kind, when: Order) {
  const runId = `${kind}-${when}`
  const race: Race = { cf, runId, commit: cf.store.commit }
  const { answers, errors } = interpose(race, when, () => arrivals[kind](race))
  try {
    const handle = await cf.start(graphs[kind], null, { runId })
    const end = await handle.result().catch((error: { code?: string }) => {
      if (error.code !== 'RUN_CANCELLED') throw error
      return 'cancelled'
    })
    const events = (await cf.store.listEvents({ namespace: 'default', runId }, {})).items
    expect(errors).toEqual([])
    return { end, answers, events }
  } finally {
    cf.store.commit = race.commit
  }
}

const dir = mkdtempSync(join(tmpdir(), 'counterfoil-races-'))
const postgres = inject('postgresUrl') === '' ? null : postgresUrl()
const stores = {
  memory: 'memory:',
  sqlite: `sqlite:${join(dir, 'runs.db')}`,
  ...(postgres ? { postgres } : {}),
}
afterAll(async () => {
  rmSync(dir, { recursive: true, force: true })
  if (postgres) await dropSchema(postgres)
})

describe.each(Object.entries(stores))('on %s', (name, store) => {
  const all = [...Object.values(graphs), child as Graph]
  const opened = open({
    ...{ store, graphs: all, onWarning: () => {} },
    ...(name === 'postgres' ? { key } : {}),
  })
  // One at a time: the child waits for the test, not for this worker.
  const working = opened.then((cf) => cf.worker({ concurrency: 1 }).start())
  afterAll(() => opened.then((cf) => cf.close()))

  const kinds = Object.keys(graphs) as Kind[]
  const cases = kinds.flatMap((kind) => (['before', 'after'] as const).map((at) => [kind, at]))
  test.each(cases as [Kind, Order][])(
    'I10 D5 a %s just %s the park is written',
    async (kind, at) => {
      await working
      const { end, answers, events } = await run(await opened, kind, at)
      expect(end).toEqual(outputs[kind])
      // That it was this very moment: the park was refused, or it stood.
      expect(answers).toEqual([at === 'before' && kind !== 'timer' ? 'arrived' : 'done'])
      const parks = events.filter(({ data }) => String(data['to']).startsWith('waiting'))
      expect(parks.length).toBe(answers[0] === 'done' ? 1 : 0)
    },
  )
})
