import type { Run } from '../../model/run/records.ts'
import {
  type Bench,
  graphs,
  leaseMs,
  newRun,
  ref,
  register,
  type Subject,
  worker,
} from './fixtures.ts'

const claim = (s: Subject, workerId = worker, countMax = 10): Promise<Run[]> =>
  s.store.claim({ workerId, graphs, countMax })

const ids = (runs: readonly Run[]) => runs.map((run) => run.runId)

export function leaseConcern(bench: Bench): void {
  bench.describe('leases', () => {
    claiming(bench)
    fairness(bench)
    oneRun(bench)
    stopping(bench)
    ending(bench)
    workers(bench)
  })
}

function claiming({ on, expect }: Bench): void {
  on('D2 a worker that has stopped or died is not revived by registering again', async (s) => {
    await register(s, 'w_stopped')
    await s.store.stopWorker('w_stopped', true)
    await register(s, 'w_dead')
    await s.store.declareDead('w_dead', 'gone')
    for (const workerId of ['w_stopped', 'w_dead']) {
      await expect(register(s, workerId)).rejects.toMatchObject({ code: 'WORKER_DEAD' })
      expect(await s.store.renew(workerId, 1_000)).toBe(false)
    }
  })

  on('a claim takes waiting runs, first come first served, and no more than asked', async (s) => {
    for (const id of ['z', 'a', 'm']) await s.store.start(newRun(id))
    expect(ids(await claim(s, worker, 2))).toEqual(['z', 'a'])
    expect(ids(await claim(s, worker, 0))).toEqual([])
    expect(ids(await claim(s))).toEqual(['m'])
    expect(ids(await claim(s))).toEqual([])
  })

  on('D2 it raises the fence, counts, names the holder and says so', async (s) => {
    await s.store.start(newRun())
    const [run] = await claim(s)
    const held = { state: 'running', fence: 1, claims: 1, workerId: worker }
    expect(run).toMatchObject(held)
    expect(await s.store.getRun(ref())).toEqual(run)
    const [, claimed] = await s.events(ref())
    expect(claimed).toMatchObject({ kind: 'claimed', data: { worker, fence: 1 } })
  })

  on('only runs of the graphs and versions that were asked for', async (s) => {
    await s.store.start(newRun('v1', { version: '1.0.1' }))
    await s.store.start(newRun('other', { graph: 'other' }))
    await s.store.start(newRun('mine'))
    expect(ids(await claim(s))).toEqual(['mine'])
    const asked = { workerId: worker, countMax: 10, graphs: [{ name: 'g', version: '1.0.1' }] }
    expect(ids(await s.store.claim(asked))).toEqual(['v1'])
    expect(await s.store.claim({ ...asked, graphs: [] })).toEqual([])
  })

  on('not those that wait for someone or have ended', async (s) => {
    const run = await s.held()
    await s.commit(run, { run: { state: 'waiting_human', release: true } })
    expect(await claim(s)).toEqual([])
    const other = await s.held('r2')
    await s.commit(other, { run: { state: 'completed', outputJson: '1', release: true } })
    s.clock.advance(leaseMs * 2)
    await register(s, 'w_2')
    expect(await claim(s, 'w_2')).toEqual([])
  })
}

/** Runs of a graph, or of a namespace, made one after the other. */
async function queue(s: Subject, count: number, more: Partial<Run>): Promise<void> {
  const { graph = 'g', namespace = 'default' } = more
  for (let i = 0; i < count; i++) {
    const made = newRun(`${namespace}/${graph}/${i}`, more)
    const event = { ...made.event, namespace }
    await s.store.start({ ...made, checkpoint: null, event })
  }
}

const groups = ['g', 'h', 'i'].map((name) => ({ name, version: '1.0.0' }))

function fairness({ on, expect }: Bench): void {
  const take = async (s: Subject, countMax: number, more = {}) =>
    s.store.claim({ workerId: worker, graphs: groups, countMax, ...more })
  const counts = (runs: readonly Run[], of: (run: Run) => string) =>
    runs.reduce<Record<string, number>>((sum, run) => {
      sum[of(run)] = (sum[of(run)] ?? 0) + 1
      return sum
    }, {})

  on('F4 a graph with a long backlog does not hold up the others', async (s) => {
    await queue(s, 20, { graph: 'g' })
    await queue(s, 3, { graph: 'h' })
    await queue(s, 1, { graph: 'i' })
    const taken = await take(s, 7)
    expect(counts(taken, (run) => run.graph)).toEqual({ g: 3, h: 3, i: 1 })
    const ofG = taken.filter((run) => run.graph === 'g')
    expect(ids(ofG)).toEqual(['default/g/0', 'default/g/1', 'default/g/2'])
    expect(counts(await take(s, 5), (run) => run.graph)).toEqual({ g: 5 })
  })

  on('F4 nor when runs are claimed one by one', async (s) => {
    await queue(s, 10, { graph: 'g' })
    await queue(s, 2, { graph: 'h' })
    const taken: Run[] = []
    for (let i = 0; i < 4; i++) taken.push(...(await take(s, 1)))
    expect(counts(taken, (run) => run.graph)).toEqual({ g: 2, h: 2 })
  })

  on('F4 nor a namespace with one, whose runs another worker left behind', async (s) => {
    await register(s, 'w_2')
    await queue(s, 6, { namespace: 'big' })
    await s.store.claim({ workerId: 'w_2', graphs: groups, countMax: 6 })
    await queue(s, 2, { namespace: 'small' })
    await s.store.declareDead('w_2', 'gone')
    expect(counts(await take(s, 4), (run) => run.namespace)).toEqual({ big: 2, small: 2 })
    await queue(s, 3, { namespace: 'small', graph: 'h' })
    const asked = await take(s, 2, { namespace: 'small' })
    expect(counts(asked, (run) => run.namespace)).toEqual({ small: 2 })
  })

  on('F4 all versions of a graph are one queue, oldest first', async (s) => {
    await s.store.start(newRun('a', { version: '1.0.1' }))
    await s.store.start(newRun('b'))
    await s.store.start(newRun('c', { version: '1.0.1' }))
    const both = ['1.0.0', '1.0.1'].map((version) => ({ name: 'g', version }))
    expect(ids(await s.store.claim({ workerId: worker, graphs: both, countMax: 2 }))).toEqual([
      'a',
      'b',
    ])
  })

  on('D2 ten at once: every run is claimed by one, and all are', async (s) => {
    await queue(s, 12, { graph: 'g' })
    await queue(s, 12, { graph: 'h' })
    const claims = await Promise.all(Array.from({ length: 10 }, () => take(s, 4)))
    const all = ids(claims.flat())
    expect(new Set(all).size).toBe(all.length)
    for (let rest = await take(s, 9); rest.length > 0; rest = await take(s, 9)) {
      all.push(...ids(rest))
    }
    expect(new Set(all).size).toBe(24)
    expect(all.length).toBe(24)
  })
}

function oneRun({ on, expect }: Bench): void {
  const claimOne = (s: Subject, runId: string, workerId = worker) =>
    s.store.claim({ workerId, graphs, countMax: 1, only: ref(runId) })

  on('D2 a claim of one run takes that one and no other', async (s) => {
    for (const id of ['a', 'b', 'c']) await s.store.start(newRun(id))
    expect(ids(await claimOne(s, 'b'))).toEqual(['b'])
    expect(ids(await claimOne(s, 'b'))).toEqual([])
    expect(ids(await claimOne(s, 'nobody'))).toEqual([])
    expect(ids(await claim(s))).toEqual(['a', 'c'])
  })

  on('D2 nor one that waits for somebody; one whose holder is gone it takes over', async (s) => {
    const run = await s.held()
    await register(s, 'w_2')
    expect(await claimOne(s, 'r1', 'w_2')).toEqual([])
    await s.store.declareDead(worker, 'gone')
    expect(await claimOne(s, 'r1', 'w_2')).toMatchObject([{ fence: 2, workerId: 'w_2' }])
    const [taken] = [await s.store.getRun(run)]
    if (taken === null || taken === undefined) throw new Error('the run is gone')
    await s.commit(taken, { run: { state: 'waiting_human', release: true } })
    expect(await claimOne(s, 'r1', 'w_2')).toEqual([])
  })
}

function stopping({ on, expect }: Bench): void {
  const wish = { to: 'paused', by: 'ana', why: 'lunch', at: 4_000 } as const
  const ask = (s: Subject, runId = 'r1') =>
    s.store.amend(ref(runId), 'client', () => ({
      changes: { run: { stop: wish, arrive: true } },
      value: null,
    }))

  on('D4 a wish to stop is found by who holds the run, with the arrivals it raised', async (s) => {
    await s.held()
    await s.held('r2')
    await register(s, 'w_2')
    expect(await s.store.stops(worker)).toEqual([])
    await ask(s)
    const [run, ...rest] = await s.store.stops(worker)
    expect(run).toMatchObject({ runId: 'r1', stop: wish, arrivals: 1 })
    expect(rest).toEqual([])
    expect(await s.store.stops('w_2')).toEqual([])
  })

  on('D4 it outlives its holder, and is gone when the run has stopped', async (s) => {
    await s.held()
    await ask(s)
    await register(s, 'w_2')
    await s.store.declareDead(worker, 'gone')
    const [taken] = await claim(s, 'w_2')
    if (taken === undefined) throw new Error('not taken over')
    expect(taken.stop).toEqual(wish)
    expect(ids(await s.store.stops('w_2'))).toEqual(['r1'])
    expect(await s.store.stops(worker)).toEqual([])
    await s.commit(taken, { run: { state: 'paused', release: true } }, { arrivalsSeen: 1 })
    expect(await s.store.stops('w_2')).toEqual([])
    expect(await s.store.getRun(ref())).toMatchObject({ state: 'paused', stop: null })
  })

  on('D4 it can be taken back; and one of a run that nobody holds is nobody', async (s) => {
    const run = await s.held()
    await ask(s)
    await s.store.amend(run, 'client', () => ({
      changes: { run: { stop: null, arrive: true } },
      value: null,
    }))
    expect(await s.store.stops(worker)).toEqual([])
    await s.store.start(newRun('r2'))
    await ask(s, 'r2')
    expect(await s.store.stops(worker)).toEqual([])
    expect(await s.store.getRun(ref('r2'))).toMatchObject({ stop: wish })
  })
}

function ending({ on, expect }: Bench): void {
  const takeOver = async (s: Subject, cause: string) => {
    const [run] = await claim(s, 'w_2')
    expect(run).toMatchObject({ runId: 'r1', fence: 2, claims: 2, workerId: 'w_2' })
    const last = (await s.events(ref())).at(-1)
    const data = { worker: 'w_2', from: worker, cause, fence: 2 }
    expect(last).toMatchObject({ kind: 'taken_over', data })
  }

  on('D2 a lease ends by the monotonic clock, and not before', async (s) => {
    await s.held()
    await register(s, 'w_2')
    s.clock.advance(leaseMs - 1)
    await s.store.renew('w_2', leaseMs)
    expect(await claim(s, 'w_2')).toEqual([])
    s.clock.advance(1)
    await takeOver(s, 'expired')
  })

  on('D2 one renewal keeps all runs of a worker', async (s) => {
    await s.held()
    await s.held('r2')
    await register(s, 'w_2')
    s.clock.advance(leaseMs - 1)
    expect(await s.store.renew(worker, leaseMs)).toBe(true)
    expect(await s.store.renew('w_2', leaseMs)).toBe(true)
    s.clock.advance(leaseMs - 1)
    expect(await claim(s, 'w_2')).toEqual([])
    s.clock.advance(1)
    expect(ids(await claim(s, 'w_2'))).toEqual(['r1', 'r2'])
  })

  on('I9 a death on record ends it at once', async (s) => {
    await s.held()
    await register(s, 'w_2')
    await s.store.declareDead(worker, 'its socket refused')
    await takeOver(s, 'dead')
  })

  on('a worker that has stopped holds nothing', async (s) => {
    await s.held()
    await register(s, 'w_2')
    await s.store.stopWorker(worker, true)
    await takeOver(s, 'stopped')
  })

  on('takeovers and waiting runs come in the order the runs were made', async (s) => {
    await s.held('first')
    await s.store.start(newRun('second'))
    await register(s, 'w_2')
    await s.store.declareDead(worker, 'gone')
    expect(ids(await claim(s, 'w_2'))).toEqual(['first', 'second'])
  })
}

function workers({ on, expect }: Bench): void {
  on('D2 who is not registered, has stopped or is dead claims nothing', async (s) => {
    await s.store.start(newRun())
    const dead = { code: 'WORKER_DEAD' }
    await expect(claim(s, 'w_9')).rejects.toMatchObject(dead)
    await register(s, 'w_2')
    await register(s, 'w_3')
    await s.store.stopWorker('w_2', true)
    await s.store.declareDead('w_3', 'gone')
    await expect(claim(s, 'w_2')).rejects.toMatchObject(dead)
    await expect(claim(s, 'w_3')).rejects.toMatchObject(dead)
    const renewed = ['w_9', 'w_2', 'w_3', worker].map((id) => s.store.renew(id, leaseMs))
    expect(await Promise.all(renewed)).toEqual([false, false, false, true])
    expect((await s.store.getRun(ref()))?.state).toBe('pending')
  })

  on('lists them with their ends', async (s) => {
    await register(s, 'w_2')
    await register(s, 'w_3')
    s.clock.advance(5)
    await s.store.stopWorker('w_2', true)
    await s.store.declareDead('w_3', 'gone')
    const now = s.clock.now()
    const [first] = await s.store.workers()
    s.clock.advance(leaseMs - 5)
    await s.store.renew(worker, leaseMs)
    const rows = await s.store.workers()
    const alive = { stoppedAt: null, diedAt: null, deathProof: null }
    expect(rows.map((row) => row.workerId)).toEqual([worker, 'w_2', 'w_3'])
    expect(rows[0]).toMatchObject({ ...alive, expired: false, host: 'here', pid: 1 })
    expect(rows[0]?.leaseUntil).toBe((first?.leaseUntil ?? 0) + leaseMs)
    expect(rows[1]).toMatchObject({ ...alive, stoppedAt: now, expired: true })
    expect(rows[2]).toMatchObject({ ...alive, diedAt: now, deathProof: 'gone' })
  })
}
