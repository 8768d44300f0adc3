// Until when a lease is good, and for what.
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { LeaseMemory } from '../../src/worker/lease-memory.ts'
import { Renewing, type Told } from '../../src/worker/renewing.ts'

const leaseMs = 3_000

function leased() {
  const clock = manualClock()
  const lease = new LeaseMemory()
  lease.begin(clock.mono() + leaseMs)
  lease.turn(clock.mono())
  return { clock, lease, hold: () => lease.hold(() => clock.mono()) }
}

test('D2 a hold ends with the lease, by the monotonic clock alone', () => {
  const { clock, hold } = leased()
  const held = hold()
  clock.advance(leaseMs - 1)
  expect(held.holds()).toBe(true)
  clock.advance(1)
  expect(held.holds()).toBe(false)
})

test('D2 a renewal that was answered in time keeps what is held', () => {
  const { clock, lease, hold } = leased()
  const held = hold()
  clock.advance(leaseMs / 2)
  const sent = clock.mono()
  clock.advance(leaseMs / 2 - 1)
  lease.renewed(sent + leaseMs, clock.mono())
  clock.advance(leaseMs / 2)
  expect(held.holds()).toBe(true)
})

test('D2 a renewal answered after the end: what was claimed before is held no more', () => {
  const { clock, lease, hold } = leased()
  const before = hold()
  clock.advance(leaseMs - 1)
  const sent = clock.mono()
  // The process stood still: somebody may have taken the runs before the renewal came.
  clock.advance(10)
  lease.renewed(sent + leaseMs, clock.mono())
  expect(before.holds()).toBe(false)
  const after = hold()
  expect(after.holds()).toBe(true)
  expect(before.holds()).toBe(false)
})

test('D2 a refusal seen by one thread is seen by the other at once, and is final', () => {
  const { clock, lease, hold } = leased()
  const held = hold()
  const other = new LeaseMemory(lease.memory)
  other.lose()
  expect(held.holds()).toBe(false)
  lease.renewed(clock.mono() + leaseMs, clock.mono())
  expect(hold().holds()).toBe(false)
  expect(lease.leftMs(clock.mono())).toBe(0)
})

/** A renewing thread's work on a manual clock, against a renewer that does as told. */
function renewing(answers: (() => Promise<boolean>)[], blockedMsMax = 60_000) {
  const { clock, lease, hold } = leased()
  const seen = { opened: 0, closed: 0, asked: [] as number[] }
  const told: Told[] = []
  const began = clock.mono()
  const work = new Renewing({
    ...{ clock, lease, workerId: 'w', leaseMs, blockedMsMax },
    open: async () => {
      seen.opened++
      return {
        renew: () => {
          seen.asked.push(clock.mono() - began)
          return (answers.shift() ?? (async () => true))()
        },
        close: async () => {
          seen.closed++
        },
      }
    },
    tell: (what) => told.push(what),
  })
  const advance = async (ms: number) => {
    for (let step = 0; step < ms; step += 50) {
      clock.advance(50)
      await turn()
    }
  }
  return { clock, lease, hold, seen, told, work, advance }
}

test('D2 the thread renews three times within a lease', async () => {
  const { work, advance, seen, hold } = renewing([])
  const held = hold()
  work.start()
  await advance(leaseMs * 3)
  expect(seen.asked).toHaveLength(10)
  expect(held.holds()).toBe(true)
  await work.stop()
  await advance(leaseMs)
  expect(seen).toMatchObject({ opened: 1, closed: 1 })
  expect(seen.asked).toHaveLength(10)
})

test('D2 the thread first renews a third into the lease that it was given', async () => {
  const { work, advance, seen, hold } = renewing([])
  const held = hold()
  await advance(100)
  work.begin()
  await advance(leaseMs / 3 - 150)
  expect(seen).toMatchObject({ opened: 0, asked: [] })
  await advance(100)
  expect(seen.asked).toHaveLength(1)
  await advance(leaseMs * 2)
  expect(seen.asked).toHaveLength(7)
  expect(held.holds()).toBe(true)
  await work.stop()
})

test('D2 the thread renews at once if the lease it was given is nearly over', async () => {
  const { work, advance, seen, hold } = renewing([])
  const held = hold()
  await advance(leaseMs / 2)
  work.begin()
  await advance(50)
  expect(seen.asked).toHaveLength(1)
  expect(held.holds()).toBe(true)
  await work.stop()
})

test('D2 an error is told and tried again on a new connection, before the lease ends', async () => {
  const fails = () => Promise.reject(new Error('connection reset'))
  const { work, advance, seen, told, hold } = renewing([fails, fails])
  const held = hold()
  work.start()
  await advance(leaseMs * 2)
  expect(held.holds()).toBe(true)
  expect(seen).toMatchObject({ opened: 3, closed: 2 })
  expect(told).toEqual([1, 2].map(() => ({ kind: 'error', message: expect.any(String) })))
  expect(told[0]).toMatchObject({ message: expect.stringContaining('connection reset') })
  await work.stop()
})

test('D2 a connection that swallows a renewal is given up in time', async () => {
  const { work, advance, seen, hold } = renewing([() => new Promise(() => {})])
  const held = hold()
  work.start()
  await advance(leaseMs * 2)
  expect(seen.opened).toBe(2)
  expect(held.holds()).toBe(true)
  await work.stop()
})

test('I9 a refusal is seen at once, told once, and the store is not asked again', async () => {
  const { work, advance, seen, told, hold } = renewing([async () => false])
  const held = hold()
  work.start()
  await turn()
  expect(held.holds()).toBe(false)
  expect(told).toEqual([{ kind: 'refused' }])
  await advance(leaseMs)
  expect(seen.asked).toHaveLength(1)
  await work.stop()
  expect(seen.closed).toBe(1)
})

test('D2 blocked beyond its bound nothing is renewed until the main thread turns', async () => {
  const { work, advance, seen, told, lease, clock, hold } = renewing([], 2 * leaseMs)
  const held = hold()
  work.start()
  await advance(2 * leaseMs)
  const asked = seen.asked.length
  expect(held.holds()).toBe(true)
  await advance(2 * leaseMs)
  expect(held.holds()).toBe(false)
  expect(seen.asked.length - asked).toBeLessThanOrEqual(1)
  expect(told).toEqual([{ kind: 'error', message: expect.stringContaining('blocked for more') }])
  lease.turn(clock.mono())
  await advance(leaseMs)
  expect(hold().holds()).toBe(true)
  // What it held may be somebody else's since.
  expect(held.holds()).toBe(false)
  await work.stop()
})

test('C2 at rest nothing is renewed', async () => {
  const { work, advance, seen, lease } = renewing([])
  lease.resting = true
  work.start()
  await advance(leaseMs)
  expect(seen.opened).toBe(0)
  lease.resting = false
  await advance(leaseMs)
  expect(seen.asked.length).toBeGreaterThan(0)
  await work.stop()
})
