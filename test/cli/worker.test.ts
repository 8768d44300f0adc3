import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { bootId } from '../../src/store/boot.ts'
import { openDesk } from './desk.ts'
import { json, misfits, run, start } from './harness.ts'
import { module } from './module.ts'

/** A worker that nobody can look at: it is registered, and then nothing more is heard of it. */
async function registerElsewhere(desk: Awaited<ReturnType<typeof openDesk>>, workerId: string) {
  await desk.cf.store.register(
    {
      ...{ workerId, pid: 12, host: 'elsewhere', bootId: bootId(), startedAt: systemClock.now() },
      ...{ socketPath: '/nowhere/w.sock', socketInode: '7' },
    },
    60_000,
  )
}

test('I9 worker list shows who lives, what they hold, and who is silent or gone', async () => {
  const desk = await openDesk()
  await desk.begin('slow')
  await expect.poll(() => desk.world.sent).toEqual(['slow'])
  await registerElsewhere(desk, 'w_elsewhere')
  await desk.cf.store.renew('w_elsewhere', -1)
  const { workers } = await json(['worker', 'list', '--store', desk.store])
  expect(workers).toMatchObject([
    { state: 'alive', pid: process.pid, host: hostname(), runs: ['slow'] },
    { worker_id: 'w_elsewhere', state: 'silent', runs: [], lease_ended: true, died_at: null },
  ])
  const { stdout } = await run(['worker', 'list', '--store', desk.store])
  expect(stdout).toMatch(/^WORKER +STATE +PID +HOST +STARTED +RUNS +WHAT\nw_\w+ +alive +\d+ .* 1 +/)
  expect(stdout).toMatch(/lease for \d+ s\nw_elsewhere +silent +12 +elsewhere .*lease ended/)
  expect(misfits(stdout)).toEqual([])
  desk.world.release()
  await desk.until('slow', 'waiting_human')
  const { store } = desk
  await desk.leave()
  const after = await json(['worker', 'list', '--store', store])
  expect(after.workers[0]).toMatchObject({ state: 'stopped', runs: [] })
})

test('I9 a worker whose process was killed is found dead by the look itself', async () => {
  const desk = await openDesk()
  const { store } = desk
  const dev = start(['dev', module(), '--store', store])
  await dev.says('Ctrl-C drains')
  const alive = await json(['worker', 'list', '--store', store])
  const mine = alive.workers.find((row: { pid: number }) => row.pid === dev.child.pid)
  expect(mine.state).toBe('alive')
  dev.child.kill('SIGKILL')
  await dev.ended
  const { workers } = await json(['worker', 'list', '--store', store])
  const found = workers.find((row: { worker_id: string }) => row.worker_id === mine.worker_id)
  expect(found).toMatchObject({ state: 'dead' })
  expect(found.death_proof).toContain(`pid ${dev.child.pid}`)
})

test('I9 worker dead is an assertion on record, with its author', async () => {
  const desk = await openDesk()
  await registerElsewhere(desk, 'w_elsewhere')
  const words = ['worker', 'dead', 'w_elsewhere', '--by', 'k8s', '--store', desk.store]
  const bare = await run(words)
  expect(bare.code).toBe(2)
  expect(bare.stderr).toContain("needs --reason '<why>'")
  const { worker, changed } = await json([...words, '--reason', 'pod agents-3 was deleted'])
  expect({ changed, proof: worker.death_proof, state: worker.state }).toEqual({
    changed: true,
    proof: 'stated by k8s: pod agents-3 was deleted',
    state: 'dead',
  })
  expect(await desk.cf.store.renew('w_elsewhere', 60_000)).toBe(false)
  const again = await run([...words, '--reason', 'really'])
  expect(again).toMatchObject({ code: 0 })
  expect(again.stdout.replaceAll(/\s+/g, ' ')).toMatch(/dead already: stated by k8s: .*Nothing was/)
  const wrong = await run(['worker', 'dead', 'w_elswhere', '--reason', 'x', '--store', desk.store])
  expect(wrong.code).toBe(1)
  expect(wrong.stderr).toMatch(/did you mean w_elsewhere\?.*WORKER_NOT_FOUND/)
})

test('I9 a worker that answers on its socket is not declared dead, unless by force', async () => {
  const desk = await openDesk()
  const [alive] = await desk.cf.store.workers()
  const id = alive?.workerId ?? ''
  const words = ['worker', 'dead', id, '--by', 'ana', '--reason', 'it hangs', '--store', desk.store]
  const refused = await run(words)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(new RegExp(`is alive: pid ${process.pid} .*WORKER_ALIVE`))
  expect((await desk.cf.store.workers())[0]?.diedAt).toBeNull()
  const { worker } = await json([...words, '--force'])
  expect(worker.death_proof).toBe('stated by ana: it hangs, although its socket answered')
})
