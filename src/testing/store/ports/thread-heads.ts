import { asidePrefix, bodySum } from '../../../store/rules/threads.ts'
import type { ThreadStep } from '../../../store/store.ts'
import type { Bench, Subject } from '../fixtures.ts'
import { listed, put, space, step } from './thread-fixtures.ts'

const next = ({ store }: Subject, one: ThreadStep, head: string | null) =>
  store.putStep(one, undefined, head)

/** A thread is one line: who follows its head, and what is set aside. */
export function headConcern({ on, expect }: Bench): void {
  on('K1, C2 a step is put behind the head that was seen, and behind no other', async (s) => {
    expect(await next(s, step('1'), '0')).toBe(false)
    expect(await next(s, step('1'), null)).toBe(true)
    expect(await next(s, step('2', '1'), null)).toBe(false)
    expect(await next(s, step('2', '1'), '1')).toBe(true)
    expect(await next(s, step('3', '1'), '1')).toBe(false)
    // A branch, on purpose: of an earlier step, while the head is as it was seen.
    expect(await next(s, step('3', '1'), '2')).toBe(true)
    expect(await listed(s)).toEqual(['3', '2', '1'])
    // The heads of other spaces and threads are others.
    expect(await next(s, step('1', null, { space: 'sub' }), null)).toBe(true)
    expect(await next(s, step('1', null, { threadId: 't2' }), null)).toBe(true)
  })

  on('K1, C2 a head and what was seen are compared together', async (s) => {
    await put(s, step('1'))
    const two = step('2', '1')
    const seen = (body: string) => new Map([['1', bodySum(body)]])
    expect(await s.store.putStep(two, seen('"another"'), '1')).toBe(false)
    expect(await s.store.putStep(two, seen(step('1').bodyJson), null)).toBe(false)
    expect(await s.store.putStep(two, seen(step('1').bodyJson), '1')).toBe(true)
  })

  on('K1, C2 of many that follow one head at once, one is written', async (s) => {
    for (const head of [null, '10']) {
      const from = head === null ? 10 : 20
      const all = Array.from({ length: 8 }, (_, i) => step(`${from + (head ? i : 0)}`, head))
      const answers = await Promise.all(all.map((one) => next(s, one, head)))
      expect(answers.filter((done) => done).length).toBe(1)
    }
    expect((await listed(s)).length).toBe(2)
  })

  on('K1, C2 what was set aside is found by its id, and is never the head', async (s) => {
    const aside = step(`${asidePrefix}9`, null)
    await put(s, aside)
    expect(await s.store.loadSteps(space())).toEqual([])
    expect(await s.store.headOf(space())).toBe(null)
    expect(await next(s, step('1'), null)).toBe(true)
    expect(await put(s, step(`${asidePrefix}8`, '1'))).toEqual([true])
    expect(await listed(s)).toEqual(['1'])
    expect(await listed(s, { ...space(), before: '9' } as never)).toEqual(['1'])
    const all = await s.store.listSteps({ ...space(), aside: true })
    expect(all.items.map(({ stepId }) => stepId)).toEqual(['1', '!9', '!8'])
    expect((await s.store.loadSteps(space())).map(({ stepId }) => stepId)).toEqual(['1'])
    expect(await s.store.loadSteps(space(), '!9')).toEqual([aside])
    expect((await s.store.loadSteps(space(), '!8')).map(({ stepId }) => stepId)).toEqual([
      '1',
      '!8',
    ])
    expect(await next(s, step('2', '1'), '1')).toBe(true)
    expect(await s.store.headOf(space())).toBe('2')
    expect(await s.store.headOf(space('t2'))).toBe(null)
  })
}
