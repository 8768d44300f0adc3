import { attemptPlace } from '../../model/run/attempt-id.ts'
import { type Attempt, type CallRecord, keyOf } from '../../model/run/records.ts'
import { scopeVisit } from '../../model/run/scope.ts'
import { attempt, type Bench, event, record, ref, type Subject, settled } from './fixtures.ts'

/** Where a store keeps them is its own: with their call, or beside it. */
export function attemptsConcern(bench: Bench): void {
  bench.describe('attempts', () => {
    first(bench)
    later(bench)
  })
}

const sealed = (...rows: Attempt[]) => rows.map((row) => ({ ...row, verifies: true }))
const named = (row: Attempt, name = '~k7dq'): Attempt => ({
  ...row,
  attemptId: `${row.attemptId}${name}`,
})

async function both(s: Subject): Promise<unknown[]> {
  const { attempts } = await s.load(ref())
  return [attempts, await s.store.listAttempts(ref())]
}

function first({ on, expect }: Bench): void {
  on('B3 what an intent was sent as is there, before and after its receipt', async (s) => {
    const run = await s.held()
    const sent = [named(attempt(1)), named(attempt(2, { outlives: true, quietMs: 5 }), '~x')]
    await s.commit(run, { records: [record(1), record(2)], attempts: sent })
    expect(await both(s)).toEqual([sealed(...sent), sealed(...sent)])
    await s.commit(run, { records: [settled(record(1)), settled(record(2))] })
    expect(await both(s)).toEqual([sealed(...sent), sealed(...sent)])
  })

  on('I5 what is said of it later is kept with who has sent it', async (s) => {
    const run = await s.held()
    await s.commit(run, { records: [record(1)], attempts: [attempt(1)] })
    const beat = { beatAt: 2_500, beatJson: '1' }
    const ended = attempt(1, { ...beat, endedAt: 3_000, outcome: 'unknown', tokenHash: 't1' })
    await s.commit(run, { attempts: [attempt(1, beat)] })
    await s.commit(run, { attempts: [ended], events: [event('x')] })
    expect(await both(s)).toEqual([sealed(ended), sealed(ended)])
    expect(await s.store.findAttempt('t1')).toEqual({ ...ref(), attemptId: ended.attemptId })
    await s.commit(run, { records: [settled(record(1))] })
    expect(await both(s)).toEqual([sealed(ended), sealed(ended)])
  })

  on('B8 who has sent an intent cannot be rewritten, whatever is said of it', async (s) => {
    const run = await s.held()
    await s.commit(run, { records: [record(1)], attempts: [attempt(1)] })
    const over = { endedAt: 3_000, outcome: 'not_sent' } as const
    const moves = [{ fence: 2 }, { workerId: 'w_2' }, { quietMs: 1 }, { dispatchedAt: 1 }]
    for (const moved of [...moves, ...moves.map((one) => ({ ...one, ...over }))]) {
      const forged = s.commit(run, { attempts: [attempt(1, moved)] })
      await expect(forged).rejects.toMatchObject({ code: 'ROW_IMMUTABLE', retryable: false })
      const again = s.commit(run, { records: [record(1)], attempts: [attempt(1, moved)] })
      await expect(again).rejects.toMatchObject({ code: 'ROW_IMMUTABLE' })
    }
    expect(await both(s)).toEqual([sealed(attempt(1)), sealed(attempt(1))])
  })

  on('C2 of calls with one key in two visits each keeps its own', async (s) => {
    const run = await s.held()
    const place = attemptPlace(0, 2, keyOf(record(1)), 1)
    const there = record(1, { checkpointId: '1.0.0#0#2' })
    const sent = [attempt(1), attempt(1, { attemptId: place, dispatchedAt: 2_002 })]
    await s.commit(run, { records: [there, record(1)], attempts: [...sent].reverse() })
    expect(await s.store.listAttempts(ref())).toEqual(sealed(...sent))
    expect((await s.load(run)).attempts).toEqual(sealed(attempt(1)))
    const over = { ...sent[1], endedAt: 3_000, outcome: 'refused' } as Attempt
    await s.commit(run, { attempts: [over] })
    expect(await s.store.listAttempts(ref())).toEqual(sealed(attempt(1), over))
  })
}

function later({ on, expect }: Bench): void {
  on('C2 a second attempt leaves the first as it was, whoever makes it', async (s) => {
    const run = await s.held()
    const [one, two] = [attempt(1), attempt(1, { attempt: 2, fence: 9, workerId: 'w_9' })]
    const second = { ...two, attemptId: attemptPlace(0, 1, keyOf(record(1)), 2) }
    const again = record(1, { attempt: 2, fence: 9, workerId: 'w_9', spanId: 's2' })
    await s.commit(run, { records: [record(1)], attempts: [one] })
    await s.commit(run, { records: [again], attempts: [{ ...second, dispatchedAt: 2_900 }] })
    const all = sealed(one, { ...second, dispatchedAt: 2_900 })
    expect(await both(s)).toEqual([all, all])
    await s.commit(run, { records: [settled(again)] })
    expect(await both(s)).toEqual([all, all])
  })

  on('C2 an attempt that follows a question is one like others', async (s) => {
    const run = await s.held()
    await s.commit(run, { records: [record(1, { attempt: 0 })] })
    await s.commit(run, { records: [record(1)], attempts: [attempt(1)] })
    expect(await both(s)).toEqual([sealed(attempt(1)), sealed(attempt(1))])
  })

  on('L5 the attempts of a scope are found by the ids of its host', async (s) => {
    const run = await s.held()
    const [nodeId, checkpointId] = ['tools', 'a/b#1']
    const visit = scopeVisit(nodeId, checkpointId)
    const call: CallRecord = record(1, { nodeId, checkpointId })
    const attemptId = `${attemptPlace(0, visit, keyOf(call), 1)}~k7dq`
    const sent = attempt(1, { attemptId })
    await s.commit(run, { records: [call], attempts: [sent] })
    const load = () => s.store.load(run, { visit, scope: { nodeId, checkpointId } })
    expect((await load())?.attempts).toEqual(sealed(sent))
    const over = { ...sent, endedAt: 3_000, outcome: 'unknown' } as const
    await expect(s.commit(run, { attempts: [{ ...over, fence: 3 }] })).rejects.toMatchObject({
      code: 'ROW_IMMUTABLE',
    })
    await s.commit(run, { attempts: [over], events: [event('x')] })
    expect((await load())?.attempts).toEqual(sealed(over))
    expect(await s.store.listAttempts(run)).toEqual(sealed(over))
  })
}
