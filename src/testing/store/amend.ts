import type { Changes } from '../../store/store.ts'
import {
  attempt,
  type Bench,
  checkpoint,
  decision,
  event,
  evidence,
  item,
  newRun,
  record,
  ref,
  settled,
} from './fixtures.ts'

export function amendConcern(bench: Bench): void {
  bench.describe('amend', () => {
    writing(bench)
    refusing(bench)
  })
}

function writing({ on, expect }: Bench): void {
  on('shows what is there, writes what is answered, returns the value', async (s) => {
    const run = await s.held()
    await s.commit(run, { items: [item()] })
    const value = await s.store.amend(run, 'client', (now) => ({
      changes: {
        items: now.items.map((row) => ({ ...row, state: 'decided', version: row.version + 1 })),
        decisions: [decision()],
        events: [event('decided')],
        run: { arrive: true },
      },
      value: now.items.map((row) => row.itemId),
    }))
    expect(value).toEqual(['i1'])
    const loaded = await s.load(run)
    expect(loaded.items[0]).toMatchObject({ state: 'decided', version: 2 })
    expect(loaded.decisions).toEqual([{ ...decision(), verifies: true }])
    expect(loaded.run.arrivals).toBe(1)
  })

  on('writes nothing if there is nothing to write', async (s) => {
    await s.store.start(newRun())
    const before = await s.store.getRun(ref())
    s.clock.advance(5)
    expect(await s.store.amend(ref(), 'client', () => ({ changes: null, value: 7 }))).toBe(7)
    expect(await s.store.getRun(ref())).toEqual(before)
  })

  on('leaves the lease of a holder alone', async (s) => {
    const run = await s.held()
    const changes = { events: [event('note')] }
    await s.store.amend(run, 'client', () => ({ changes, value: null }))
    expect(await s.commit(run, { records: [record()] })).toBe('done')
  })

  on('late evidence about a run that has ended is still kept (I11)', async (s) => {
    const run = await s.held()
    await s.commit(run, { records: [record()], attempts: [attempt()] })
    await s.commit(run, { run: { state: 'failed', errorJson: '{}', release: true } })
    const changes = { evidence: [evidence()], events: [event('late')], run: { arrive: true } }
    await s.store.amend(run, 'evidence', () => ({ changes, value: null }))
    const loaded = await s.load(run)
    expect(loaded.evidence.length).toBe(1)
    expect(loaded.run.state).toBe('failed')
  })
}

function refusing({ on, expect }: Bench): void {
  on('there must be such a run', async (s) => {
    const nobody = s.store.amend(ref('nobody'), 'client', () => ({ changes: {}, value: null }))
    await expect(nobody).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
  })

  on('a throw takes everything back and is passed on', async (s) => {
    await s.store.start(newRun())
    const broken = s.store.amend(ref(), 'client', () => {
      throw new TypeError('mine')
    })
    await expect(broken).rejects.toMatchObject({ name: 'TypeError', message: 'mine' })
    const fine = { changes: { events: [event('after')] }, value: 'fine' }
    expect(await s.store.amend(ref(), 'client', () => fine)).toBe('fine')
  })

  const cases: [string, 'client' | 'evidence', Changes][] = [
    ['a client may not write records', 'client', { records: [settled(record())] }],
    ['a client may not write attempts', 'client', { attempts: [attempt()] }],
    ['a client may not write evidence', 'client', { evidence: [evidence()] }],
    ['a client may not write checkpoints', 'client', { checkpoints: [checkpoint()] }],
    ['evidence may not write records', 'evidence', { records: [settled(record())] }],
    ['evidence may not begin an attempt', 'evidence', { attempts: [attempt()] }],
    ['evidence may not make a grant', 'evidence', { decisions: [decision()] }],
    ['evidence may not end a run', 'evidence', { run: { state: 'cancelled' } }],
    ['a row of another run is refused', 'client', { events: [event('x', 'r2')] }],
  ]
  for (const [name, by, changes] of cases) {
    on(`B8 ${name}`, async (s) => {
      await s.store.start(newRun())
      const all = { ...changes, events: [...(changes.events ?? []), event('beside')] }
      const refused = s.store.amend(ref(), by, () => ({ changes: all, value: null }))
      await expect(refused).rejects.toMatchObject({ code: 'WRITE_REFUSED' })
      expect((await s.events(ref())).length).toBe(1)
    })
  }

  on('an illegal transition is refused', async (s) => {
    const run = await s.held()
    await s.commit(run, { run: { state: 'completed', outputJson: '1', release: true } })
    const changes = { run: { state: 'pending' } } as const
    const revived = s.store.amend(run, 'client', () => ({ changes, value: null }))
    await expect(revived).rejects.toMatchObject({ code: 'TRANSITION_ILLEGAL' })
    expect((await s.store.getRun(run))?.state).toBe('completed')
  })
}
