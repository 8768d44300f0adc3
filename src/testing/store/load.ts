import { attemptId, attemptPlace } from '../../model/run/attempt-id.ts'
import { bare, callKey } from '../../model/run/records.ts'
import {
  attempt,
  type Bench,
  decision,
  evidence,
  item,
  record,
  ref,
  register,
  settled,
  worker,
} from './fixtures.ts'

export function loadConcern(bench: Bench): void {
  bench.describe('load', () => {
    rowsOfTheVisit(bench)
    wholeRun(bench)
  })
}

function rowsOfTheVisit({ on, expect }: Bench): void {
  on('gives back every row as it was put, and it verifies (B8)', async (s) => {
    const run = await s.held()
    const rows = {
      records: [settled(record(1)), record(2, { replayClass: 'idempotent_with_key' })],
      attempts: [attempt(1, { endedAt: 3_000, outcome: 'landed' }), attempt(2)],
      evidence: [evidence(2)],
      items: [item()],
      decisions: [decision()],
    } as const
    expect(await s.commit(run, structuredClone(rows) as never)).toBe('done')
    const loaded = await s.load(run)
    const sealed = (all: readonly object[]) => all.map((row) => ({ ...row, verifies: true }))
    expect(loaded.records).toEqual(sealed(rows.records))
    expect(loaded.attempts.map(bare)).toEqual(rows.attempts)
    expect(loaded.attempts.every((row) => row.verifies)).toBe(true)
    expect(loaded.evidence).toEqual(sealed(rows.evidence))
    expect(loaded.items).toEqual(rows.items)
    expect(loaded.decisions).toEqual(sealed(rows.decisions))
  })

  on('gives the records of this visit, whatever their version, in the order made', async (s) => {
    const run = await s.held()
    const at = (nth: number, checkpointId: string) => record(nth, { checkpointId })
    const ids = ['1.0.0#0#1', '0.9.0#0#1', '1.0.0#0#2', '1.0.0#1#1', '1.0.0-rc.1#0#1', '1.0.0#0#11']
    await s.commit(run, { records: ids.map((id, i) => at(9 - i, id)) })
    await s.commit(run, { records: [at(1, '10.0.0#0#1')] })
    const loaded = await s.load(run)
    expect(loaded.records.map((row) => row.checkpointId)).toEqual([
      '1.0.0#0#1',
      '0.9.0#0#1',
      '1.0.0-rc.1#0#1',
      '10.0.0#0#1',
    ])
  })

  on('leaves out attempts, evidence, items and decisions of other visits', async (s) => {
    const run = await s.held()
    const here = attemptPlace(0, 1, callKey('send', 'h1', 0), 1)
    const ids = [attemptId(here, { ...run, spanId: 's1' }), attemptPlace(0, 11, 'x/y/0', 1)]
    const visits = [1, 2, 11]
    await s.commit(run, {
      attempts: [...ids, attemptPlace(1, 1, 'x/y/0', 1)].map((id) => attempt(1, { attemptId: id })),
      evidence: ids.map((id) => evidence(1, { attemptId: id })),
      items: visits.map((visit) => item(`i${visit}`, { visit })),
      decisions: visits.map((visit) => decision(`d${visit}`, { visit })),
    })
    const loaded = await s.load(run)
    expect(loaded.attempts.map((row) => row.attemptId)).toEqual([ids[0]])
    expect(loaded.evidence.map((row) => row.attemptId)).toEqual([ids[0]])
    expect(loaded.items.map((row) => row.itemId)).toEqual(['i1'])
    expect(loaded.decisions.map((row) => row.decisionId)).toEqual(['d1'])
  })
}

function wholeRun({ on, expect }: Bench): void {
  on('gives what was failed without knowledge in the whole run', async (s) => {
    const run = await s.held()
    const failed = { status: 'failed', unresolved: true, checkpointId: '1.0.0#0#7' } as const
    await s.commit(run, { records: [settled(record(1), failed), record(2)] })
    const { unresolved } = await s.load(run)
    const pairs = unresolved.map(({ tool, inputHash }) => ({ tool, inputHash }))
    expect(pairs).toEqual([{ tool: 'send', inputHash: 'h1' }])
  })

  on('tells which workers of these attempts are dead on record, and since when (I5)', async (s) => {
    const run = await s.held()
    await register(s, 'w_2')
    await s.commit(run, { attempts: [attempt(1), attempt(2, { workerId: 'w_2' })] })
    expect((await s.load(run)).deaths.size).toBe(0)
    s.clock.advance(10)
    await s.store.declareDead(worker, 'seen dead')
    const died = s.clock.now()
    s.clock.advance(10)
    await s.store.declareDead(worker, 'said again')
    expect([...(await s.load(ref())).deaths]).toEqual([[worker, died]])
  })
}
