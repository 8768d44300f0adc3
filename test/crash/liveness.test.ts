// Takeover between real processes: a killed worker at once, a stopped one when its lease has ended.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { open } from '../../src/index.ts'
import { Site, script } from './driver.ts'

class Process {
  readonly child: ChildProcess
  out = ''

  constructor(name: string, args: string[]) {
    this.child = spawn(process.execPath, [script(name), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.child.stdout?.on('data', (chunk) => {
      this.out += chunk
    })
  }

  async says(text: string, timeoutMs = 200_000): Promise<number> {
    const from = Date.now()
    while (!this.out.includes(text)) {
      if (Date.now() - from > timeoutMs) throw new Error(`no "${text}" in: ${this.out}`)
      if (this.child.exitCode !== null) throw new Error(`ended, without "${text}": ${this.out}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return Date.now() - from
  }
}

function slowWorker(site: Site, leaseMs: number): Process {
  return new Process('slow-worker.mjs', [site.store, site.port, String(leaseMs), 'r1'])
}

test('D2, I9 a killed worker is taken over at once, long before its lease ends', async () => {
  const site = await Site.open(60_000)
  const a = slowWorker(site, 600_000)
  await a.says('sending first')
  while (site.effects().length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  a.child.kill('SIGKILL')
  const [, signal] = await once(a.child, 'close')
  expect(signal).toBe('SIGKILL')
  const b = slowWorker(site, 600_000)
  await b.says('run is waiting_human')
  expect(site.effects()).toHaveLength(1)
  expect(b.out).not.toContain('sending')
  b.child.kill('SIGKILL')
  await once(b.child, 'close')
  await site.close()
}, 300_000)

test('D2, I2, I11 a stopped worker keeps its lease; woken later, it only reports', async () => {
  const site = await Site.open(5_000)
  const leaseMs = 9_000
  const a = slowWorker(site, leaseMs)
  await a.says('sending first')
  while (site.effects().length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  a.child.kill('SIGSTOP')
  const stopped = Date.now()
  const b = slowWorker(site, leaseMs)
  await b.says('run is waiting_human')
  // It was renewed every third of it, or a little later on a slow machine.
  expect(Date.now() - stopped).toBeGreaterThan(leaseMs / 3)
  a.child.kill('SIGCONT')
  await b.says('run is completed')
  expect(site.effects().map((effect) => (effect.input as { subject: string }).subject)).toEqual([
    'first',
    'second',
  ])
  const cf = await open({ store: site.store })
  const events = await cf.store.listEvents({ namespace: 'default', runId: 'r1' }, { countMax: 500 })
  expect(events.items.map((event) => event.kind)).toContain('evidence')
  // Its socket still accepted: nothing proved a death, so the lease counted to its end.
  const taken = events.items.find((event) => event.kind === 'taken_over')
  expect(taken?.data).toMatchObject({ cause: 'expired' })
  // The second mail went out under a third claim (either worker may have won it), not under the
  // first.
  const attempts = await cf.store.listAttempts({ namespace: 'default', runId: 'r1' })
  expect(attempts.map((attempt) => attempt.fence)).toEqual([1, 3])
  await cf.close()
  for (const { child } of [a, b]) {
    if (child.exitCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  await site.close()
}, 300_000)

test('C8 two processes start the same run id at once: one run, both attach', async () => {
  const site = await Site.open(1)
  const both = [1, 2].map(() => site.worker('worker.mjs', 0, 'same').exit)
  for (const { code } of await Promise.all(both)) expect(code).toBe(0)
  expect(await site.finish(['same'])).toEqual(['completed'])
  const mails = site.effects().filter((effect) => effect.tool === 'mail')
  expect(mails).toHaveLength(4)
  await site.close()
}, 300_000)
