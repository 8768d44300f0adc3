// Renewal while the event loop is blocked, in real processes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Exit, Site, script } from '../crash/driver.ts'

// A thread that does not renew is noticed when half of it is over: the rest is for a slow machine.
const leaseMs = 6_000

async function begin() {
  const site = await Site.open(1)
  onTestFinished(() => site.close())
  const start = (options: object) => {
    const path = script('../../worker/blocker.mjs')
    const made = site.spawn(path, [site.db, site.port, JSON.stringify({ leaseMs, ...options })])
    let out = ''
    made.child.stdout?.on('data', (chunk) => {
      out += chunk
    })
    const says = async (text: string) => {
      await expect.poll(() => out, { timeout: 90_000, interval: 5 }).toContain(text)
    }
    onTestFinished(() => void made.child.kill('SIGKILL'))
    return { ...made, says }
  }
  return { site, start }
}

function fencesOf(site: Site): Promise<number[]> {
  const ref = { namespace: 'default', runId: 'r1' }
  return site.with(async (cf) => (await cf.store.listAttempts(ref)).map((row) => row.fence))
}

const subjects = (site: Site) =>
  site.effects().map((effect) => (effect.input as { subject: string }).subject)

function expectEnded(...ends: Exit[]): void {
  for (const { code, out, error } of ends) {
    expect({ code, error }, out).toEqual({ code: 0, error: '' })
    expect(out).toContain('closed')
  }
}

test('D2 blocked for two leases: the thread renews, nobody takes the run over', async () => {
  const { site, start } = await begin()
  const blocked = start({ busyMs: 2 * leaseMs })
  await blocked.says('sending first')
  const idle = start({ busyMs: 0, idle: true })
  const ends = await Promise.all([blocked.exit, idle.exit])
  expectEnded(...ends)
  expect(subjects(site)).toEqual(['first', 'second'])
  expect(ends[0].out).toMatch(/sending first\nblocked\nawake\nsending second/)
  expect(await fencesOf(site)).toEqual([1, 1])
  expect(ends[1].out).not.toContain('sending')
}, 300_000)

test('D2 blocked beyond the bound: taken over, and woken it sends nothing', async () => {
  const { site, start } = await begin()
  const awake = join(site.dir, 'awake')
  const blocked = start({ busyMs: 60_000, awake, blockedMsMax: 3_000 })
  await blocked.says('sending first')
  const idle = start({ busyMs: 0, idle: true })
  // It has come to the end of the run before the other one wakes.
  const taken = await idle.exit
  writeFileSync(awake, '')
  const ends = [await blocked.exit, taken] as const
  expectEnded(...ends)
  expect(subjects(site)).toEqual(['first', 'second'])
  expect(ends[0].out).toMatch(/sending first\nblocked\nawake\n/)
  expect(ends[0].out).not.toContain('sending second')
  expect(ends[0].out).toContain(`the event loop has been blocked for more than 3000 ms`)
  expect(ends[1].out).toContain('sending second')
  expect(await fencesOf(site)).toEqual([1, 2])
}, 300_000)

const opens = (how: string) => `export const openRenewer = async () => ${how}`
const broken = {
  'ends at once': opens('process.exit(1)'),
  'cannot be opened': opens('Promise.reject(new Error("no route"))'),
  'never answers': opens('({ renew: () => new Promise(() => {}), close: async () => {} })'),
}

test.each(Object.entries(broken))(
  'D2 a thread that %s: the main thread renews',
  async (_, renewer) => {
    const { site, start } = await begin()
    const worker = start({ busyMs: 0, renewer, waitMs: 2 * leaseMs })
    await worker.says('sending first')
    const idle = start({ busyMs: 0, idle: true })
    const ends = await Promise.all([worker.exit, idle.exit])
    expectEnded(...ends)
    expect(await fencesOf(site)).toEqual([1, 1])
    expect(ends[0].out).toContain('warning: ')
  },
  120_000,
)
