import type { ShareKey } from '../../../store/store.ts'
import { type Bench, leaseMs, namespace, register, type Subject, worker } from '../fixtures.ts'

const key: ShareKey = { namespace, tool: 'look', inputHash: 'h1' }
const shared = { resultJson: '{"found":1}', externalId: 'x1' }
const makeMs = 10_000
const shareMs = 60_000

const take = (s: Subject, by = worker, of = key) => s.store.takeShare(of, by, makeMs)
const put = (s: Subject, by = worker, value: typeof shared | null = shared) =>
  s.store.putShare(key, by, value, shareMs)

export function shareConcern(bench: Bench): void {
  bench.describe('shared results', () => {
    singleFlight(bench)
    endings(bench)
  })
}

function singleFlight({ on, expect }: Bench): void {
  on('B10 one makes it, the others wait, then all use it', async (s) => {
    const answers = await Promise.all([1, 2, 3].map((n) => take(s, `w_${n}`)))
    expect(answers.map((answer) => answer.do).sort()).toEqual(['make', 'wait', 'wait'])
    const maker = `w_${answers.findIndex((answer) => answer.do === 'make') + 1}`
    // Another run of the same worker waits like anybody else.
    expect(await take(s, maker)).toEqual({ do: 'wait' })
    await put(s, maker)
    for (const n of [1, 2, 3]) expect(await take(s, `w_${n}`)).toEqual({ do: 'use', shared })
  })

  on('B10 nothing is as good a result as any', async (s) => {
    await take(s)
    const nothing = { resultJson: null, externalId: null }
    await s.store.putShare(key, worker, nothing, shareMs)
    expect(await take(s)).toEqual({ do: 'use', shared: nothing })
  })

  on('B10 namespace, tool and input tell them apart', async (s) => {
    await take(s)
    await put(s)
    for (const more of [{ namespace: 'other' }, { tool: 'other' }, { inputHash: 'h2' }]) {
      expect(await take(s, worker, { ...key, ...more })).toEqual({ do: 'make' })
    }
    expect(await take(s)).toEqual({ do: 'use', shared })
  })
}

function endings({ on, expect }: Bench): void {
  on('B10 it is used for its time, and made anew after it', async (s) => {
    await take(s)
    await put(s)
    s.clock.advance(shareMs - 1)
    expect((await take(s)).do).toBe('use')
    s.clock.advance(1)
    expect([await take(s, 'w_2'), await take(s)]).toEqual([{ do: 'make' }, { do: 'wait' }])
    const fresh = { resultJson: '2', externalId: null }
    await s.store.putShare(key, 'w_2', fresh, shareMs)
    expect(await take(s)).toEqual({ do: 'use', shared: fresh })
  })

  on('B10 the right of a maker that died ends; what it puts later is ignored', async (s) => {
    await register(s, 'w_2')
    await take(s)
    s.clock.advance(makeMs - 1)
    expect(await take(s, 'w_2')).toEqual({ do: 'wait' })
    s.clock.advance(1)
    await put(s)
    expect(await take(s, 'w_2')).toEqual({ do: 'make' })
    await put(s)
    expect(await take(s)).toEqual({ do: 'wait' })
    await put(s, worker, null)
    expect(await take(s)).toEqual({ do: 'wait' })
    await put(s, 'w_2')
    expect(await take(s)).toEqual({ do: 'use', shared })
    await put(s, worker, { ...shared, resultJson: '"late"' })
    expect(await take(s)).toEqual({ do: 'use', shared })
  })

  const gone: [string, (s: Subject) => Promise<unknown>][] = [
    ['is dead', (s) => s.store.declareDead('w_2', 'its socket refuses')],
    ['has stopped', (s) => s.store.stopWorker('w_2', true)],
    ['has lost its lease', async (s) => s.clock.advance(leaseMs)],
  ]
  for (const [how, go] of gone) {
    on(`B10 a maker that ${how} keeps nobody waiting: its right is anybody’s`, async (s) => {
      const longMs = 10 * leaseMs
      await register(s, 'w_2')
      expect(await s.store.takeShare(key, 'w_2', longMs)).toEqual({ do: 'make' })
      expect(await take(s)).toEqual({ do: 'wait' })
      await go(s)
      expect([await take(s, 'w_3'), await take(s, 'w_4')]).toEqual([{ do: 'make' }, { do: 'wait' }])
      // What the old one puts, if it comes after all, is not the new one's.
      await put(s, 'w_2')
      expect(await take(s, 'w_4')).toEqual({ do: 'wait' })
      await put(s, 'w_3')
      expect(await take(s, 'w_4')).toEqual({ do: 'use', shared })
    })
  }

  on('B10 who gives the right back lets the next one make it', async (s) => {
    await take(s)
    await put(s, worker, null)
    expect([await take(s, 'w_2'), await take(s)]).toEqual([{ do: 'make' }, { do: 'wait' }])
  })

  on('B10 a result that nobody was asked to make is ignored', async (s) => {
    await put(s)
    expect(await take(s)).toEqual({ do: 'make' })
  })
}
