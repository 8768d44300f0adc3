import type { SpaceRef, ThreadStep } from '../../../store/store.ts'
import { type Bench, event, namespace, newRun, ref, type Subject } from '../fixtures.ts'
import { listed, put, space, step, write } from './thread-fixtures.ts'
import { headConcern } from './thread-heads.ts'
import { placeConcern } from './thread-places.ts'

const load = async ({ store }: Subject, stepId?: string, at = space()) =>
  (await store.loadSteps(at, stepId)).map((row) => row.stepId)
const writesOf = async ({ store }: Subject, stepIds: string[], at = space()) =>
  (await store.listWrites(at, stepIds)).map((row) => [row.stepId, row.taskId, row.place])

export function threadConcern(bench: Bench): void {
  bench.describe('threads of foreign runtimes', () => {
    chains(bench)
    placeConcern(bench)
    headConcern(bench)
    lists(bench)
    pages(bench)
    writes(bench)
    prunes(bench)
    races(bench)
    texts(bench)
    ids(bench)
    drops(bench)
  })
}

function chains({ on, expect }: Bench): void {
  on('K1 a step comes back as it was put; put again, it takes its own place', async (s) => {
    const first = step('1', null, { space: 'sub:1', createdAt: 1_234.5 })
    expect(await s.store.putStep(first)).toBe(true)
    expect(await s.store.loadSteps(first)).toEqual([first])
    const again = { ...first, bodyJson: '[2]', noteJson: '{}', createdAt: 9_000 }
    expect(await s.store.putStep(again)).toBe(true)
    expect(await s.store.loadSteps(first)).toEqual([again])
    expect((await s.store.listSteps({ namespace })).items).toEqual([again])
  })

  on('K1 steps are read from the nearest whole one on', async (s) => {
    const answers = await put(s, step('1'), step('2', '1'), step('3', '2'))
    await put(s, step('4', '3', { whole: true }), step('5', '4'))
    expect(answers).toEqual([true, true, true])
    expect(await load(s)).toEqual(['4', '5'])
    expect(await load(s, '3')).toEqual(['1', '2', '3'])
    expect(await load(s, '1')).toEqual(['1'])
    expect(await load(s, '6')).toEqual([])
    expect(await load(s, undefined, space('t2'))).toEqual([])
  })

  on('K1 two steps may be changes to one, and each has its own chain', async (s) => {
    await put(s, step('1'), step('2', '1'), step('3', '2'), step('4', '2'), step('5', '3'))
    expect(await load(s, '5')).toEqual(['1', '2', '3', '5'])
    expect(await load(s, '4')).toEqual(['1', '2', '4'])
    expect(await load(s)).toEqual(['1', '2', '3', '5'])
  })

  on('K1 a change to a step that is not there is refused, and not written', async (s) => {
    await put(s, step('1'), step('1', null, { space: 'sub' }), step('2', '1', { space: 'sub' }))
    expect(await put(s, step('3', '2'), step('3', 'x'))).toEqual([false, false])
    expect(await put(s, step('3', 'x', { whole: true }))).toEqual([true])
    expect(await listed(s)).toEqual(['3', '1'])
    // A whole one may be put as a change later, if what it is a change to is there.
    expect(await put(s, step('3', '2'), step('3', '1'))).toEqual([false, true])
    expect(await load(s)).toEqual(['1', '3'])
  })

  on('K1 no step can come to stand on itself', async (s) => {
    await put(s, step('1'), step('2', '1'), step('3', '2'))
    expect(await put(s, step('1', '3'), step('1', '2'))).toEqual([false, false])
    await expect(s.store.putStep(step('4', '4'))).rejects.toMatchObject({ code: 'THREAD_INVALID' })
    const rootless = { ...step('4'), whole: false }
    await expect(s.store.putStep(rootless)).rejects.toMatchObject({ code: 'THREAD_INVALID' })
    expect(await load(s)).toEqual(['1', '2', '3'])
  })
}

function lists({ on, expect }: Bench): void {
  on('K1 namespaces, threads and spaces are apart', async (s) => {
    const elsewhere = [{ namespace: 'other' }, { threadId: 't2' }, { space: 'sub' }]
    await put(s, step('1', null, { bodyJson: '"here"' }))
    await s.store.putWrites([write('1', 'a', 0)], false)
    for (const more of elsewhere) {
      await put(s, step('1', null, { bodyJson: '"there"', ...more }), step('2', '1', more))
      await s.store.putWrites([write('1', 'a', 0, { bodyJson: '"there"', ...more })], true)
    }
    expect((await s.store.loadSteps(space())).map((row) => row.bodyJson)).toEqual(['"here"'])
    expect((await s.store.listWrites(space(), ['1'])).map((row) => row.bodyJson)).toEqual(['"hi"'])
    expect(await s.store.pruneSteps(space(), { whole: [], drop: ['1'] })).toBe(true)
    expect(await listed(s)).toEqual([])
    for (const more of elsewhere) {
      const at = space('t1', more)
      expect(await load(s, undefined, at)).toEqual(['1', '2'])
      expect((await s.store.listWrites(at, ['1'])).length).toBe(1)
    }
  })

  on('K1 lists have the latest first, and hold what was asked for', async (s) => {
    const of = (threadId: string, sub = '') => ({ threadId, space: sub })
    await put(s, step('3', null, of('a')), step('1', null, of('b')), step('2', null, of('a', 's')))
    await put(s, step('3', null, of('b', 's')), step('10', null, of('b')), step('3', null, of('b')))
    const list = async (more: object) =>
      (await s.store.listSteps({ namespace, ...more })).items.map(
        (row) => `${row.stepId} ${row.threadId}${row.space}`,
      )
    expect(await list({})).toEqual(['3 bs', '3 b', '3 a', '2 as', '10 b', '1 b'])
    expect(await list({ threadId: 'b' })).toEqual(['3 bs', '3 b', '10 b', '1 b'])
    expect(await list({ threadId: 'b', space: '' })).toEqual(['3 b', '10 b', '1 b'])
    expect(await list({ space: 's' })).toEqual(['3 bs', '2 as'])
    expect(await list({ before: '3' })).toEqual(['2 as', '10 b', '1 b'])
    expect(await list({ threadId: 'b', space: '', before: '3', countMax: 1 })).toEqual(['10 b'])
    expect(await list({ namespace: 'other' })).toEqual([])
  })
}

function pages({ on, expect }: Bench): void {
  on('K1 a list goes on behind its last step, whatever has come or gone', async (s) => {
    const of = (threadId: string) => ({ threadId, space: '' })
    for (const id of ['1', '2', '3', '4']) {
      await put(s, step(id, null, of('a')), step(id, null, of('b')))
    }
    const seen: string[] = []
    let cursor: string | null | undefined
    do {
      const at = { namespace, countMax: 3, ...(cursor ? { cursor } : {}) }
      const page = await s.store.listSteps(at)
      seen.push(...page.items.map((row) => `${row.stepId}${row.threadId}`))
      cursor = page.next
      const last = page.items.at(-1)
      await put(s, step(`5${seen.length}`, null, of('a')))
      // The step that the cursor names.
      if (last) await s.store.pruneSteps(last, { whole: [], drop: [last.stepId] })
    } while (cursor !== null)
    expect(seen).toEqual(['4b', '4a', '3b', '3a', '2b', '2a', '1b', '1a'])
    for (const cursor of ['', '3', 'WzFd', Buffer.from('[1,2,3]').toString('base64url')]) {
      const bad = s.store.listSteps({ namespace, cursor })
      await expect(bad).rejects.toMatchObject({ code: 'CURSOR_INVALID' })
    }
  })
}

function writes({ on, expect }: Bench): void {
  on('K1 writes come in the order of steps, tasks and places, marks first', async (s) => {
    const rows = [write('2', 'a', 1), write('1', 'b', 0), write('1', 'a', 10), write('1', 'a', 2)]
    await s.store.putWrites([...rows, write('1', 'a', -3), write('3', 'a', 0)], false)
    expect(await writesOf(s, ['2', '1', '1', 'x'])).toEqual([
      ['1', 'a', -3],
      ['1', 'a', 2],
      ['1', 'a', 10],
      ['1', 'b', 0],
      ['2', 'a', 1],
    ])
    expect(await writesOf(s, [])).toEqual([])
    expect(await s.store.listWrites(space(), ['3'])).toEqual([write('3', 'a', 0)])
  })

  on('K1 what a task has written stays, unless it is to be replaced', async (s) => {
    const body = async () => (await s.store.listWrites(space(), ['1'])).map((row) => row.bodyJson)
    const said = (text: string, place = 0) => write('1', 'a', place, { bodyJson: text })
    await s.store.putWrites([said('1')], false)
    await s.store.putWrites([said('2'), said('3', 1), said('4', 1)], false)
    expect(await body()).toEqual(['1', '3'])
    const other = { ...said('6', 1), channel: 'other' }
    await s.store.putWrites([said('5'), said('x', 1), other], true)
    expect(await body()).toEqual(['5', '6'])
    expect((await s.store.listWrites(space(), ['1']))[1]).toEqual(other)
    await s.store.putWrites([], true)
    expect(await body()).toEqual(['5', '6'])
  })

  on('K1 of writes that cannot all be kept none is', async (s) => {
    const bad = [write('1', 'b', 1.5), write('1', 'b', 2 ** 31), write('1', 'b\0', 0)]
    for (const one of [...bad, write('1', 'b', 0, { bodyJson: '\ud800' })]) {
      const asked = s.store.putWrites([write('1', 'a', 0), one], true)
      await expect(asked).rejects.toMatchObject({ code: 'THREAD_INVALID' })
    }
    expect(await writesOf(s, ['1'])).toEqual([])
    // A step need not be there yet: its tasks may be faster.
    await s.store.putWrites([write('1', 'a', 0), write('1', 'b', 2 ** 31 - 1)], true)
    expect((await writesOf(s, ['1'])).length).toBe(2)
  })
}

function prunes({ on, expect }: Bench): void {
  on('K1 steps go with their writes; those that stay are read as before', async (s) => {
    await put(s, step('1'), step('2', '1'), step('3', '2'), step('4', '3'))
    await s.store.putWrites([write('1', 'a', 0), write('2', 'a', 0), write('3', 'a', 0)], false)
    const whole = [step('3', '2', { whole: true, bodyJson: '"all"' })]
    expect(await s.store.pruneSteps(space(), { whole, drop: ['1', '2', 'gone'] })).toBe(true)
    expect(await s.store.loadSteps(space())).toEqual([...whole, step('4', '3')])
    expect(await listed(s)).toEqual(['4', '3'])
    expect(await writesOf(s, ['1', '2', '3'])).toEqual([['3', 'a', 0]])
    expect(await s.store.pruneSteps(space(), { whole: [], drop: [] })).toBe(true)
  })

  on('K1, B6 no step that stays loses the one it is a change to', async (s) => {
    await put(s, step('1'), step('2', '1'), step('3', '1'), step('4', '3'))
    await s.store.putWrites([write('1', 'a', 0)], false)
    const refused = async (pruning: { whole: ThreadStep[]; drop: string[] }) => {
      expect(await s.store.pruneSteps(space(), pruning)).toBe(false)
      expect(await listed(s)).toEqual(['4', '3', '2', '1'])
      expect((await load(s, '4')).join()).toBe('1,3,4')
      expect(await writesOf(s, ['1'])).toEqual([['1', 'a', 0]])
    }
    const whole = (id: string, parentId: string) => step(id, parentId, { whole: true })
    await refused({ whole: [], drop: ['1'] })
    await refused({ whole: [whole('2', '1')], drop: ['1'] })
    await refused({ whole: [whole('2', '1')], drop: ['1', '3'] })
    await refused({ whole: [whole('2', '1'), whole('3', '1'), whole('9', '1')], drop: ['1'] })
    const both = { whole: [whole('2', '1'), whole('3', '1')], drop: ['1'] }
    expect(await s.store.pruneSteps(space(), both)).toBe(true)
    expect(await load(s, '4')).toEqual(['3', '4'])
    expect(await s.store.pruneSteps(space(), { whole: [], drop: ['4', '3', '2'] })).toBe(true)
    expect(await listed(s)).toEqual([])
  })

  on('K1 a pruning that contradicts itself is refused', async (s) => {
    await put(s, step('1'), step('2', '1'))
    const other = step('2', null, { space: 'sub' })
    for (const whole of [[step('2', '1')], [other], [step('1')]]) {
      const asked = s.store.pruneSteps(space(), { whole, drop: ['1'] })
      await expect(asked).rejects.toMatchObject({ code: 'THREAD_INVALID' })
    }
    expect(await load(s)).toEqual(['1', '2'])
  })
}

/** Whether every step can be read: its chain begins with a whole one. */
export async function isSound({ store }: Pick<Subject, 'store'>, at: SpaceRef): Promise<boolean> {
  const { items } = await store.listSteps({ ...at, countMax: 500 })
  const chains = await Promise.all(items.map((row) => store.loadSteps(at, row.stepId)))
  return chains.every((chain) => chain[0]?.whole === true)
}

function races({ on, expect }: Bench): void {
  on('K1, B6 whoever appends and whoever prunes at once, nothing loses its base', async (s) => {
    for (let round = 0; round < 20; round++) {
      const at = space(`t${round}`)
      const here = (id: string, parentId: string | null) => step(id, parentId, at)
      await put(s, here('1', null), here('2', '1'))
      const drop = ['1', '2']
      const [added, pruned, again] = await Promise.all([
        s.store.putStep(here('3', '2')),
        s.store.pruneSteps(at, { whole: [], drop }),
        s.store.putStep(here('4', '2')),
      ])
      // Either came first, never both.
      expect(added || again).toBe(!pruned)
      expect(await isSound(s, at)).toBe(true)
    }
  })
}

function texts({ on, expect, reopen }: Bench): void {
  on('K1 texts of 5 MB, and what JSON escapes, come back as they were', async (s) => {
    const odd = JSON.stringify({ text: `ü€😀\u2028"'\\ \0 \ud800 \u007f`, big: 'x'.repeat(5e6) })
    const first = step('1', null, { bodyJson: odd, noteJson: JSON.stringify(['\0\udc00%_']) })
    const second = step('2', '1', { bodyJson: odd })
    await put(s, first, second)
    const one = write('1', `{"',}\\n`, 0, { channel: 'branch:to:"é\n', bodyJson: odd })
    await s.store.putWrites([one, { ...one, place: 1 }], false)
    expect((await s.store.loadSteps(space()))[1]?.bodyJson === odd).toBe(true)
    const whole = [{ ...second, whole: true }]
    expect(await s.store.pruneSteps(space(), { whole, drop: ['1'] })).toBe(true)
    expect((await s.store.loadSteps(space()))[0]?.bodyJson === odd).toBe(true)
    await put(s, first)
    await s.store.putWrites([one], true)
    expect((await s.store.loadSteps(first, '1'))[0]).toEqual(first)
    expect((await s.store.listWrites(space(), ['1']))[0]).toEqual(one)
  })

  if (reopen === null) return
  on('K1 threads live on after close and open', async (s) => {
    await put(s, step('1'), step('2', '1'))
    await s.store.putWrites([write('2', 'a', -1)], false)
    const look = async () => [
      await s.store.loadSteps(space()),
      await s.store.listWrites(space(), ['2']),
    ]
    const before = await look()
    await reopen(s)
    expect(await look()).toEqual(before)
    expect(before.map((rows) => rows.length)).toEqual([2, 1])
  })
}

function ids({ on, expect }: Bench): void {
  on('K1 ids may have any characters, and are compared by their bytes', async (s) => {
    const odd = ['a', 'B', 'ä', 'a b', `"'\\`, '%', '_', '{1,2}', 'a|b:c', '\n', '\uffee', '😀']
    for (const id of odd) {
      const at = { threadId: id, space: id }
      expect(await put(s, step(id, null, at), step(`${id}2`, id, at))).toEqual([true, true])
      await s.store.putWrites([write(id, id, 0, at)], false)
    }
    for (const id of odd) {
      const at = space(id, { space: id })
      expect(await load(s, undefined, at)).toEqual([id, `${id}2`])
      expect(await writesOf(s, odd, at)).toEqual([[id, id, 0]])
      const last = step(id, null, { whole: true, ...at })
      const pruning = { whole: [{ ...last, stepId: `${id}2` }], drop: [id] }
      expect(await s.store.pruneSteps(at, pruning)).toBe(true)
    }
    const { items } = await s.store.listSteps({ namespace })
    const byBytes = odd
      .map((id) => `${id}2`)
      .sort((a, b) => Buffer.compare(Buffer.from(b), Buffer.from(a)))
    expect(items.map((row) => row.stepId)).toEqual(byBytes)
    // JavaScript would have these two the other way round.
    expect(byBytes.slice(0, 2)).toEqual(['😀2', '\uffee2'])
    expect((await s.store.listIdleThreads(namespace, 2_000, 50)).length).toBe(odd.length)
  })

  on('K1 ids that a database could not keep are refused, also when asking', async (s) => {
    const at = (more: object) => step('1', null, more)
    const bad = [at({ threadId: 'a\0' }), at({ space: '\ud800' }), at({ stepId: '' })]
    const long = at({ space: 'x'.repeat(2_500) })
    for (const one of [...bad, long, at({ threadId: '' }), at({ createdAt: Number.NaN })]) {
      await expect(s.store.putStep(one)).rejects.toMatchObject({ code: 'THREAD_INVALID' })
    }
    const code = { code: 'THREAD_INVALID' }
    await expect(s.store.loadSteps(space('a\0'))).rejects.toMatchObject(code)
    await expect(s.store.listWrites(space(), ['\udc00'])).rejects.toMatchObject(code)
    await expect(s.store.listSteps({ namespace, before: '\0' })).rejects.toMatchObject(code)
    await expect(s.store.dropThread(namespace, '\0')).rejects.toMatchObject(code)
    const most = 'é'.repeat(1_200)
    expect(await put(s, at({ space: most }), step('2', '1', { space: most }))).toEqual([true, true])
    await s.store.putWrites([write('1', 't'.repeat(80), 0, { space: most })], false)
    expect(await load(s, undefined, space('t1', { space: most }))).toEqual(['1', '2'])
  })
}

function drops({ on, expect }: Bench): void {
  on('K1, B6 a thread goes with all its spaces; the ledger of its calls stays', async (s) => {
    await s.store.start(newRun('t1'))
    await s.amend(ref('t1'), { events: [event('x', 't1')] })
    await put(s, step('1'), step('2', '1'), step('1', null, { space: 'sub' }))
    await put(s, step('1', null, { threadId: 't2' }), step('1', null, { namespace: 'other' }))
    await s.store.putWrites([write('1', 'a', 0), write('1', 'a', 0, { space: 'sub' })], false)
    await s.store.putWrites([write('9', 'a', 0), write('1', 'a', 0, { threadId: 't2' })], false)
    const before = [await s.load(ref('t1')), await s.events(ref('t1'))]
    await s.store.dropThread(namespace, 't1')
    await s.store.dropThread(namespace, 'none')
    expect((await s.store.listSteps({ namespace, threadId: 't1' })).items).toEqual([])
    expect(await writesOf(s, ['1', '9'])).toEqual([])
    expect(await writesOf(s, ['1'], space('t1', { space: 'sub' }))).toEqual([])
    expect(await listed(s, space('t2'))).toEqual(['1'])
    expect(await writesOf(s, ['1'], space('t2'))).toEqual([['1', 'a', 0]])
    expect(await listed(s, space('t1', { namespace: 'other' }))).toEqual(['1'])
    expect([await s.load(ref('t1')), await s.events(ref('t1'))]).toEqual(before)
    expect(await put(s, step('3', '2'))).toEqual([false])
  })
}
