// What the end of a foreign workflow leaves behind: items of all its scopes, and a preview of them.
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, open, tool } from '../../src/index.ts'

const opened: Counterfoil[] = []

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
})

const send = tool({
  name: 'send',
  replayClass: 'unsafe_on_replay',
  input: z.string(),
  run: () => Promise.reject(new Error('broke off')),
})

/** Two scopes of one workflow, each with a call whose outcome nobody knows. */
async function twoDoubts() {
  const cf = await open({ store: 'memory:', settleMs: 30, onWarning: () => {} })
  opened.push(cf)
  const at = (checkpointId: string) => ({ workflowId: 'thread', nodeId: 'tools', checkpointId })
  const scopes = await Promise.all(['c1', 'c2'].map((id) => cf.scope(at(id))))
  // Both are under way before either is a doubt: while one is, no other call is sent.
  const calls = scopes.map((scope) => scope.call(send, scope.checkpointId))
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
  for (const scope of scopes) await scope.close()
  return cf
}

test('D4 cancelling closes the items of every scope, not only of one', async () => {
  const cf = await twoDoubts()
  expect((await cf.inbox.list()).items.length).toBe(2)
  await cf.run('thread').cancel({ by: 'ana', reason: 'enough' })
  expect((await cf.inbox.list()).items).toEqual([])
  expect(await cf.run('thread').status()).toMatchObject({ state: 'cancelled' })
})

test('D4 an end that died before it had closed them all is taken up by the next', async () => {
  const cf = await twoDoubts()
  const ref = { namespace: 'default', runId: 'thread' }
  // As a kill leaves it: the run has ended, its items have not.
  await cf.store.amend(ref, 'client', () => ({
    changes: { run: { state: 'cancelled', waitingFor: null } },
    value: null,
  }))
  expect((await cf.inbox.list()).items.length).toBe(2)
  await expect(cf.run('thread').cancel()).rejects.toMatchObject({ code: 'RUN_ENDED' })
  expect((await cf.inbox.list()).items).toEqual([])
})

test('D4 so does abandoning', async () => {
  const cf = await twoDoubts()
  const [item] = (await cf.inbox.list()).items
  const said = { by: 'ana', reason: 'enough', version: item?.version ?? 0 }
  await cf.inbox.decide(item?.itemId ?? '', { outcome: 'abandon', ...said })
  expect((await cf.inbox.list()).items).toEqual([])
  expect(await cf.run('thread').status()).toMatchObject({ state: 'failed' })
})

test('C7 a preview of a foreign workflow shows the open calls of all its scopes', async () => {
  const cf = await twoDoubts()
  const { calls, park } = await cf.run('thread').preview()
  expect(calls.map((call) => [call.tool, call.action])).toEqual([
    ['send', 'wait'],
    ['send', 'wait'],
  ])
  expect(park).toBe(2)
})
