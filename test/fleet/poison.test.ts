// A run that kills its workers, one real process after the other, is put before a person.
import { expect, test } from 'vitest'
import * as limits from '../../src/model/limits.ts'
import { poison } from './agents.mjs'
import { Fleet, kinds } from './site.ts'

interface Deaths {
  deaths: { worker: string; cause: string }[]
}

test.each(kinds)(
  'D2 ten workers die of a run: it parks with the list of them, and goes on when mended, on %s',
  async (kind) => {
    const fleet = await Fleet.open(kind)
    const cf = await fleet.client([poison])
    const run = await cf.start(poison, {}, { runId: 'p1' })
    let deaths = 0
    // Restart=always, as a supervisor would have it.
    while ((await run.status()).state !== 'waiting_human' && deaths < 2 * limits.claimsMax) {
      const worker = fleet.command(['worker', fleet.agents])
      const parked = run.until('waiting_human')
      const ended = worker.ended.then(({ signal }) => {
        expect(signal).toBe('SIGKILL')
        deaths++
      })
      if ((await Promise.race([parked, ended])) === undefined) continue
      worker.child.kill('SIGTERM')
      ended.catch(() => {})
    }
    expect(deaths).toBe(limits.claimsMax)
    const [item] = (await cf.inbox.list({ kind: 'doubt' })).items
    expect(item).toMatchObject({ reason: 'poison', runId: 'p1' })
    const { deaths: listed } = (item?.body.data ?? { deaths: [] }) as Deaths
    expect(listed.map(({ cause }) => cause)).toEqual(listed.map(() => 'dead'))
    expect(new Set(listed.map(({ worker }) => worker)).size).toBe(limits.claimsMax)

    const by = ['--by', 'ana', '--reason', 'more memory', '--version', `${item?.version}`]
    const said = await fleet.command(['decide', item?.itemId ?? '', 'resume', ...by]).ended
    expect(said).toMatchObject({ code: 0 })
    const mended = await fleet.worker([], { FLEET_MENDED: 'yes' })
    expect(await run.result()).toBe('mended')
    mended.child.kill('SIGTERM')
    expect((await mended.ended).code).toBe(0)
  },
  180_000,
)
