// What a pure call has cost is not paid again for want of a write (D12).
import { expect, test } from 'vitest'
import { fake, flow, Lab } from '../../lab.ts'

const usage = () => ({ tokensIn: 900, tokensOut: 100 })

/** A pure call, then nothing to write for a while: how long after its answer is it durable? */
async function durableAfter(rules: object): Promise<number> {
  const lab = new Lab()
  const model = fake(lab, 'model', 'pure', rules)
  const nap = fake(lab, 'nap', 'pure', { ms: 1_000 })
  let answeredAt = 0
  let durableAt = 0
  const graph = flow([model.tool, nap.tool], async (ctx) => {
    await ctx.call(model.tool, 1)
    answeredAt = lab.clock.now()
    await ctx.call(nap.tool, 1)
  })
  const look = () => {
    if (durableAt === 0 && lab.durable('model')) durableAt = lab.clock.now()
    return false
  }
  expect(await lab.process(graph, null, { killWhen: look })).toBe('ended')
  return durableAt - answeredAt
}

test('D12 a result that reported usage, or took over 20 ms, is written at once', async () => {
  // The lab's commits take a millisecond; what is cheap waits ten for company.
  expect(await durableAfter({ ms: 1 })).toBeGreaterThanOrEqual(10)
  expect(await durableAfter({ ms: 20 })).toBeGreaterThanOrEqual(10)
  expect(await durableAfter({ ms: 21 })).toBeLessThanOrEqual(1)
  expect(await durableAfter({ ms: 1, usage })).toBeLessThanOrEqual(1)
})

test('D12 killed 2 ms after a dear answer: it is not asked for again', async () => {
  const lab = new Lab()
  const model = fake(lab, 'model', 'pure', { ms: 300, usage })
  const nap = fake(lab, 'nap', 'pure', { ms: 5 })
  let answeredAt = Number.POSITIVE_INFINITY
  const graph = flow([model.tool, nap.tool], async (ctx) => {
    for (let n = 1; n <= 3; n++) {
      await ctx.call(model.tool, n)
      answeredAt = Math.min(answeredAt, lab.clock.now())
    }
    await ctx.call(nap.tool, 1)
  })
  await lab.process(graph, null, { killWhen: () => lab.clock.now() >= answeredAt + 2 })
  expect(await lab.process(graph, null)).toBe('ended')
  // Two were sent when it died: the second was in flight, and is asked for again.
  expect(model.sent.map(({ input }) => input)).toEqual([1, 2, 2, 3])
})

test('D12 it goes out before the node acts on it, ahead of the next intent', async () => {
  const lab = new Lab()
  const model = fake(lab, 'model', 'pure', { ms: 300, usage })
  const mail = fake(lab, 'mail', 'unsafe_on_replay')
  const graph = flow([model.tool, mail.tool], async (ctx) => {
    await ctx.call(model.tool, 1)
    await ctx.call(mail.tool, 1)
  })
  await lab.process(graph, null)
  const rows = lab.commits.map(({ changes }) =>
    (changes.records ?? []).map((row) => `${row.tool} ${row.status}`),
  )
  expect(rows.filter((each) => each.length > 0)).toEqual([
    ['model committed'],
    ['mail pending'],
    ['mail committed'],
  ])
})
