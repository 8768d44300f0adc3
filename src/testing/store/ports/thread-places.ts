import { bodySum } from '../../../store/rules/threads.ts'
import type { Seen, ThreadStep } from '../../../store/store.ts'
import type { Bench } from '../fixtures.ts'
import { listed, put, space, step, write } from './thread-fixtures.ts'

/** By step id: a body that was seen there, or that nothing was. */
const seen = (rows: Record<string, string | null>): Seen =>
  new Map(Object.entries(rows).map(([id, body]) => [id, body === null ? null : bodySum(body)]))

/** Who writes into the place of a step that others write to as well. */
export function placeConcern(bench: Bench): void {
  puts(bench)
  writes(bench)
  prunes(bench)
}

function puts({ on, expect }: Bench): void {
  on('K1, B6 whoever says what he has seen in a place writes over nothing else', async (s) => {
    const first = step('1')
    const [next, last] = ['"next ü"', '"last"'].map((bodyJson) => ({ ...first, bodyJson })) as [
      ThreadStep,
      ThreadStep,
    ]
    const over = (one: ThreadStep, body: string | null) => s.store.putStep(one, seen({ 1: body }))
    expect(await over(first, first.bodyJson)).toBe(false)
    expect(await over(first, null)).toBe(true)
    expect(await over(next, null)).toBe(false)
    expect(await over(next, last.bodyJson)).toBe(false)
    expect(await s.store.loadSteps(space())).toEqual([first])
    expect(await over(next, first.bodyJson)).toBe(true)
    expect(await over(last, first.bodyJson)).toBe(false)
    expect(await over(last, next.bodyJson)).toBe(true)
    expect(await s.store.loadSteps(space())).toEqual([last])
  })

  on('K1, B6 a change is put to the parent that was seen, and to no other', async (s) => {
    await put(s, step('1'))
    const child = step('2', '1')
    expect(await s.store.putStep(child, seen({ 1: '"another"', 2: null }))).toBe(false)
    expect(await s.store.putStep(child, seen({ 1: null, 2: null }))).toBe(false)
    expect(await s.store.putStep(child, seen({ 1: step('1').bodyJson, 2: null }))).toBe(true)
    expect(await s.store.putStep(child, seen({ 1: step('1').bodyJson, 2: null }))).toBe(false)
    // It is looked for all the same.
    expect(await s.store.putStep(step('3', 'x'), seen({ 3: null }))).toBe(false)
    expect(await listed(s)).toEqual(['2', '1'])
  })

  on('K1, B6 of many that put over the same, one does', async (s) => {
    await put(s, step('1'))
    const bodies = Array.from({ length: 8 }, (_, i) => step('1', null, { bodyJson: `[${i}]` }))
    const one = seen({ 1: step('1').bodyJson })
    const answers = await Promise.all(bodies.map((body) => s.store.putStep(body, one)))
    expect(answers.filter((done) => done).length).toBe(1)
    expect(await s.store.loadSteps(space())).toEqual([bodies[answers.indexOf(true)]])
    const fresh = bodies.map((body) => ({ ...body, stepId: '2' }))
    const made = await Promise.all(fresh.map((body) => s.store.putStep(body, seen({ 2: null }))))
    expect(made.filter((done) => done).length).toBe(1)
  })
}

function writes({ on, expect }: Bench): void {
  on('K1, B6 writes are put to the step that was seen, and to no other', async (s) => {
    await put(s, step('1'))
    const rows = [write('1', 'a', 0), write('1', 'a', 1)]
    for (const body of ['"another"', null]) {
      expect(await s.store.putWrites(rows, false, seen({ 1: body }))).toBe(false)
    }
    expect(await s.store.listWrites(space(), ['1'])).toEqual([])
    expect(await s.store.putWrites(rows, false, seen({ 1: step('1').bodyJson }))).toBe(true)
    expect(await s.store.listWrites(space(), ['1'])).toEqual(rows)
    expect(await s.store.putWrites([], false, seen({ 1: null }))).toBe(true)
    const apart = [...rows, write('1', 'a', 0, { space: 'sub' })]
    await expect(s.store.putWrites(apart, true, seen({ 1: null }))).rejects.toMatchObject({
      code: 'THREAD_INVALID',
    })
  })
}

function prunes({ on, expect }: Bench): void {
  on('K1, B6 a pruning makes nothing whole that was changed since it was looked at', async (s) => {
    await put(s, step('1'), step('2', '1'), step('3', '1'))
    const whole = ['2', '3'].map((id) => step(id, '1', { whole: true, bodyJson: `"${id}, whole"` }))
    const prune = (two: string, three: string) =>
      s.store.pruneSteps(space(), { whole, drop: ['1'], seen: seen({ 2: two, 3: three }) })
    const [two, three] = [step('2').bodyJson, step('3').bodyJson]
    const before = (await s.store.listSteps(space())).items
    expect(await prune(two, two)).toBe(false)
    expect((await s.store.listSteps(space())).items).toEqual(before)
    expect(await prune(two, three)).toBe(true)
    expect((await s.store.loadSteps(space())).map((row) => row.bodyJson)).toEqual(['"3, whole"'])
    expect(await listed(s)).toEqual(['3', '2'])
  })

  on('K1, B6 a pruning drops nothing that was put once more since it was looked at', async (s) => {
    await put(s, step('1'), step('2'))
    const prune = (two: string) => {
      const looked = seen({ 1: step('1').bodyJson, 2: two })
      return s.store.pruneSteps(space(), { whole: [], drop: ['1', '2'], seen: looked })
    }
    await put(s, step('2', null, { bodyJson: '"again"' }))
    expect(await prune(step('2').bodyJson)).toBe(false)
    expect(await listed(s)).toEqual(['2', '1'])
    expect(await prune('"again"')).toBe(true)
    expect(await prune('"again"')).toBe(false)
    expect(await listed(s)).toEqual([])
  })
}
