// Two releases side by side: each worker takes the versions that it carries, and no others.
import { expect, test } from 'vitest'
import { open } from '../../src/index.ts'
import { agent as first, reader } from './agents.mjs'
import { Fleet, kinds, states } from './site.ts'

/** The same file as the next release would have it. */
async function nextRelease(): Promise<typeof first> {
  process.env['FLEET_VERSION'] = '1.10.0'
  const module: { agent: typeof first } = await import(`./agents.mjs?release=${'1.10.0'}`)
  delete process.env['FLEET_VERSION']
  return module.agent
}

interface Row {
  graph: string
  version: string
  live: number
  ended: number
}

test.each(kinds)(
  'F4 old and new workers work side by side until the old version has drained, on %s',
  async (kind) => {
    const fleet = await Fleet.open(kind)
    const second = await nextRelease()
    expect([first.id, second.id]).toEqual(['agent@1.0.0', 'agent@1.10.0'])
    const cf = await fleet.client([first, second, reader])
    const left = async () => {
      const { stdout } = await fleet.command(['versions', '--graph', 'agent', '--json']).ended
      const { versions } = JSON.parse(stdout) as { versions: Row[] }
      return versions.map(({ version, live, ended }) => `${version}: ${live} live, ${ended} ended`)
    }
    for (const n of [1, 2]) await cf.start(first, { to: `old${n}` }, { runId: `old${n}` })
    // By name a new run begins on the newest, by its numbers; one that exists stays where it is.
    for (const n of [1, 2, 3]) await cf.start('agent', { to: `new${n}` }, { runId: `new${n}` })
    await cf.start('agent', { to: 'old1' }, { runId: 'old1' })
    expect((await cf.run('old1').status()).version).toBe('1.0.0')
    expect(await left()).toEqual(['1.10.0: 3 live, 0 ended', '1.0.0: 2 live, 0 ended'])

    const newer = await fleet.worker([], { FLEET_VERSION: '1.10.0' })
    await expect.poll(left, { timeout: 60_000 }).toContain('1.10.0: 0 live, 3 ended')
    expect(await left()).toContain('1.0.0: 2 live, 0 ended')
    expect(await states(cf)).toEqual({ completed: 3, pending: 2 })

    const older = await fleet.worker()
    await expect.poll(left, { timeout: 60_000 }).toContain('1.0.0: 0 live, 2 ended')
    for (const worker of [newer, older]) {
      worker.child.kill('SIGTERM')
      expect((await worker.ended).code).toBe(0)
    }
    expect(fleet.effects().length).toBe(5 * 12)
  },
  180_000,
)

test('F4 a name that open() was not given is refused, with those that it has', async () => {
  const cf = await open({ store: 'memory:', graphs: [first], onWarning: () => {} })
  await expect(cf.start('agents', { to: 'x' })).rejects.toThrow(
    /agents was not given.*agent@1\.0\.0/,
  )
  await cf.close()
})
