// What ends a hold from outside: a pause, a cancellation, a lease that is lost.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { RateLimits } from '../../src/engine/attempt/rate-limit.ts'
import { Committer } from '../../src/engine/committer.ts'
import { type Counterfoil, open, type ReplayUnsafeError, tool } from '../../src/index.ts'
import type { Tool } from '../../src/model/tool/tool.ts'
import { openMemory } from '../../src/store/memory/index.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { Scopes } from '../../src/worker/scopes.ts'

const opened: { close(): Promise<void> }[] = []

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})

async function opens(): Promise<Counterfoil> {
  const cf = await open({ store: 'memory:', settleMs: 30, onWarning: () => {} })
  opened.push(cf)
  return cf
}

const ids = { workflowId: 'thread', nodeId: 'tools', checkpointId: 'c1' }
const ref = { namespace: 'default', runId: ids.workflowId }
const ended = (promise: Promise<unknown>) => promise.catch((error: unknown) => error)

/** An unsafe tool that answers when it is told to. */
function slow() {
  const sent: string[] = []
  const answers: (() => void)[] = []
  const send = tool({
    name: 'send',
    replayClass: 'unsafe_on_replay',
    input: z.string(),
    quietMs: 1,
    run: (text) =>
      new Promise<string>((resolve, reject) => {
        sent.push(text)
        answers.push(() =>
          text.startsWith('broken') ? reject(new Error('broke off')) : resolve(`sent ${text}`),
        )
      }),
  })
  const until = async (count: number) => {
    while (sent.length < count) await sleep(1)
  }
  const answer = () => {
    for (const each of answers.splice(0)) each()
  }
  return { sent, send, until, answer }
}

describe('I7 a stop is asked for while a scope is open', () => {
  test.each(['pause', 'cancel'] as const)(
    'D4 %s: calls are refused, what is in flight is recorded, then it is given back',
    async (what) => {
      const cf = await opens()
      const { send, sent, until, answer } = slow()
      const run = cf.run(ids.workflowId)
      const scope = await cf.scope(ids)
      const call = scope.call(send, 'x')
      await until(1)
      await run[what]({ by: 'ana', reason: 'wrong customer' })
      const code = what === 'pause' ? 'RUN_PAUSED' : 'RUN_ENDED'
      for (let i = 0; ; i++) {
        const late = await Promise.race([ended(scope.call(send, `late ${i}`)), sleep(20)])
        if (late) {
          expect(late).toMatchObject({ code })
          break
        }
        // Not noticed yet: what was issued till then is under way as well.
        expect(i).toBeLessThan(1_000)
      }
      // The transition waits for what is in flight.
      expect(await run.status()).toMatchObject({
        state: 'running',
        stopping: what === 'pause' ? 'paused' : 'cancelled',
      })
      const before = sent.length
      answer()
      expect(await ended(call)).toMatchObject({ code })
      const state = what === 'pause' ? 'paused' : 'cancelled'
      const status = await run.until(state)
      expect(status.waitingFor).toEqual(
        what === 'pause' ? expect.objectContaining({ kind: 'operator' }) : null,
      )
      expect((await cf.store.getRun(ref))?.workerId).toBeNull()
      const { items } = await cf.store.listRecords(ref, {})
      expect(items.map((row) => row.status)).toEqual(items.map(() => 'committed'))
      expect(await ended(cf.scope(ids))).toMatchObject({ code })
      await scope.close()
      expect((await run.status()).state).toBe(state)
      expect(sent).toHaveLength(before)
      const events = (await cf.store.listEvents(ref, { countMax: 500 })).items
      expect(events.at(-1)?.data).toMatchObject({
        to: state,
        cause: expect.stringContaining('ana'),
      })
    },
  )

  test('D4 resumed, the scope is opened again and replays what was recorded', async () => {
    const cf = await opens()
    const { send, sent, until, answer } = slow()
    const run = cf.run(ids.workflowId)
    const scope = await cf.scope(ids)
    const call = scope.call(send, 'x')
    await until(1)
    await run.pause()
    answer()
    await run.until('paused')
    await ended(call)
    await run.resume()
    await scope.close()
    const again = await cf.scope(ids)
    expect(await again.call(send, 'x')).toBe('sent x')
    expect(sent).toEqual(['x'])
    await again.close()
  })

  test('I10 a wish that comes with the closing of the last scope is not lost', async () => {
    for (const [what, state] of [['pause', 'paused'] as const, ['cancel', 'cancelled'] as const]) {
      const cf = await opens()
      const scope = await cf.scope(ids)
      await cf.run(ids.workflowId)[what]()
      await scope.close()
      expect((await cf.run(ids.workflowId).status()).state).toBe(state)
    }
  })

  test('I10 a cancellation after a pause, before the hold is given back, counts', async () => {
    const cf = await opens()
    const { send, until, answer } = slow()
    const run = cf.run(ids.workflowId)
    const scope = await cf.scope(ids)
    const call = scope.call(send, 'x')
    await until(1)
    await run.pause()
    while ((await Promise.race([ended(scope.call(send, 'y')), sleep(20)])) === undefined) {
      // until the pause is noticed
    }
    await run.cancel()
    answer()
    await ended(call)
    expect((await run.until('cancelled')).state).toBe('cancelled')
  })

  test('I10 a pause that was withdrawn leaves the workflow to its host', async () => {
    const cf = await opens()
    const run = cf.run(ids.workflowId)
    const scope = await cf.scope(ids)
    await run.pause()
    await run.resume()
    await scope.close()
    expect(await run.status()).toMatchObject({
      state: 'waiting_tool',
      waitingFor: { kind: 'host' },
    })
  })

  test('E2 cancelled with a doubt open: nothing is left in the inbox', async () => {
    const cf = await opens()
    const { send, until, answer } = slow()
    const scopes = [await cf.scope(ids), await cf.scope({ ...ids, checkpointId: 'c2' })]
    const calls = scopes.map((scope) => scope.call(send, `broken ${scope.checkpointId}`))
    await until(2)
    answer()
    expect(await Promise.all(calls.map(ended))).toMatchObject([
      { code: 'REPLAY_UNSAFE' },
      { code: 'REPLAY_UNSAFE' },
    ])
    expect((await cf.inbox.list()).items).toHaveLength(2)
    await cf.run(ids.workflowId).cancel()
    await cf.run(ids.workflowId).until('cancelled')
    expect((await cf.inbox.list()).items).toEqual([])
    await Promise.all(scopes.map((scope) => scope.close()))
  })

  test('E2 paused with a doubt open: it can be decided, and counts after the resume', async () => {
    const cf = await opens()
    const { send, sent, until, answer } = slow()
    const run = cf.run(ids.workflowId)
    const scope = await cf.scope(ids)
    const call = scope.call(send, 'broken')
    await until(1)
    await run.pause()
    answer()
    await ended(call)
    await run.until('paused')
    const [item] = (await cf.inbox.list()).items
    const said = { outcome: 'happened', result: 'seen', by: 'ana', reason: 'looked' } as const
    await cf.inbox.decide(item?.itemId ?? '', { ...said, version: item?.version ?? 0 })
    expect((await run.status()).state).toBe('paused')
    await run.resume()
    await scope.close()
    const again = await cf.scope(ids)
    expect(await again.call(send, 'broken')).toBe('seen')
    expect(sent).toHaveLength(1)
  })

  test('I7 a scope that is opened while the workflow stops is refused', async () => {
    const cf = await opens()
    const { send, until, answer } = slow()
    const scope = await cf.scope(ids)
    const call = scope.call(send, 'x')
    await until(1)
    await cf.run(ids.workflowId).pause()
    for (let i = 0; ; i++) {
      const other = await ended(cf.scope({ ...ids, checkpointId: `other ${i}` }))
      if (other instanceof Error) {
        expect(other).toMatchObject({ code: 'RUN_PAUSED' })
        break
      }
      expect(i).toBeLessThan(1_000)
      await sleep(20)
    }
    answer()
    await ended(call)
    await cf.run(ids.workflowId).until('paused')
  })
})

/** This process's scopes on a clock of their own: leases end when the test says so. */
function process(clock = manualClock(), store = openMemory({ clock })) {
  const onError = () => {}
  const committer = new Committer(store, clock, { pureFlushMs: 1, onError })
  const engine = {
    ...{ store, clock, committer, graphs: new Map(), policy: null, settleMs: 30 },
    ...{ namespace: 'default', limits: new RateLimits(clock) },
  }
  const scopes = new Scopes(engine, onError)
  opened.push({ close: () => scopes.end() })
  const call = async (send: Tool<string, string>, text: string) => {
    const scope = await scopes.open(ids)
    try {
      return await scope.visit.call(send as Tool, text, {})
    } finally {
      await scope.close()
    }
  }
  return { clock, store, scopes, call }
}

const turns = async (count = 20) => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

describe('D2 a lease that is lost', () => {
  test('nothing is sent past it, and the scope is lost; opened again, it goes on', async () => {
    const { clock, store, scopes, call } = process()
    const { send, sent, until, answer } = slow()
    const { renew } = store
    const scope = await scopes.open(ids)
    store.renew = async () => {
      throw new Error('the store cannot be reached')
    }
    clock.advance(16_000)
    const error = await ended(scope.visit.call(send as Tool, 'x', {}))
    expect(error).toMatchObject({ code: 'SCOPE_LOST', retryable: true })
    expect(sent).toEqual([])
    store.renew = renew
    await turns()
    clock.advance(6_000)
    await turns()
    // Nobody has taken the run, and the lease is renewed: it is this process's to give back.
    const next = call(send, 'x')
    await until(1)
    answer()
    expect(await next).toBe('sent x')
    await scope.close()
    expect(await store.getRun(ref)).toMatchObject({ state: 'waiting_tool', workerId: null })
    expect(sent).toEqual(['x'])
  })

  test('its worker is declared dead: SCOPE_LOST, and the next scope has a new worker', async () => {
    const { clock, store, scopes, call } = process()
    const { send, sent, until, answer } = slow()
    const scope = await scopes.open(ids)
    const [worker] = await store.workers()
    await store.declareDead(worker?.workerId ?? '', 'an operator said so')
    clock.advance(5_001)
    await turns()
    expect(await ended(scope.visit.call(send as Tool, 'x', {}))).toMatchObject({
      code: 'SCOPE_LOST',
    })
    expect(sent).toEqual([])
    const next = call(send, 'x')
    await until(1)
    answer()
    expect(await next).toBe('sent x')
    expect(await store.workers()).toHaveLength(2)
    await scope.close()
  })

  test('declared dead between two scopes, not noticed yet: a new worker takes over', async () => {
    const { store, call } = process()
    const { send, sent, until, answer } = slow()
    for (const text of ['x', 'x']) {
      const called = call(send, text)
      await until(1)
      answer()
      expect(await called).toBe('sent x')
      for (const worker of await store.workers()) {
        await store.declareDead(worker.workerId, 'an operator said so')
      }
    }
    expect(sent).toEqual(['x'])
  })

  test('I2 taken over while a call is in flight: its end is evidence, no more', async () => {
    const first = process()
    const second = process(first.clock, first.store)
    const { send, sent, until, answer } = slow()
    const scope = await first.scopes.open(ids)
    const call = scope.visit.call(send as Tool, 'x', {})
    await until(1)
    const [worker] = await first.store.workers()
    await first.store.declareDead(worker?.workerId ?? '', 'an operator said so')
    const doubt = await ended(second.call(send, 'x'))
    expect(doubt).toMatchObject({ code: 'REPLAY_UNSAFE' })
    answer()
    // The host may be told what is true; that the hold is gone shows with the first write.
    expect(await call).toBe('sent x')
    await turns()
    expect(await ended(scope.visit.call(send as Tool, 'y', {}))).toMatchObject({
      code: 'SCOPE_LOST',
    })
    const item = await first.store.getItem('default', (doubt as ReplayUnsafeError).itemId ?? '')
    expect(item).toMatchObject({ state: 'closed', closedBy: 'late evidence: landed' })
    expect(await second.call(send, 'x')).toBe('sent x')
    expect(sent).toEqual(['x'])
    await scope.close()
    expect(await first.store.getRun(ref)).toMatchObject({ state: 'waiting_tool', fence: 3 })
  })

  test('D4 a stop that was asked of a holder who died is obeyed by the next opener', async () => {
    const first = process()
    const { send, sent } = slow()
    await first.scopes.open(ids)
    const stop = { to: 'paused', by: 'ana', why: 'wrong', at: 1 } as const
    await first.store.amend(ref, 'client', () => ({
      changes: { run: { stop, arrive: true } },
      value: null,
    }))
    const [worker] = await first.store.workers()
    await first.store.declareDead(worker?.workerId ?? '', 'an operator said so')
    const second = process(first.clock, first.store)
    expect(await ended(second.call(send, 'x'))).toMatchObject({ code: 'RUN_PAUSED' })
    expect(await first.store.getRun(ref)).toMatchObject({ state: 'paused', workerId: null })
    expect(sent).toEqual([])
  })
})
