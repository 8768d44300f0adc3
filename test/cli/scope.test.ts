import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { open, tool } from '../../src/index.ts'
import { folder, json, openItem, run } from './harness.ts'

const mail = tool({
  name: 'mail',
  replayClass: 'unsafe_on_replay',
  input: z.object({ lost: z.boolean() }),
  run: ({ lost }) => {
    if (lost) throw new Error('socket hang up')
    return { id: 1 }
  },
})

/** A foreign runtime that made two calls at two places; of the second nobody knows. */
async function foreignRun(): Promise<string> {
  const store = `sqlite:${join(folder(), 'runs.db')}`
  const cf = await open({ store })
  for (const [checkpointId, lost] of [
    ['first', false],
    ['second', true],
  ] as const) {
    const visit = await cf.scope({ workflowId: 'thread-7', nodeId: 'tools', checkpointId })
    await visit.call(mail, { lost }, { callId: 'c1' }).catch(() => {})
    await visit.close()
  }
  await cf.close()
  return store
}

test("a foreign runtime's run goes by its own ids, and has no state here", async () => {
  const store = await foreignRun()
  const { stdout } = await run(['ledger', 'show', 'thread-7', '--store', store])
  expect(stdout).toMatch(/^tools, first\n {2}mail#0 {2}committed/)
  expect(stdout).toMatch(/\n\ntools, second\n {2}mail#0 {2}in_doubt/)
  for (const words of [
    ['run', 'document'],
    ['run', 'state'],
    ['checkpoint', 'list'],
  ]) {
    const { code, stderr } = await run([...words, 'thread-7', '--store', store])
    expect(code).toBe(1)
    expect(stderr).toMatch(/is of a foreign runtime, which keeps its state itself/)
  }
})

test('what is decided for a foreign runtime waits for that, not for a worker', async () => {
  const store = await foreignRun()
  const item = await openItem(store, 'thread-7')
  const words = ['decide', item, 'happened', '--result', '{"id":2}', '--version', '1']
  const said = await run([...words, '--reason', 'seen', '--store', store])
  expect(said.stdout).toMatch(/^Decided: happened, .*\nIt goes on when the runtime/)
  const { calls } = await json(['ledger', 'show', 'thread-7', '--store', store])
  expect(calls[1].decisions).toMatchObject([{ outcome: 'happened' }])
})
