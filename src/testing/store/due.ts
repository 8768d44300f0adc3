import type { Run } from '../../model/run/records.ts'
import type { RunChange } from '../../store/store.ts'
import {
  attempt,
  type Bench,
  claimOne,
  item,
  leaseMs,
  newRun,
  record,
  ref,
  type Subject,
} from './fixtures.ts'

/** A run that waits until `inMs` from now. */
async function asleep(s: Subject, runId: string, inMs: number, more: RunChange = {}): Promise<Run> {
  await s.store.start(newRun(runId))
  const run = await claimOne(s, runId)
  const wakeAt = s.store.clock.now() + inMs
  await s.commit(run, { run: { state: 'waiting_tool', wakeAt, release: true, ...more } })
  return run
}

const states = async (s: Subject, ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await s.store.getRun(ref(id)))?.state))

export function dueConcern(bench: Bench): void {
  bench.describe('what comes due', () => {
    waking(bench)
    wakingSome(bench)
    overdue(bench)
    tokens(bench)
    counting(bench.of('facts'))
  })
}

function waking({ on, expect }: Bench): void {
  on('D6 a run whose time has come is woken, with an event, and not before', async (s) => {
    const run = await asleep(s, 'r1', 60_000)
    const { wakeAt } = (await s.store.getRun(run)) ?? {}
    expect(await s.store.wakeDue(10)).toEqual({ woken: 0, lagMs: 0, nextAt: wakeAt })
    s.clock.advance(60_000)
    const { woken, nextAt } = await s.store.wakeDue(10)
    expect([woken, nextAt]).toEqual([1, null])
    const due = { state: 'pending', arrivals: 1, wakeAt: null, waitingFor: null }
    expect(await s.store.getRun(run)).toMatchObject(due)
    const data = { from: 'waiting_tool', to: 'pending', cause: 'its time has come' }
    expect((await s.events(run)).at(-1)).toMatchObject({ kind: 'state', data })
    expect(await claimOne(s, 'r1')).toMatchObject({ fence: 2 })
  })

  on('D6 a second pass, or another worker’s, wakes nothing again', async (s) => {
    const run = await asleep(s, 'r1', 1)
    s.clock.advance(1)
    const passes = await Promise.all([1, 2, 3].map(() => s.store.wakeDue(10)))
    expect(passes.reduce((sum, pass) => sum + pass.woken, 0)).toBe(1)
    expect(await s.store.wakeDue(10)).toEqual({ woken: 0, lagMs: 0, nextAt: null })
    expect(await s.store.getRun(run)).toMatchObject({ arrivals: 1 })
  })

  on('D6 who waits for a person until then is woken too', async (s) => {
    await asleep(s, 'r1', 5, { state: 'waiting_human' })
    s.clock.advance(5)
    expect((await s.store.wakeDue(10)).woken).toBe(1)
    expect(await states(s, ['r1'])).toEqual(['pending'])
  })

  on('D6 what was woken, paused or ended before has no time to wake', async (s) => {
    for (const id of ['woken', 'paused', 'gone']) await asleep(s, id, 5)
    const wake = { state: 'pending', waitingFor: null, arrive: true } as const
    await s.amend(ref('woken'), { run: wake })
    await s.amend(ref('paused'), { run: { state: 'paused' } })
    await s.amend(ref('gone'), { run: { state: 'cancelled' } })
    s.clock.advance(5)
    expect(await s.store.wakeDue(10)).toEqual({ woken: 0, lagMs: 0, nextAt: null })
    expect(await states(s, ['woken', 'paused', 'gone'])).toEqual(['pending', 'paused', 'cancelled'])
  })
}

function wakingSome({ on, expect }: Bench): void {
  on('D6 at most so many, the longest overdue first; how late, and what is left', async (s) => {
    await asleep(s, 'later', 3_000)
    await asleep(s, 'first', 1_000)
    await asleep(s, 'second', 2_000)
    const leftAt = (await s.store.getRun(ref('later')))?.wakeAt
    s.clock.advance(10_000)
    const pass = await s.store.wakeDue(2)
    expect([pass.woken, pass.nextAt]).toEqual([2, leftAt])
    expect(pass.lagMs >= 9_000).toBe(true)
    const ids = ['first', 'second', 'later']
    expect(await states(s, ids)).toEqual(['pending', 'pending', 'waiting_tool'])
    expect(await s.store.wakeDue(2)).toMatchObject({ woken: 1, nextAt: null })
  })

  on('D6 ten passes at once wake each run once', async (s) => {
    const ids = Array.from({ length: 30 }, (_, n) => `r${n}`)
    for (const id of ids) await asleep(s, id, 1_000)
    s.clock.advance(2_000)
    let woken = 0
    // A pass may leave to others what they are at; the next one finds what is left.
    for (let round = 0; round < 10 && woken < ids.length; round++) {
      const passes = await Promise.all(Array.from({ length: 10 }, () => s.store.wakeDue(7)))
      woken += passes.reduce((sum, pass) => sum + pass.woken, 0)
    }
    expect(woken).toBe(ids.length)
    expect(await states(s, ids)).toEqual(ids.map(() => 'pending'))
    for (const id of ids) {
      const { items } = await s.store.listEvents(ref(id), {})
      expect(items.filter(({ kind }) => kind === 'state').length).toBe(1)
    }
  })

  on('D6 hears of it who listens, and only if one was woken', async (s) => {
    await asleep(s, 'r1', 5)
    const turn = () => new Promise<void>((resolve) => s.clock.turn(resolve))
    await turn()
    let heard = 0
    s.store.onChange(() => heard++)
    await s.store.wakeDue(10)
    await turn()
    expect(heard).toBe(0)
    s.clock.advance(5)
    await s.store.wakeDue(10)
    await turn()
    expect(heard > 0).toBe(true)
  })
}

function overdue({ on, expect }: Bench): void {
  const ids = async (s: Subject, countMax = 10) =>
    (await s.store.listOverdue(countMax)).map((row) => row.itemId)

  on('D6 open items past their SLA, of all namespaces, the longest overdue first', async (s) => {
    const run = await s.held()
    const now = s.store.clock.now()
    const due = (id: string, inMs: number, more = {}) =>
      item(id, { dueAt: now + inMs, kind: 'approval', reason: null, ...more })
    const closed = { state: 'closed', closedAt: now, closedBy: 'x' } as const
    await s.commit(run, {
      items: [due('b', 200), due('a', 100), due('z', 9_000), item('never'), due('c', 1, closed)],
    })
    const other = newRun('r1', { namespace: 'other' })
    const event = { ...other.event, namespace: 'other' }
    await s.store.start({ ...other, checkpoint: null, event })
    const [theirs] = await s.store.claim({
      workerId: 'w_1',
      namespace: 'other',
      countMax: 1,
      graphs: [{ name: 'g', version: '1.0.0' }],
    })
    if (theirs === undefined) throw new Error('not claimed')
    await s.commit(theirs, { items: [due('t', 50, { namespace: 'other' })] })
    expect(await ids(s)).toEqual([])
    s.clock.advance(1_000)
    expect(await ids(s)).toEqual(['t', 'a', 'b'])
    expect(await ids(s, 1)).toEqual(['t'])
  })

  on('D6 an item that was noticed is not given again, and keeps when it was', async (s) => {
    const run = await s.held()
    await s.commit(run, { items: [item('a', { dueAt: s.store.clock.now() + 5 })] })
    s.clock.advance(5)
    const [found] = await s.store.listOverdue(10)
    if (found === undefined) throw new Error('nothing is overdue')
    const overdueAt = s.store.clock.now()
    await s.amend(run, { items: [{ ...found, overdueAt }] })
    expect(await ids(s)).toEqual([])
    expect(await s.store.getItem(run.namespace, 'a')).toEqual({ ...found, overdueAt })
  })
}

function tokens({ on, expect }: Bench): void {
  on('D5 an attempt is found by the hash of its token, in whatever run and visit', async (s) => {
    const run = await s.held()
    const { attemptId } = attempt()
    await s.commit(run, { attempts: [attempt(1, { tokenHash: 't1' }), attempt(2)] })
    expect(await s.store.findAttempt('t1')).toEqual({ ...ref(), attemptId })
    expect(await s.store.findAttempt('t2')).toBe(null)
    const later = attempt(2, { tokenHash: 't2' })
    await s.commit(run, { attempts: [later], run: { visit: 2, node: 'n2' } })
    expect(await s.store.findAttempt('t2')).toEqual({ ...ref(), attemptId: later.attemptId })
    const ended = attempt(1, { tokenHash: 't1', endedAt: 3_000, outcome: 'landed' })
    await s.commit(run, { attempts: [ended] })
    expect(await s.store.findAttempt('t1')).toEqual({ ...ref(), attemptId })
  })

  on('D5 a deadline is kept with its intent, and signed', async (s) => {
    const run = await s.held()
    await s.commit(run, { records: [record(1, { dueAt: 9_000 })] })
    const [row] = (await s.load(run)).records
    expect(row).toEqual({ ...record(1, { dueAt: 9_000 }), verifies: true })
  })
}

function counting({ on, expect }: Bench): void {
  on('D6 counts what waits for somebody', async (s) => {
    const nothing = { pending: 0, oldestPendingAt: null, orphans: 0, due: 0, dueLagMs: 0 }
    const none = { ...nothing, openItems: 0, overdueItems: 0 }
    expect(await s.store.backlog()).toEqual(none)
    const now = s.store.clock.now()
    await asleep(s, 'due', 1_000)
    await asleep(s, 'asleep', 9e12)
    const run = await s.held('held')
    const mine = { runId: 'held', dueAt: now + 1_000 }
    const noticed = item('c', { ...mine, overdueAt: now })
    await s.commit(run, { items: [item('a', mine), item('b', { runId: 'held' }), noticed] })
    await s.store.start(newRun('second', { createdAt: 9_000, updatedAt: 9_000 }))
    await s.store.start(newRun('third', { createdAt: 8_000, updatedAt: 8_000 }))
    expect(await s.store.backlog()).toEqual({
      ...none,
      pending: 2,
      oldestPendingAt: 8_000,
      openItems: 3,
    })
    s.clock.advance(leaseMs + 2_000)
    const counted = await s.store.backlog()
    expect(counted).toMatchObject({ orphans: 1, due: 1, openItems: 3, overdueItems: 2 })
    expect(counted.dueLagMs >= leaseMs + 1_000).toBe(true)
  })
}
