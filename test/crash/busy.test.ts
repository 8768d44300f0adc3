// A write lock that somebody else keeps for four seconds delays everybody, and breaks nothing.
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { open } from '../../src/index.ts'
import { Site, script } from './driver.ts'
import { rulingOf } from './programs/truth.mjs'

const lockMs = 4_000

test('B8 the database is locked for 4 s: nobody is told of it, everything is done', async () => {
  const site = await Site.open(8)
  const runIds = Array.from({ length: 6 }, (_, i) => `r${i}`)
  // No renewal falls due meanwhile: the thread that makes them waits for a lock for 2 s only, and
  // then says so before it tries again.
  const modes = ['agent', 'ever', 'lease=90000']
  const worker = site.worker('worker.mjs', 0, runIds.join(','), ...modes)
  await once(worker.child.stdout as NodeJS.ReadableStream, 'data')
  const warnings: string[] = []
  const cf = await open({
    store: `sqlite:${site.db}`,
    onWarning: (message) => warnings.push(message),
  })
  await cf.run('r0').until('waiting_human')
  const [item] = (await cf.inbox.list()).items
  if (item === undefined) throw new Error('nobody asks anything')

  const locker = site.spawn(script('harm/locker.mjs'), [site.db, String(lockMs)])
  await once(locker.child.stdout as NodeJS.ReadableStream, 'data')
  // Readers are not concerned: they are answered while it is held, however slow the machine is.
  expect((await cf.run('r0').status()).state).toBe('waiting_human')
  expect((await cf.inbox.list()).items).not.toHaveLength(0)
  const cli = script('../../../dist/cli/main.js')
  const store = ['--store', `sqlite:${site.db}`, '--json']
  const commands = [['runs'], ['inbox'], ['run', 'show', 'r0']].map((words) =>
    site.spawn(cli, [...words, ...store]),
  )
  // From now on it lasts so long. Whoever writes waits, in this process and in others.
  const before = performance.now()
  locker.child.kill('SIGUSR2')
  const ruling = { outcome: rulingOf(item.runId, 'pay') } as const
  const said = ruling.outcome === 'edit' ? { ...ruling, result: { amount: 70 } } : ruling
  const { itemId, version } = item
  await cf.inbox.decide(itemId, { ...said, by: 'ana', reason: 'late', version })
  await cf.run('r1').pause({ by: 'ana' })
  const scope = await cf.scope({ workflowId: 't', nodeId: 'n', checkpointId: 'c' })
  await scope.close()
  expect(performance.now() - before).toBeGreaterThan(lockMs - 500)
  const exits = await Promise.all([locker, ...commands].map(({ exit }) => exit))
  expect(exits.map(({ code, error }) => [code, error])).toEqual(exits.map(() => [0, '']))

  await cf.run('r1').resume({ by: 'ana' })
  await cf.close()
  worker.child.kill('SIGTERM')
  const { code, error } = await worker.exit
  expect([code, error, ...warnings]).toEqual([0, ''])
  expect(await site.finish(runIds, 'agent')).toEqual(runIds.map(() => 'completed'))
  expect(await site.findings()).toEqual([])
  expect(site.doubts).toBe(0)
  await site.close()
}, 300_000)
