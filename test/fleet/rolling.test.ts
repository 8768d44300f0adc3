// All workers of a fleet are restarted, one after the other, while runs come in.
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { faults } from '../crash/driver.ts'
import { agent, effectsOf } from './agents.mjs'
import { eventsOf, Fleet, findings, kinds, states } from './site.ts'

test.each(kinds)(
  'D2 M4 a rolling restart of all workers under load, on %s, loses and repeats nothing',
  async (kind) => {
    const fleet = await Fleet.open(kind, { delayMs: 60 })
    const cf = await fleet.client([agent])
    const runIds: string[] = []
    let load = true
    const pump = async () => {
      for (; load && runIds.length < 80; await pause(100)) {
        const runId = `r${runIds.length}`
        runIds.push(runId)
        await cf.start(agent, { to: runId }, { runId })
      }
    }
    const words = ['--concurrency', '6', '--grace', '20s']
    let workers = await Promise.all([1, 2, 3].map(() => fleet.worker(words)))
    const pumping = pump()
    const replaced: number[] = []
    for (const old of workers) {
      const next = await fleet.worker(words)
      old.child.kill('SIGTERM')
      const { code, stderr } = await old.ended
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      replaced.push(old.child.pid ?? 0)
      workers = [...workers.slice(1), next]
    }
    load = false
    await pumping
    await expect
      .poll(() => states(cf), { timeout: 120_000, interval: 200 })
      .toEqual({ completed: runIds.length })
    for (const { child } of workers) child.kill('SIGTERM')
    const ends = await Promise.all(workers.map((worker) => worker.ended))
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0])

    expect(faults(fleet.effects(), runIds.flatMap(effectsOf))).toEqual([])
    expect((await cf.inbox.list({ state: 'decided' })).items).toEqual([])
    expect(await findings(cf)).toEqual([])
    // That it was under load: runs were given back in the middle, and taken by another.
    const given = (await eventsOf(cf, 'state')).filter(
      ({ cause }) => cause === 'released by its worker',
    )
    expect(given.length).toBeGreaterThan(2)
    expect(new Set(replaced).size).toBe(3)
    const { calls, sent } = { calls: runIds.length * 12, sent: fleet.effects().length }
    expect(sent).toBe(calls)
    console.log(
      `rolling, ${kind}: ${runIds.length} runs, ${calls} calls, ${given.length} given back`,
    )
  },
  240_000,
)
