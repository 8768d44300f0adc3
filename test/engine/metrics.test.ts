// What the figures say of runs whose story is known: each definition of docs/guides/server.md.
import { expect, test } from 'vitest'
import type { RiskPolicy } from '../../src/model/tool/risk.ts'
import { readFigures } from '../../src/server/health/figures.ts'
import { fake, flow, Lab } from '../lab.ts'

const figures = ({ store }: Lab) =>
  readFigures({ store } as never, { namespace: 'default', wide: true })

const ask: RiskPolicy = () => ({ ask: true })

test('V2 the time of an approver is no unsafe window, and their wait no resume', async () => {
  const lab = new Lab()
  const pay = fake(lab, 'pay', 'unsafe_on_replay', { ms: 40 })
  const graph = flow([pay.tool], async (ctx) => (await ctx.call(pay.tool, 1)).id)
  expect(await lab.process(graph, null, { policy: ask })).toBe('parked')
  await lab.pass(3_000)
  await lab.decide({ outcome: 'approve' })
  expect(await lab.process(graph, null, { policy: ask })).toBe('ended')
  const seen = await figures(lab)
  expect(seen.unsafe_window).toMatchObject({ count: 1, sum_ms: 40, p95_ms: 40 })
  expect(seen.waits['approval']?.p50_ms).toBeGreaterThanOrEqual(3_000)
  expect(Object.values(seen.resumes)).toEqual([0, 0, 0, 0, 0, 0])
  expect([seen.ended['completed'], seen.ended_resumed['completed']]).toEqual([1, 0])
  expect(seen.resume_success_rate).toBeNull()
})

test('V2 retries of a failing pure tool are retries, and no duplicates', async () => {
  const lab = new Lab()
  const does = (n: number) => {
    if (n < 3) throw new Error('busy')
  }
  const look = fake(lab, 'look', 'pure', { does, retry: { attemptMax: 5 } })
  const graph = flow([look.tool], async (ctx) => (await ctx.call(look.tool, 1)).id)
  expect(await lab.process(graph, null)).toBe('ended')
  const seen = await figures(lab)
  expect(seen).toMatchObject({ duplicate_effects: 0, pure_retries: 2, keyed_resends: 0 })
  expect(seen.attempts).toEqual([{ replay_class: 'pure', count: 3 }])
})

test('V2 a re-send with the recorded key after a death is a re-send and a resume', async () => {
  const lab = new Lab()
  const pay = fake(lab, 'pay', 'idempotent_with_key', { ms: 50 })
  const graph = flow([pay.tool], async (ctx) => (await ctx.call(pay.tool, 1)).id)
  const killWhen = () => pay.sent.length === 1
  expect(await lab.process(graph, null, { killWhen })).toBe('crash')
  expect(await lab.process(graph, null)).toBe('ended')
  const seen = await figures(lab)
  expect(seen).toMatchObject({ duplicate_effects: 0, keyed_resends: 1, resume_success_rate: 1 })
  expect(seen.resumes['dead']).toBe(1)
  expect(seen.ended_resumed['completed']).toBe(1)
})

test.each([10, 8_000])(
  'V2 an effect is a duplicate once both attempts are known to have landed (second: %i ms)',
  async (secondMs) => {
    const lab = new Lab()
    const ms = (n: number) => (n === 1 ? 5_000 : secondMs)
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms })
    const graph = flow([mail.tool], async (ctx) => (await ctx.call(mail.tool, 1)).id)
    const leaveWhen = () => mail.sent.length === 1
    expect(await lab.process(graph, null, { leaveWhen })).toBe('left')
    expect(await lab.process(graph, null, { notDead: true })).toBe('parked')
    // A person was wrong: it was under way.
    await lab.decide({ outcome: 'did_not_happen' })
    expect((await figures(lab)).duplicate_effects).toBe(0)
    expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
    await lab.pass(10_000)
    expect(mail.sent).toHaveLength(2)
    expect(await figures(lab)).toMatchObject({ duplicate_effects: 1, unsafe_resends: 1 })
  },
)

test('V2 an unsafe call that a person decided has no window: nobody saw its receipt', async () => {
  const lab = new Lab()
  const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 50 })
  const graph = flow([mail.tool], async (ctx) => (await ctx.call(mail.tool, 1)).id)
  const killWhen = () => mail.sent.length === 1
  expect(await lab.process(graph, null, { killWhen })).toBe('crash')
  expect(await lab.process(graph, null)).toBe('parked')
  await lab.pass(60_000)
  await lab.decide({ outcome: 'happened', result: { id: 'said' } })
  expect(await lab.process(graph, null)).toBe('ended')
  const seen = await figures(lab)
  expect(seen.unsafe_window).toMatchObject({ count: 0, p95_ms: null })
  // One death, whatever waits came after it.
  expect(seen.resumes['dead']).toBe(1)
})
