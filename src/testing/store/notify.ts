import { type Bench, newRun, record, ref, type Subject } from './fixtures.ts'

const turn = (s: Subject) => new Promise<void>((resolve) => s.clock.turn(resolve))

export function notifyConcern({ describe, on, expect }: Bench): void {
  describe('onChange', () => {
    on('hears of what starts, wakes, parks or ends a run, and not of receipts', async (s) => {
      let heard = 0
      s.store.onChange(() => heard++)
      const hears = async (write: () => Promise<unknown>) => {
        await turn(s)
        const before = heard
        await write()
        await turn(s)
        return heard > before
      }
      expect(await hears(() => s.held())).toBe(true)
      const { run } = await s.load(ref())
      expect(await hears(() => s.commit(run, { records: [record()] }))).toBe(false)
      const park = { state: 'waiting_human', release: true } as const
      expect(await hears(() => s.commit(run, { run: park }))).toBe(true)
      const wake = { state: 'pending', arrive: true } as const
      const amend = () =>
        s.store.amend(run, 'client', () => ({ changes: { run: wake }, value: null }))
      expect(await hears(amend)).toBe(true)
      expect(await hears(() => s.store.declareDead('w_1', 'gone'))).toBe(true)
      expect(await hears(() => s.load(run))).toBe(false)
    })

    on('not inside the write: a listener may write itself', async (s) => {
      let late = false
      let seen: boolean | null = null
      const stop = s.store.onChange(() => {
        seen ??= late
        stop()
      })
      const started = s.store.start(newRun())
      late = true
      await started
      await turn(s)
      expect(seen).toBe(true)
    })

    on('not after it has gone', async (s) => {
      let heard = 0
      const stop = s.store.onChange(() => heard++)
      stop()
      await s.store.start(newRun())
      await turn(s)
      expect(heard).toBe(0)
    })
  })
}
