// Pure calls that runs share: a mass resume is no stampede (B10).
import { describe, expect, test } from 'vitest'
import { fake, flow, Lab } from '../../lab.ts'

function town(shareMs: number | undefined, fails = 0) {
  const lab = new Lab()
  const embed = fake(lab, 'embed', 'pure', {
    ms: 500,
    ...(shareMs === undefined ? {} : { shareMs }),
    does: (n) => {
      if (n <= fails) throw new Error('no answer')
      return { n }
    },
  })
  const graph = flow([embed.tool], (ctx) => ctx.call(embed.tool, { text: 'same' }))
  const start = async (count: number, from = 0) => {
    for (let n = from; n < from + count; n++) await lab.start(graph, null, `r${n}`)
  }
  const outputs = async () =>
    (await lab.store.listRuns({ namespace: 'default' })).items.map((run) => run.outputJson)
  return { lab, embed, graph, start, outputs }
}

describe('shareMs', () => {
  test('B10 twenty runs that ask the same at once execute it once', async () => {
    const { lab, embed, graph, start, outputs } = town(60_000)
    await start(20)
    await lab.serve([graph])
    expect(embed.sent.length).toBe(1)
    expect(new Set(await outputs())).toEqual(new Set(['{"n":1}']))
  })

  test('B10 without it, and once its time is over, everybody asks for themselves', async () => {
    const alone = town(undefined)
    await alone.start(5)
    await alone.lab.serve([alone.graph])
    expect(alone.embed.sent.length).toBe(5)
    const shared = town(60_000)
    await shared.start(2)
    await shared.lab.serve([shared.graph])
    await shared.lab.pass(61_000)
    await shared.start(2, 2)
    await shared.lab.serve([shared.graph])
    expect(shared.embed.sent.length).toBe(2)
  })

  test('B10 when the maker fails or dies another one makes it', async () => {
    const { lab, embed, graph, start } = town(60_000, 1)
    await start(3)
    await lab.serve([graph], { killWhen: () => embed.sent.length > 0 })
    await lab.serve([graph])
    const states = (await lab.store.listRuns({ namespace: 'default' })).items
    expect(states.map((run) => run.state)).toEqual(['completed', 'completed', 'completed'])
    expect(embed.sent.length).toBeLessThan(5)
  })

  test('B10 a shared result is on record in every run: a replay asks nobody', async () => {
    const { lab, graph, start } = town(60_000)
    await start(3)
    await lab.serve([graph])
    for (const runId of ['r0', 'r1', 'r2']) {
      const { items } = await lab.store.listRecords({ namespace: 'default', runId }, {})
      expect(items.map((row) => [row.status, row.resultJson])).toEqual([['committed', '{"n":1}']])
    }
  })
})
