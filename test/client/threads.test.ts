import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { open, type Threads } from '../../src/index.ts'
import { addFailpoints } from '../../src/testing/failpoints.ts'

const folder = mkdtempSync(join(tmpdir(), 'counterfoil-threads-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const ref = { threadId: 't1', space: '' }
const row = { ...ref, bodyJson: '{}', noteJson: '{}', createdAt: 1 }
const first = { ...row, stepId: '1', parentId: null, whole: true }
const second = { ...row, stepId: '2', parentId: '1', whole: false }
const write = { ...ref, stepId: '2', taskId: 'a', place: 0, channel: 'c', bodyJson: '1' }

async function fill(threads: Threads): Promise<void> {
  expect(await threads.putStep(first)).toBe(true)
  expect(await threads.putStep(second)).toBe(true)
  await threads.putWrites([write], false)
}

describe.each(['memory:', `sqlite:${join(folder, 'runs.db')}`])('threads in %s', (store) => {
  const quiet = { store, onWarning: () => {} }

  test('K1 are those of the namespace that was opened', async () => {
    const [ours, others] = [await open(quiet), await open({ ...quiet, namespace: 'others' })]
    for (const { threads } of [ours, others]) await fill(threads)
    const { threads } = ours
    // What came from elsewhere is put here all the same.
    expect(await threads.putStep({ ...second, namespace: 'others' } as typeof second)).toBe(true)
    const namespaced = (rows: readonly { namespace: string }[]) =>
      rows.map((one) => one.namespace).join()
    expect(namespaced(await threads.loadSteps(ref))).toBe('default,default')
    expect(namespaced((await threads.listSteps()).items)).toBe('default,default')
    expect(namespaced(await threads.listWrites(ref, ['1', '2']))).toBe('default')
    const pruning = { whole: [{ ...second, whole: true }], drop: ['1'] }
    expect(await threads.pruneSteps(ref, pruning)).toBe(true)
    expect(await threads.loadSteps(ref)).toEqual([{ ...second, whole: true, namespace: 'default' }])
    expect(await threads.listIdleThreads(2, 10)).toEqual(['t1'])
    await threads.dropThread('t1')
    expect((await threads.listSteps({ threadId: 't1' })).items).toEqual([])
    expect((await others.threads.listSteps(ref)).items.map((one) => one.stepId)).toEqual(['2', '1'])
    for (const cf of [ours, others]) await cf.close()
  })

  test('K1 every call that matters for recovery is a place to die', async () => {
    const cf = await open(quiet)
    const hits: string[] = []
    addFailpoints(cf.store, (name) => hits.push(name))
    await fill(cf.threads)
    await cf.threads.loadSteps(ref)
    await cf.threads.pruneSteps(ref, { whole: [], drop: [] })
    await cf.threads.dropThread('t1')
    const calls = ['putStep', 'putStep', 'putWrites', 'loadSteps', 'pruneSteps', 'dropThread']
    expect(hits).toEqual(calls.flatMap((name) => [`before ${name}`, `after ${name}`]))
    await cf.close()
  })
})
