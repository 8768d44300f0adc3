import type { Checkpoint, Run } from '../../model/run/records.ts'
import type { Changes } from '../../store/store.ts'
import {
  attempt,
  type Bench,
  checkpoint,
  decision,
  event,
  evidence,
  item,
  record,
  ref,
  type Subject,
  settled,
} from './fixtures.ts'

export function checkpointConcern(bench: Bench): void {
  bench.describe('checkpoints', () => {
    chains(bench)
    looking(bench)
    rewinding(bench)
    otherVisits(bench)
    scopes(bench)
  })
}

/** A row of the chain that begins at `baseVisit`; a base if that is its own visit. */
function row(visit: number, baseVisit: number, more: Partial<Checkpoint> = {}): Checkpoint {
  const kind = visit === baseVisit ? 'base' : 'delta'
  const bodyJson = JSON.stringify({ visit })
  const own = { visit, baseVisit, kind, bodyJson, node: `n${visit}`, digest: `d${visit}` } as const
  return checkpoint('r1', { ...own, previous: kind === 'base' ? `d${visit - 1}` : null, ...more })
}

/** The run arrives at the visit of its last checkpoint. */
function arriving(...checkpoints: Checkpoint[]): Changes {
  const { visit = 1, node = 'run' } = checkpoints.at(-1) ?? {}
  return { checkpoints, run: { visit, node, progress: true } }
}

const visits = (rows: readonly { visit: number }[]) => rows.map(({ visit }) => visit)

function chains({ on, expect }: Bench): void {
  on('D10 a load gives the chain of the present visit, from its base on', async (s) => {
    const run = await s.held()
    const [first, second] = [row(2, 1), row(3, 1)]
    await s.commit(run, arriving(first))
    await s.commit(run, arriving(second))
    const loaded = await s.load(run)
    expect(loaded.checkpoints).toEqual([checkpoint(), first, second])
    expect(loaded.run).toMatchObject({ visit: 3, node: 'n3', reached: 3, claims: 0 })
    // A visit without a checkpoint leaves a gap, and a new base ends the chain before it.
    await s.commit(run, arriving(row(5, 1)))
    expect(visits((await s.load(run)).checkpoints)).toEqual([1, 2, 3, 5])
    await s.commit(run, arriving(row(6, 6)))
    await s.commit(run, arriving(row(8, 6)))
    expect(visits((await s.load(run)).checkpoints)).toEqual([6, 8])
  })

  on('D10 B4 several of one commit, and with records, land together', async (s) => {
    const run = await s.held()
    await s.commit(run, { ...arriving(row(2, 1), row(3, 1)), records: [settled(record())] })
    expect(visits((await s.load(run)).checkpoints)).toEqual([1, 2, 3])
    const stale = { ...arriving(row(4, 1)), records: [record(2)] }
    expect(await s.commit(run, stale, { fence: run.fence - 1 })).toBe('stale_fence')
    expect((await s.load(run)).run).toMatchObject({ visit: 3, node: 'n3' })
    expect(visits(await s.store.listCheckpoints(run))).toEqual([1, 2, 3])
  })
}

function looking({ on, expect }: Bench): void {
  on('D11 any visit of any generation can be asked for; without one there is none', async (s) => {
    const run = await s.held()
    const later = row(1, 1, { generation: 1, digest: 'other' })
    await s.commit(run, { ...arriving(row(2, 1), row(4, 4), row(5, 4)) })
    await s.commit(run, { checkpoints: [later] })
    const chain = (generation: number, visit: number) =>
      s.store.loadCheckpoints(run, generation, visit)
    expect(await chain(0, 2)).toEqual([checkpoint(), row(2, 1)])
    expect(visits(await chain(0, 5))).toEqual([4, 5])
    expect(await chain(1, 1)).toEqual([later])
    for (const [generation, visit] of [
      [0, 3],
      [0, 9],
      [2, 1],
    ] as const) {
      expect(await chain(generation, visit)).toEqual([])
    }
    expect(await s.store.loadCheckpoints(ref('nobody'), 0, 1)).toEqual([])
  })

  on('D11 the list names them all, in order, without their bodies', async (s) => {
    const run = await s.held()
    const other = row(1, 1, { generation: 1, bodyJson: '"é"' })
    await s.commit(run, { ...arriving(row(3, 1), row(2, 1, { bodyJson: '{}' })) })
    await s.commit(run, { checkpoints: [other] })
    const listed = await s.store.listCheckpoints(run)
    expect(listed.map(({ generation, visit }) => [generation, visit])).toEqual([
      [0, 1],
      [0, 2],
      [0, 3],
      [1, 1],
    ])
    expect(listed.every((each) => !('bodyJson' in each))).toBe(true)
    expect(listed[1]).toMatchObject({ digest: 'd2', kind: 'delta', baseVisit: 1, bytes: 2 })
    expect(listed[3]?.bytes).toBe(4)
    expect(await s.store.listCheckpoints(ref('nobody'))).toEqual([])
  })

  on('C5 a replay that comes to a visit again puts its checkpoint again', async (s) => {
    const run = await s.held()
    await s.commit(run, arriving(row(2, 1)))
    const again = row(2, 2, { digest: 'again', createdAt: 9_000 })
    await s.commit(run, arriving(again))
    expect((await s.load(run)).checkpoints).toEqual([again])
  })
}

/** Waits for a person at its fourth visit; a record reaches further. */
async function waiting(s: Subject): Promise<Run> {
  const run = await s.held()
  await s.commit(run, { ...arriving(row(2, 1), row(3, 1), row(4, 1)) })
  const records = [2, 4, 6].map((visit) => record(visit, { checkpointId: `1.0.0#0#${visit}` }))
  const other = row(7, 7, { generation: 1 })
  await s.commit(run, { records, checkpoints: [other], run: { reached: 6 } })
  await s.commit(run, { run: { state: 'waiting_human', release: true } })
  return run
}

function rewinding({ on, expect }: Bench): void {
  const back: Changes = {
    checkpoints: [row(2, 2, { digest: 'pinned' })],
    run: { state: 'pending', node: 'n2', visit: 2, rewind: true, arrive: true },
  }

  on('D11 going back drops the later checkpoints, and keeps every record', async (s) => {
    const run = await waiting(s)
    await s.store.amend(run, 'client', () => ({ changes: back, value: null }))
    const loaded = await s.load(run)
    expect(loaded.run).toMatchObject({ visit: 2, node: 'n2', state: 'pending', reached: 6 })
    expect(loaded.checkpoints).toEqual([row(2, 2, { digest: 'pinned' })])
    // Of this generation: what another has is not its business.
    expect(visits(await s.store.listCheckpoints(run))).toEqual([1, 2, 7])
    expect((await s.store.listRecords(run, {})).items.length).toBe(3)
    const later = await s.store.load(run, { visit: 6 })
    expect(later?.records.map((each) => each.checkpointId)).toEqual(['1.0.0#0#6'])
  })

  on('D10 how far records reach only grows', async (s) => {
    const run = await s.held()
    await s.commit(run, { run: { reached: 5 } })
    await s.commit(run, { run: { reached: 3 } })
    await s.commit(run, arriving(row(2, 1)))
    expect(await s.store.getRun(run)).toMatchObject({ reached: 5, visit: 2 })
    await s.commit(run, arriving(row(9, 1)))
    expect(await s.store.getRun(run)).toMatchObject({ reached: 9, visit: 9 })
  })

  on('D11 B8 it is one write: a refused one drops nothing', async (s) => {
    const run = await waiting(s)
    const foreign = { ...back, events: [event('x', 'r2')] }
    const refused = s.store.amend(run, 'client', () => ({ changes: foreign, value: null }))
    await expect(refused).rejects.toMatchObject({ code: 'WRITE_REFUSED' })
    expect(visits((await s.load(run)).checkpoints)).toEqual([1, 2, 3, 4])
  })
}

function otherVisits({ on, expect }: Bench): void {
  const ids = (visit: number) => ({
    records: [record(visit, { checkpointId: `1.0.0#0#${visit}`, nodeId: `n${visit}` })],
    attempts: [attempt(visit, { attemptId: `0#${visit}/send/h${visit}/0/1` })],
    evidence: [evidence(visit, { attemptId: `0#${visit}/send/h${visit}/0/1`, resultJson: null })],
    items: [item(`i${visit}`, { visit })],
    decisions: [decision(`d${visit}`, { visit })],
  })

  on('C3 a load at another visit has the rows of that one, whatever their node', async (s) => {
    const run = await s.held()
    for (const visit of [2, 3, 12]) await s.commit(run, ids(visit))
    const strange = record(3, { nodeId: 'elsewhere', checkpointId: '0.9.0#0#3' })
    await s.commit(run, { records: [strange] })
    const loaded = await s.store.load(run, { visit: 3 })
    expect(loaded?.run.visit).toBe(1)
    expect(loaded?.checkpoints).toEqual([])
    expect(loaded?.records.map((each) => each.nodeId)).toEqual(['n3', 'elsewhere'])
    expect(loaded?.attempts.map((each) => each.attemptId)).toEqual(['0#3/send/h3/0/1'])
    expect(loaded?.evidence.length).toBe(1)
    expect(loaded?.items.map((each) => each.itemId)).toEqual(['i3'])
    expect(loaded?.decisions.map((each) => each.decisionId)).toEqual(['d3'])
    const none = await s.store.load(run, { visit: 5 })
    expect([none?.records, none?.attempts, none?.items]).toEqual([[], [], []])
    expect(await s.store.load(ref('nobody'), { visit: 3 })).toBe(null)
  })

  on('I11 so does an amendment: late evidence is judged by its own visit', async (s) => {
    const run = await s.held()
    for (const visit of [2, 3]) await s.commit(run, ids(visit))
    const seen = await s.store.amend(
      run,
      'evidence',
      (now) => ({
        changes: {
          attempts: now.attempts.map(({ verifies: _, ...open }) => ({
            ...open,
            endedAt: 9_000,
            outcome: 'landed' as const,
          })),
          run: { arrive: true },
        },
        value: now.records.map((each) => each.nth),
      }),
      { visit: 2 },
    )
    expect(seen).toEqual([2])
    const ended = (await s.store.listAttempts(run)).map((each) => each.endedAt)
    expect(ended).toEqual([9_000, null])
    expect((await s.load(run)).run).toMatchObject({ arrivals: 1, visit: 1 })
  })
}

function scopes({ on, expect }: Bench): void {
  on('C3 a scope is found by the ids of its host, whatever they look like', async (s) => {
    const run = await s.held()
    const scope = { nodeId: 'tools', checkpointId: '1f0#%_' }
    const at = { visit: 77, scope }
    const attemptId = '0#77/send/h1/0/1'
    await s.commit(run, {
      records: [record(1, scope), record(1, { ...scope, checkpointId: '1f0#%_x' })],
      attempts: [attempt(1, { attemptId })],
    })
    const loaded = await s.store.load(run, at)
    expect(loaded?.records.map((each) => each.checkpointId)).toEqual(['1f0#%_'])
    expect(loaded?.attempts.map((each) => each.attemptId)).toEqual([attemptId])
    const amended = await s.store.amend(
      run,
      'client',
      (now) => ({ changes: null, value: now.records.length }),
      at,
    )
    expect(amended).toBe(1)
  })
}
