// The controls of the fault tests must fail, or the tests prove nothing.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describePostgres } from '../../postgres/bench.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { kills } from '../faults.ts'
import * as controls from './controls.ts'

let server: PostgresServer

describePostgres('controls', () => {
  beforeAll(async () => {
    server = await startPostgres()
  }, 300_000)
  afterAll(() => server.stop())

  test('J3 the control: who records after acting acts twice when the line is cut', async () => {
    // Each one that was cut before; those that were cut after are on record.
    expect(await controls.naiveCut(server)).toEqual({ injected: 6, twice: 3, after: 0 })
  }, 300_000)

  test('J3 the control: the same when the server dies between act and record', async () => {
    expect(await controls.naiveServerKill()).toEqual({ injected: 1, twice: 1 })
  }, 300_000)

  test('J3 the control: a lease by one’s own clock is taken away by a clock ahead', async () => {
    const { injected, twice } = await controls.naiveLease(server)
    expect(injected).toBe(1)
    expect(twice).toBeGreaterThan(0)
    // And not by one that is right: it is the clock that does it.
    expect((await controls.naiveLease(server, 0)).twice).toBe(0)
  }, 300_000)

  test('J3 the control: unsafe tools declared keyed repeat their effects when killed', async () => {
    const amount = { seed: 1, times: 8, modes: ['lying'], delayMs: 800 }
    const { duplicates, injected } = await kills(server, amount)
    expect(injected).toBeGreaterThan(2)
    expect(duplicates).toBeGreaterThan(0)
  }, 300_000)

  test('J3 the control: the same when a worker stands still past its lease', async () => {
    expect((await controls.lyingStopped(server)).twice).toBeGreaterThan(0)
  }, 300_000)

  test('J3 the control: the same when a worker is in a black hole', async () => {
    expect((await controls.lyingInHole(server)).twice).toBeGreaterThan(0)
  }, 300_000)
})
