// A host is killed while a call with a key rests between two tries, and nobody asks for that call
// again. It is the host's while the key is good; then a person is asked, whoever is there to see.
import { expect, test } from 'vitest'
import { Scope } from '../../src/client/scope.ts'
import { RateLimits } from '../../src/engine/attempt/rate-limit.ts'
import { Committer } from '../../src/engine/committer.ts'
import { makeTool } from '../../src/model/tool/tool.ts'
import { openMemory } from '../../src/store/memory/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { Liveness } from '../../src/worker/liveness.ts'
import { Scopes } from '../../src/worker/scopes.ts'
import { Sweeper } from '../../src/worker/sweeper.ts'
import { seeded, VirtualClock } from '../sim/clock.ts'

const minute = 60_000
const ref = { namespace: 'default', runId: 't1' }

/** What a machine without sockets would do: a death is known when it is said. */
const liveness: Liveness = {
  listen: async (workerId) => ({ path: workerId, inode: null, close: async () => {} }),
  declareDead: async () => {},
}

function site() {
  const random = seeded(3)
  let clock = new VirtualClock(1_000_000, random)
  const own = { ...clock, now: () => clock.now(), mono: () => clock.mono() }
  const store = openMemory({ clock: { ...own, turn: () => {} } })
  const errors: unknown[] = []
  /** A process with scopes of its own; what an earlier one had under way is gone. */
  const begin = async () => {
    for (const { workerId } of await store.workers()) await store.declareDead(workerId, 'killed')
    clock = new VirtualClock(clock.now() + 1_000, random)
    const onError = (error: unknown) => void errors.push(error)
    const committer = new Committer(store, clock, { pureFlushMs: 10, onError })
    const limits = new RateLimits(clock)
    const engine = { store, clock, committer, limits, graphs: new Map(), policy: null }
    return new Scopes({ ...engine, settleMs: 250, namespace: 'default' }, onError, liveness)
  }
  const until = (over: () => boolean) => clock.run(over, () => false, 500_000)
  const pass = (ms: number) => {
    let over = false
    clock.after(ms, () => {
      over = true
    })
    return until(() => over)
  }
  const open = async (scopes: Scopes, workflowId: string, checkpointId = 'c1') => {
    const ids = { workflowId, nodeId: 'tools', checkpointId }
    let scope: Scope | null = null
    scopes.open(ids).then((opened) => {
      scope = new Scope(opened, ids)
    }, errors.push)
    await until(() => scope !== null)
    return scope as unknown as Scope
  }
  const sweeper = (scopes: Scopes) => {
    const askAboutLeft = () => scopes.sweep()
    const more = { retention: null, onWoken: () => {}, onError: () => {}, askAboutLeft }
    return new Sweeper({ store, clock, ...more })
  }
  return { store, errors, begin, until, pass, open, sweeper }
}

/** Killed after its first try has failed, long before the second. */
async function killed(s: ReturnType<typeof site>, keyTtlMs: number): Promise<void> {
  const charge = makeTool('charge', {
    replayClass: 'idempotent_with_key',
    idempotencyKey: () => 'k1',
    keyTtlMs,
    retry: { attemptMax: 3, backoffMs: 10 * minute, backoffMaxMs: 10 * minute },
    run: () => Promise.reject(new Error('socket hang up')),
  })
  const scope = await s.open(await s.begin(), 't1')
  void scope.call(charge as never, {} as never).catch(() => {})
  await s.pass(1_000)
  const [attempt] = await s.store.listAttempts(ref)
  expect(attempt).toMatchObject({ attempt: 1, outcome: 'unknown' })
}

async function waiting(store: Store) {
  const { items } = await store.listItems({ namespace: 'default' })
  return items.map(({ title, body }) => ({ title, unasked: body.unasked }))
}

const asked = [{ title: 'charge: did it happen?', unasked: true }]

test('C2 D6 G6 a worker finds it once its key is forgotten, and not before', async () => {
  const s = site()
  await killed(s, 30 * minute)
  const sweeper = s.sweeper(await s.begin())
  sweeper.start()
  await s.pass(29 * minute)
  expect(await waiting(s.store)).toEqual([])
  const parked = await s.store.getRun(ref)
  expect(parked).toMatchObject({ state: 'waiting_tool', waitingFor: { kind: 'host' } })
  await s.pass(2 * minute)
  expect(await waiting(s.store)).toEqual(asked)
  expect((await s.store.getRun(ref))?.state).toBe('waiting_human')
  expect(s.errors).toEqual([])
})

test('C2 D6 so does a process that has no worker and holds another workflow', async () => {
  const s = site()
  await killed(s, 30 * minute)
  await s.open(await s.begin(), 'other')
  await s.pass(29 * minute)
  expect(await waiting(s.store)).toEqual([])
  await s.pass(2 * minute)
  expect(await waiting(s.store)).toEqual(asked)
})

test('C2 D6 one that finds it and dies leaves it to the next', async () => {
  const s = site()
  await killed(s, 30 * minute)
  const first = s.sweeper(await s.begin())
  first.start()
  await s.pass(10 * minute)
  const second = s.sweeper(await s.begin())
  second.start()
  await s.pass(22 * minute)
  expect(await waiting(s.store)).toEqual(asked)
})

test('G6 a key that is never forgotten stays its host’s', async () => {
  const s = site()
  await killed(s, Number.POSITIVE_INFINITY)
  s.sweeper(await s.begin()).start()
  await s.pass(120 * minute)
  expect(await waiting(s.store)).toEqual([])
})
