import { type Bench, event, newRun, ref } from './fixtures.ts'

export function startConcern({ describe, on, expect }: Bench): void {
  describe('start', () => {
    on('makes a run with its first checkpoint and event', async (s) => {
      const made = newRun()
      expect(await s.store.start(made)).toEqual({ created: true, run: made.run })
      expect(await s.store.getRun(ref())).toEqual(made.run)
      const loaded = await s.load(ref())
      expect(loaded.checkpoints).toEqual([made.checkpoint])
      expect(loaded.records.length + loaded.attempts.length + loaded.items.length).toBe(0)
      expect(await s.events(ref())).toEqual([event('started')])
    })

    on('answers the run that already has this id, and changes nothing', async (s) => {
      const made = newRun()
      await s.store.start(made)
      const again = await s.store.start(newRun('r1', { graph: 'other', inputHash: 'other' }))
      expect(again).toEqual({ created: false, run: made.run })
      expect((await s.events(ref())).length).toBe(1)
    })

    on('one id in two namespaces is two runs', async (s) => {
      await s.store.start(newRun('r1'))
      const other = newRun('r1', { namespace: 'other', graph: 'other' })
      const started = { ...other, event: { ...other.event, namespace: 'other' } }
      expect((await s.store.start(started)).created).toBe(true)
      expect((await s.store.getRun({ namespace: 'other', runId: 'r1' }))?.graph).toBe('other')
      expect((await s.store.getRun(ref()))?.graph).toBe('g')
      expect((await s.events(ref())).length).toBe(1)
    })

    on('knows no run that was not started', async (s) => {
      expect(await s.store.getRun(ref('nobody'))).toBe(null)
      expect(await s.store.load(ref('nobody'))).toBe(null)
    })
  })
}
