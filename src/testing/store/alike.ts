// What one store once answered otherwise than the others, found by random sequences: each with its
// cause.
import type { Changes } from '../../store/store.ts'
import {
  attempt,
  type Bench,
  claimOne,
  commitOf,
  decision,
  event,
  graphs,
  item,
  leaseMs,
  namespace,
  newRun,
  record,
  ref,
  settled,
  worker,
} from './fixtures.ts'

export function alikeConcern(bench: Bench): void {
  bench.describe('what stores once differed in', () => {
    commits(bench)
    forms(bench)
    notices(bench.of('documents'))
    holding(bench)
    forgetting(bench.of('retention'))
    claims(bench)
    adoption(bench.of('moves'))
    orders(bench)
  })
}

function commits({ on, expect }: Bench): void {
  on('B8 what a commit may not have is refused, also of a holder that is stale', async (s) => {
    const run = await s.held()
    const foreign = { events: [event('called', 'r2')] }
    const stale = commitOf(run, 'c', foreign, { fence: run.fence - 1 })
    await expect(s.store.commit([stale])).rejects.toMatchObject({ code: 'WRITE_REFUSED' })
  })

  on('I2 a run that is not running has no holder, whoever its row still names', async (s) => {
    const run = await s.held()
    await s.commit(run, { run: { state: 'paused' } })
    expect(await s.commit(run, { events: [event('late')] })).toBe('stale_fence')
    expect((await s.events(run)).some(({ kind }) => kind === 'late')).toBe(false)
  })

  on('I4 a commit of a lower number than the last was applied, and is not again', async (s) => {
    const run = await s.held()
    const numbered = (n: number) => commitOf(run, `${run.fence}.${n}`, { events: [event(`e${n}`)] })
    expect(await s.store.commit([numbered(10)])).toEqual(['done'])
    expect(await s.store.commit([numbered(9)])).toEqual(['done'])
    const kinds = (await s.events(run)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind.startsWith('e'))).toEqual(['e10'])
  })

  on('I10 a parent that a run does not have is refused, and told nothing', async (s) => {
    const run = await s.held()
    await s.store.start(newRun('stranger'))
    const parent = { runId: 'stranger', attemptId: attempt().attemptId }
    const end = { run: { state: 'completed', outputJson: '1', release: true } } as const
    const said = s.commit(run, end, { parent })
    await expect(said).rejects.toMatchObject({ code: 'WRITE_REFUSED' })
    expect(await s.store.getRun(ref('stranger'))).toMatchObject({ arrivals: 0 })
    expect(await s.store.getRun(run)).toMatchObject({ state: 'running' })
  })
}

function forms({ on, expect }: Bench): void {
  const ended = attempt(1, { endedAt: 3_000, outcome: 'landed' })
  const twice: [name: string, changes: Changes][] = [
    ['an attempt that has ended', { attempts: [ended, attempt()] }],
    ['a receipt', { records: [settled(record()), record()] }],
    ['a grant that is void', { decisions: [decision('d1', { voidedAt: 1 }), decision()] }],
  ]
  for (const [name, changes] of twice) {
    on(`B8 ${name} is final for the rest of the same change`, async (s) => {
      const run = await s.held()
      await expect(s.commit(run, changes)).rejects.toMatchObject({ code: 'ROW_IMMUTABLE' })
      expect(await s.load(run)).toMatchObject({ records: [], attempts: [], decisions: [] })
    })
  }

  on('B8 a receipt that is not just the end of its intent verifies', async (s) => {
    const run = await s.held()
    await s.commit(run, { records: [record(1, { replayClass: 'idempotent_with_key' })] })
    await s.commit(run, { records: [settled(record(), { attempt: 2, spanId: 's2' })] })
    const receipt = { replayClass: 'unsafe_on_replay', attempt: 2, spanId: 's2', verifies: true }
    expect((await s.load(run)).records[0]).toMatchObject(receipt)
  })

  on('B8 when a call was made cannot be rewritten by its receipt', async (s) => {
    const run = await s.held()
    await s.commit(run, { records: [record()] })
    const moved = s.commit(run, { records: [settled(record(), { createdAt: 1 })] })
    await expect(moved).rejects.toMatchObject({ code: 'ROW_IMMUTABLE' })
  })

  on('E1 an item stays its run’s: another cannot put it', async (s) => {
    const run = await s.held()
    await s.commit(run, { items: [item()] })
    await s.store.start(newRun('r2'))
    const taken = s.amend(ref('r2'), { items: [item('i1', { runId: 'r2' })] })
    await expect(taken).rejects.toMatchObject({ code: 'ROW_IMMUTABLE' })
    expect(await s.store.getItem(namespace, 'i1')).toMatchObject({ runId: 'r1' })
  })

  on('B8 how a run ended cannot be rewritten afterwards', async (s) => {
    const run = await s.held()
    await s.commit(run, { run: { state: 'failed', errorJson: '{"n":1}', release: true } })
    for (const change of [{ errorJson: '{}' }, { outputJson: '1' }, { outputDigest: 'd' }]) {
      const again = s.amend(run, { run: change })
      await expect(again).rejects.toMatchObject({ code: 'ROW_IMMUTABLE' })
    }
    await s.amend(run, { run: { arrive: true } })
    expect(await s.store.getRun(run)).toMatchObject({ errorJson: '{"n":1}', arrivals: 1 })
  })
}

function notices({ on, expect }: Bench): void {
  on('E10 of two notices with one id in a change the first stays', async (s) => {
    const run = await s.held()
    const notice = { ...ref(), noticeId: 'n1', kind: 'doubt', itemId: null, at: 1 } as const
    const notices = ['1', '2'].map((dataJson) => ({ ...notice, dataJson }))
    await s.commit(run, { notices })
    expect(await s.store.takeNotices(worker, 10, 1_000)).toMatchObject([{ dataJson: '1' }])
  })
}

function holding({ on, expect }: Bench): void {
  on('D2 a run that goes on running is not given back: nobody would take it', async (s) => {
    const run = await s.held()
    const back = s.commit(run, { run: { release: true } })
    await expect(back).rejects.toMatchObject({ code: 'WRITE_REFUSED' })
  })

  on('D2 only a claim makes a run run', async (s) => {
    await s.store.start(newRun())
    const asked = s.amend(ref(), { run: { state: 'running' } })
    await expect(asked).rejects.toMatchObject({ code: 'WRITE_REFUSED' })
  })
}

function forgetting({ on, expect }: Bench): void {
  on('D6 a worker that ended is forgotten, though a parked run names it', async (s) => {
    const run = await s.held()
    await s.commit(run, { run: { state: 'paused' } })
    await s.store.stopWorker(worker, true)
    s.clock.advance(20 * 86_400_000)
    await s.store.retain({ pureMs: 0, keyedMs: 0, unsafeMs: 14 * 86_400_000 }, 10)
    expect(await s.store.workers()).toEqual([])
  })
}

function claims({ on, expect }: Bench): void {
  on('D2 a worker whose own lease has ended is given each of its runs once', async (s) => {
    await s.held()
    s.clock.advance(leaseMs + 1)
    // Several groups are served in rounds, of which the second must not begin anew.
    const both = [...graphs, { name: 'h', version: '1.0.0' }]
    const asked = { workerId: worker, namespace, graphs: both, countMax: 2 }
    const taken = await s.store.claim(asked)
    expect(taken).toMatchObject([{ runId: 'r1', fence: 2, claims: 2 }])
  })

  on('F4 claims of one run at a time go round the namespaces, and around', async (s) => {
    const begin = async (name: string) => {
      const made = newRun(`r-${name}`, { namespace: name })
      await s.store.start({ ...made, checkpoint: null, event: { ...made.event, namespace: name } })
    }
    const claim = () => s.store.claim({ workerId: worker, graphs, countMax: 1 })
    await begin('z')
    expect(await claim()).toMatchObject([{ namespace: 'z' }])
    await begin('a')
    expect(await claim()).toMatchObject([{ namespace: 'a' }])
  })
}

function adoption({ on, expect }: Bench): void {
  on('I12 adoption lets go of what is held: its holder writes nothing more', async (s) => {
    const run = await s.held()
    await s.commit(run, { records: [record()] })
    await s.store.adopt('ana', 'restored')
    expect(await s.commit(run, { records: [settled(record())] })).toBe('stale_fence')
    const free = { state: 'pending', workerId: null, fence: run.fence + 1 }
    expect(await s.store.getRun(run)).toMatchObject(free)
    const last = (await s.events(run)).at(-1)
    expect(last).toMatchObject({ kind: 'state', data: { to: 'pending', worker } })
    expect(await claimOne(s, 'r1')).toMatchObject({ fence: run.fence + 2 })
  })
}

function orders({ on, expect }: Bench): void {
  on('calls are listed as they were made, attempts as they were sent', async (s) => {
    const run = await s.held()
    const [first, second] = [attempt(1), attempt(2)]
    await s.commit(run, { records: [record(2), record(1)], attempts: [second, first] })
    const calls = (await s.store.listRecords(run, {})).items.map(({ nth }) => nth)
    expect(calls).toEqual([1, 2])
    const sent = (await s.store.listAttempts(run)).map(({ attemptId }) => attemptId)
    expect(sent).toEqual([first.attemptId, second.attemptId])
    expect((await s.load(run)).attempts.map(({ attemptId }) => attemptId)).toEqual(sent)
  })

  on('items are listed as they were made, whosever they are', async (s) => {
    const run = await s.held()
    await s.store.start(newRun('r2'))
    await s.amend(ref('r2'), { items: [item('i2', { runId: 'r2' })] })
    await s.commit(run, { items: [item('i1')] })
    const { items } = await s.store.listItems({ namespace })
    expect(items.map(({ itemId }) => itemId)).toEqual(['i2', 'i1'])
  })
}
