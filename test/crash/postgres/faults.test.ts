// A small share of every fault of the fleet on a real server; `npm run chaos` is all of it.
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describePostgres } from '../../postgres/bench.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { seed } from '../../size.ts'
import * as programmes from '../faults.ts'
import type { Reckoning } from '../fleet.ts'
import { holeAround, holeInside } from '../holes.ts'

const chaos = process.env['COUNTERFOIL_CHAOS']
let server: PostgresServer

function judge(reckoning: Reckoning): void {
  console.log(`${reckoning.fault}: ${JSON.stringify(reckoning)}`)
  expect(reckoning.wrong).toEqual([])
  expect(reckoning.duplicates + reckoning.lost).toBe(0)
  expect(reckoning.ended).toBe(reckoning.runs)
}

describePostgres('faults of a fleet', () => {
  beforeAll(async () => {
    server = await startPostgres()
  }, 300_000)
  afterAll(() => server.stop())

  test('C2, D2, J3 workers are killed at random', async () => {
    judge(await programmes.kills(server, { seed, times: 8 }))
  }, 300_000)

  test('J1, C2, D2 every life of the workers ends at a failpoint', async () => {
    judge(await programmes.failpoints(server, { seed, times: 12 }))
  }, 300_000)

  test('J3, I4 the server is killed in the middle of commits, and comes back', async () => {
    judge(await programmes.serverKills(null, { seed, times: 3 }))
  }, 300_000)

  test('J3, I4 lines are cut at random commits, on either side', async () => {
    judge(await programmes.cuts(server, { seed, times: 12 }))
  }, 300_000)

  test('D2, I2, J3 a worker stands still past its lease, and goes on', async () => {
    judge(await programmes.stops(server, { seed, times: 2 }))
  }, 300_000)

  test('D5, J3 the wall clock of one worker is off by an hour, ahead and behind', async () => {
    judge(await programmes.clocks(server, { seed, times: 2 }))
  }, 300_000)

  test('D2, J3 a worker in a black hole is taken over; back again, it only reports', async () => {
    judge(await holeAround(server, 1))
  }, 300_000)

  test('I6, J3 cut off inside a transaction: its run waits a bound, others do not', async () => {
    judge(await holeInside(server))
  }, 300_000)

  if (chaos) test('J3 every fault at size', () => atSize(JSON.parse(chaos)), 24 * 3_600_000)
})

interface Size {
  store: 'postgres' | 'sqlite'
  seconds: number
  times: number
  seed: number
  only: string
  report: string
}

/** Rounds of every fault, with new seeds, until the time is over. */
async function atSize({ store, seconds, times, seed: first, only, report }: Size): Promise<void> {
  const until = Date.now() + seconds * 1_000
  const where = store === 'postgres' ? server : null
  const rows: Reckoning[] = []
  const chosen = Object.entries(programmes.programmes).filter(
    ([name, { file }]) => (where !== null || file) && (only === '' || only === name),
  )
  expect(chosen.map(([name]) => name)).not.toEqual([])
  for (let round = 0; round === 0 || Date.now() < until; round++) {
    for (const [name, { run, share }] of chosen) {
      const amount = { seed: first + round, times: Math.max(1, Math.round(times * share)) }
      const row = await run(where, amount)
      rows.push({ ...row, fault: name, evidence: `seed ${amount.seed}: ${row.evidence}` })
      writeFileSync(report, JSON.stringify(rows))
    }
  }
  expect(rows.flatMap(({ wrong }) => wrong)).toEqual([])
}
