// The sweeper on the memory store, on a clock that moves when it is told to.
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import * as limits from '../../src/model/limits.ts'
import { openMemory } from '../../src/store/memory/index.ts'
import type { Store } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { item, newRun, ref } from '../../src/testing/store/fixtures.ts'
import { Sweeper, type SweeperOptions } from '../../src/worker/sweeper.ts'

function site(more: Partial<SweeperOptions> = {}) {
  const clock = manualClock()
  const store = openMemory({ clock })
  const errors: unknown[] = []
  const sweeper = (over: Partial<Store> = {}) =>
    new Sweeper({
      ...{ store: { ...store, ...over }, clock, retention: null, onWoken: () => {} },
      onError: (error) => errors.push(error),
      ...more,
    })
  /** So far, in steps, with all that happens in each. */
  const advance = async (ms: number, stepMs = 5) => {
    for (let at = 0; at < ms; at += stepMs) {
      clock.advance(stepMs)
      await turn()
    }
  }
  /** A run that sleeps for so long from now. */
  const asleep = (runId: string, ms: number) =>
    store.start(newRun(runId, { state: 'waiting_tool', wakeAt: clock.now() + ms }))
  const state = async (runId: string) => (await store.getRun(ref(runId)))?.state
  return { clock, store, sweeper, advance, asleep, state, errors }
}

test('D6 a run is woken at the moment it is due, not at the next look', async () => {
  const { clock, store, sweeper, advance, asleep } = site()
  await asleep('r1', 2_345)
  const one = sweeper()
  one.start()
  const began = clock.now()
  while ((await store.getRun(ref('r1')))?.state === 'waiting_tool') await advance(5)
  expect(clock.now() - began).toBeGreaterThanOrEqual(2_345)
  expect(one.stats).toMatchObject({ woken: 1, failures: 0 })
  expect(one.stats.wakeLagMs).toBeLessThan(15)
  await one.stop()
})

test('D6 a run parked for less than a look is woken in time, after a nudge', async () => {
  const { sweeper, advance, asleep, state } = site()
  const one = sweeper()
  one.start()
  await advance(50)
  await asleep('r1', limits.parkMsMin)
  one.nudge()
  await advance(limits.parkMsMin + 10)
  expect(await state('r1')).toBe('pending')
  expect(one.stats.wakeLagMaxMs).toBeLessThan(15)
  await one.stop()
})

test('D6 more runs than one pass takes are woken pass after pass, each bounded', async () => {
  const { store, sweeper, advance, asleep } = site()
  const count = limits.wakeBatchMax * 2 + 1
  for (let n = 0; n < count; n++) await asleep(`r${n}`, 0)
  const asked: number[] = []
  const one = sweeper({
    wakeDue: (countMax) => {
      asked.push(countMax)
      return store.wakeDue(countMax)
    },
  })
  one.start()
  await advance(50)
  expect(one.stats.woken).toBe(count)
  expect(asked.slice(0, 3)).toEqual([1, 2, 3].map(() => limits.wakeBatchMax))
  await one.stop()
})

test('D6 what is due and cannot be woken is not asked for without pause', async () => {
  const { clock, sweeper, advance } = site()
  let asked = 0
  const one = sweeper({
    wakeDue: async () => {
      asked++
      return { woken: 0, lagMs: 0, nextAt: clock.now() - 10 }
    },
  })
  one.start()
  await advance(1_000)
  expect(asked).toBeGreaterThan(2)
  expect(asked).toBeLessThan(30)
  await one.stop()
})

test('E9 D6 an SLA that has passed is noted once, by the first of three sweepers', async () => {
  const { clock, store, sweeper, advance } = site()
  await store.start(newRun('r1', { state: 'waiting_human' }))
  const dueAt = clock.now() + 3_000
  const changes = { items: [item('i1', { dueAt, queue: 'sales' }), item('i2')] }
  await store.amend(ref(), 'client', () => ({ changes, value: null }))
  const all = [sweeper(), sweeper(), sweeper()]
  for (const one of all) one.start()
  await advance(2_900)
  const passed = async () =>
    (await store.listEvents(ref(), {})).items.filter((event) => event.kind === 'sla_passed')
  expect(await passed()).toEqual([])
  await advance(1_200)
  expect(await passed()).toMatchObject([{ data: { item: 'i1', queue: 'sales', due_at: dueAt } }])
  expect(all.reduce((sum, one) => sum + one.stats.overdue, 0)).toBe(1)
  const noted = await store.getItem('default', 'i1')
  // The version is what somebody looked at, and that is as it was.
  expect(noted).toMatchObject({ state: 'open', version: 1 })
  expect(noted?.overdueAt).toBeGreaterThanOrEqual(dueAt)
  expect((await store.getItem('default', 'i2'))?.overdueAt).toBeNull()
  await Promise.all(all.map((one) => one.stop()))
})

test('D6 an item that was decided between the look and the note is left alone', async () => {
  const { clock, store, sweeper, advance } = site()
  await store.start(newRun('r1', { state: 'waiting_human' }))
  const seen = item('i1', { dueAt: clock.now() - 1 })
  const put = (changes: object) => store.amend(ref(), 'client', () => ({ changes, value: null }))
  await put({ items: [seen] })
  await put({ items: [{ ...seen, state: 'closed', closedAt: clock.now(), version: 2 }] })
  const one = sweeper({ listOverdue: async () => [seen] })
  one.start()
  await advance(1_500)
  expect(one.stats).toMatchObject({ overdue: 0, failures: 0 })
  expect((await store.getItem('default', 'i1'))?.overdueAt).toBeNull()
  await one.stop()
})

test('D6 one part that fails stops no other, and is tried again', async () => {
  const { store, sweeper, advance, asleep, state, errors } = site()
  let broken = true
  const one = sweeper({
    wakeDue: (countMax) => {
      if (broken) throw new Error('the wake-up is broken')
      return store.wakeDue(countMax)
    },
    listOverdue: () => Promise.reject(new Error('the list is broken')),
  })
  await asleep('r1', 100)
  one.start()
  await advance(1_500)
  expect(errors.map(String)).toContain('Error: the wake-up is broken')
  expect(errors.map(String)).toContain('Error: the list is broken')
  broken = false
  await advance(2_000)
  expect(await state('r1')).toBe('pending')
  expect(one.stats.failures).toBeGreaterThanOrEqual(2)
  await one.stop()
})

test('B6 retention goes on while passes are full, then rests; off, it never runs', async () => {
  const keep = limits.retention
  const { store, sweeper, advance } = site({ retention: keep })
  const left = [limits.retainBatchMax, limits.retainBatchMax, 3]
  const asked: number[] = []
  const retain: Store['retain'] = async (given, countMax) => {
    expect(given).toEqual(keep)
    asked.push(countMax)
    return left.shift() ?? 0
  }
  const one = sweeper({ retain })
  one.start()
  await advance(62_000, 100)
  expect(asked).toEqual([1, 2, 3].map(() => limits.retainBatchMax))
  expect(one.stats.swept).toBe(2 * limits.retainBatchMax + 3)
  await advance(limits.retainEveryMs, 1_000)
  expect(asked.length).toBeGreaterThanOrEqual(4)
  expect(asked.length).toBeLessThanOrEqual(5)
  await one.stop()
  const none = site({ retention: null })
  const other = none.sweeper({ retain: () => Promise.reject(new Error('never')) })
  other.start()
  await none.advance(limits.retainEveryMs, 10_000)
  expect(other.stats.failures).toBe(0)
  await other.stop()
  await store.close()
})

test('D6 after stop nothing is under way and nothing begins', async () => {
  const { store, sweeper, advance } = site()
  let under = 0
  let passes = 0
  const one = sweeper({
    wakeDue: async (countMax) => {
      passes++
      under++
      await turn()
      under--
      return store.wakeDue(countMax)
    },
  })
  one.start()
  await advance(5)
  one.nudge()
  await one.stop()
  expect(under).toBe(0)
  const before = passes
  await advance(5_000, 50)
  one.nudge()
  await advance(1_000, 50)
  expect(passes).toBe(before)
})
