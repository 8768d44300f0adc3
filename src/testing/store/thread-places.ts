import type { ThreadStep } from '../../store/store.ts'
import { bodySum } from '../../store/thread-rules.ts'
import type { Bench } from './fixtures.ts'
import { listed, put, space, step } from './threads.ts'

/** Who writes into the place of a step that others write to as well. */
export function placeConcern({ on, expect }: Bench): void {
  on('K1, B6 whoever says what he has seen in a place writes over nothing else', async (s) => {
    const first = step('1')
    const next = { ...first, bodyJson: '{"at":"next ü"}' }
    const last = { ...first, bodyJson: '{"at":"last"}' }
    expect(await s.store.putStep(first, bodySum(first.bodyJson))).toBe(false)
    expect(await s.store.putStep(first, null)).toBe(true)
    expect(await s.store.putStep(next, null)).toBe(false)
    expect(await s.store.putStep(next, bodySum(last.bodyJson))).toBe(false)
    expect(await s.store.loadSteps(space())).toEqual([first])
    expect(await s.store.putStep(next, bodySum(first.bodyJson))).toBe(true)
    expect(await s.store.putStep(last, bodySum(first.bodyJson))).toBe(false)
    expect(await s.store.putStep(last, bodySum(next.bodyJson))).toBe(true)
    // The same for a change; and its parent is looked for all the same.
    expect(await s.store.putStep(step('2', '1'), null)).toBe(true)
    expect(await s.store.putStep(step('2', '1', { bodyJson: '[]' }), null)).toBe(false)
    expect(await s.store.putStep(step('3', 'x'), null)).toBe(false)
    expect(await s.store.loadSteps(space())).toEqual([last, step('2', '1')])
  })

  on('K1, B6 a pruning makes nothing whole that was changed since it was looked at', async (s) => {
    await put(s, step('1'), step('2', '1'), step('3', '1'))
    const whole = (id: string, over: string) =>
      step(id, '1', { whole: true, bodyJson: `"${id}, whole"`, over } as Partial<ThreadStep>)
    const [two, three] = ['2', '3'].map((id) => bodySum(step(id).bodyJson)) as [string, string]
    const prune = (...all: ThreadStep[]) => s.store.pruneSteps(space(), { whole: all, drop: ['1'] })
    const before = (await s.store.listSteps(space())).items
    expect(await prune(whole('2', two), whole('3', two))).toBe(false)
    expect((await s.store.listSteps(space())).items).toEqual(before)
    expect(await prune(whole('2', two), whole('3', three))).toBe(true)
    expect((await s.store.loadSteps(space())).map((row) => row.bodyJson)).toEqual(['"3, whole"'])
    expect(await listed(s)).toEqual(['3', '2'])
  })

  on('K1, B6 a pruning drops nothing that was put once more since it was looked at', async (s) => {
    await put(s, step('1'), step('2'))
    const seen = new Map(['1', '2', 'x'].map((id) => [id, bodySum(step(id).bodyJson)]))
    const drop = ['1', '2', 'x']
    await put(s, step('2', null, { bodyJson: '"again"' }))
    expect(await s.store.pruneSteps(space(), { whole: [], drop, seen })).toBe(false)
    expect(await listed(s)).toEqual(['2', '1'])
    seen.set('2', bodySum('"again"'))
    expect(await s.store.pruneSteps(space(), { whole: [], drop, seen })).toBe(true)
    expect(await listed(s)).toEqual([])
  })

  on('K1, B6 of many that put over the same, one does', async (s) => {
    await put(s, step('1'))
    const over = bodySum(step('1').bodyJson)
    const bodies = Array.from({ length: 8 }, (_, i) => step('1', null, { bodyJson: `[${i}]` }))
    const answers = await Promise.all(bodies.map((one) => s.store.putStep(one, over)))
    expect(answers.filter((done) => done).length).toBe(1)
    expect(await s.store.loadSteps(space())).toEqual([bodies[answers.indexOf(true)]])
    const fresh = bodies.map((one) => ({ ...one, stepId: '2' }))
    const made = await Promise.all(fresh.map((one) => s.store.putStep(one, null)))
    expect(made.filter((done) => done).length).toBe(1)
  })
}
