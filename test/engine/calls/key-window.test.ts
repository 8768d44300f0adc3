// A keyed call is sent again only while its upstream is sure to know the key until it has ended,
// whatever the machine's clock is set to (G6).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keyExpiry, keyWindow } from '../../../src/model/replay/key-window.ts'
import { openSqlite } from '../../../src/store/sqlite/index.ts'
import type { Commit, CommitResult } from '../../../src/store/store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { fake, flow, Lab } from '../../lab.ts'

const HOUR = 3_600_000
const rules = { keyTtlMs: 10_000, keyMarginMs: 2_000 }

test('G6 the window ends a margin before the key is forgotten, by whichever clock is ahead', () => {
  const use = { expiresAt: keyExpiry(10_000, { now: 5_000, steady: 1_000 }), sentAt: 5_000 }
  const at = (wallMs: number, steadyMs: number) =>
    keyWindow(use, rules, { now: 5_000 + wallMs, steady: 1_000 + steadyMs })
  expect([at(0, 0), at(7_999, 7_999)]).toEqual(['open', 'open'])
  expect([at(8_000, 8_000), at(20_000, 20_000)]).toEqual(['closed', 'closed'])
  // An hour back; an hour's sleep, in which the steady clock stands still.
  expect([at(-HOUR, 7_999), at(-HOUR, 8_000)]).toEqual(['open', 'closed'])
  expect(at(HOUR, 10)).toBe('closed')
})

test('G6 a key that is never forgotten has no window', () => {
  const forever = { keyTtlMs: Number.POSITIVE_INFINITY, keyMarginMs: 2_000 }
  const expiresAt = keyExpiry(forever.keyTtlMs, { now: 1, steady: 1 })
  const late = { now: 1e15, steady: 1e15 }
  expect(keyWindow({ expiresAt, sentAt: 1 }, forever, late)).toBe('open')
})

function charging(lab: Lab, ms = 50) {
  const charge = fake(lab, 'charge', 'idempotent_with_key', {
    ...{ ms, timeoutMs: 2_000, keyTtlMs: 10_000 },
    rateLimit: { class: 'psp', count: 1, perMs: 1 },
  })
  const graph = flow([charge.tool], async (ctx) => (await ctx.call(charge.tool, 1)).id)
  return { charge, graph }
}

test('G6 the clock set back an hour does not open the window again', async () => {
  const lab = new Lab()
  const { charge, graph } = charging(lab)
  await lab.process(graph, null, { killWhen: () => charge.sent.length === 1 })
  await lab.pass(12_000)
  const { clock } = lab
  clock.now = () => clock.mono() - HOUR
  expect((await lab.preview(graph)).calls).toMatchObject([{ action: 'park' }])
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.item()).reason).toBe('unknown')
  expect(charge.sent).toHaveLength(1)
})

test('G6 a send that would be under way when the window closes is not made', async () => {
  for (const [waitMs, sends] of [
    [6_900, 2],
    [7_100, 1],
  ] as const) {
    const lab = new Lab()
    const { charge, graph } = charging(lab)
    await lab.process(graph, null, { killWhen: () => charge.sent.length === 1 })
    await lab.pass(waitMs) // and a second for the death
    const [call] = (await lab.preview(graph)).calls
    expect(call?.action).toBe(sends === 2 ? 'rerun' : 'park')
    expect(await lab.process(graph, null)).toBe(sends === 2 ? 'ended' : 'parked')
    expect(charge.sent).toHaveLength(sends)
  }
})

test('G6 an intent that took too long to write is not sent, and a person is asked', async () => {
  const lab = new Lab()
  const { charge, graph } = charging(lab)
  await lab.process(graph, null, { killWhen: () => charge.sent.length === 1 })
  const slow = async (batch: readonly Commit[], apply: () => Promise<CommitResult[]>) => {
    if (batch.some(({ changes }) => changes.attempts?.some((row) => row.attempt === 2))) {
      await new Promise<void>((resolve) => lab.clock.after(9_000, resolve))
    }
    return apply()
  }
  expect(await lab.process(graph, null, { commit: slow })).toBe('parked')
  expect(charge.sent).toHaveLength(1)
  expect(await lab.attempts()).toMatchObject([{ attempt: 1 }, { attempt: 2, outcome: 'not_sent' }])
  expect((await lab.item()).reason).toBe('unknown')
  expect(await lab.findings()).toEqual([])
})

test('G6 SQLite: one steady clock for all processes, whatever the clock is set to', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'counterfoil-'))
  const real = manualClock()
  let setMs = 0
  const clock = { ...real, now: () => real.now() + setMs }
  const opened = () => openSqlite({ path: join(dir, 'runs.db'), clock })
  try {
    const first = await opened()
    const began = first.steadyNow()
    expect(began).toBe(real.now())
    setMs = -HOUR
    real.advance(5_000)
    const second = await opened()
    expect([first.steadyNow(), second.steadyNow()]).toEqual([began + 5_000, began + 5_000])
    await first.close()
    await second.close()
    setMs = HOUR
    real.advance(5_000)
    const third = await opened()
    expect(third.steadyNow()).toBe(began + 10_000)
    await third.close()
  } finally {
    rmSync(dir, { recursive: true })
  }
})
