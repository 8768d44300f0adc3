// The caller of a scope's call goes away while the tool's function runs on in this process: that
// attempt lives, so nobody makes a doubt of it. Who asks for it again is told that it is held, and
// has its answer once there is one.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, open, type Scope, tool } from '../../src/index.ts'

const opened: Counterfoil[] = []
let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'counterfoil-abandoned-'))
})

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  rmSync(folder, { recursive: true })
})

async function opens(): Promise<Counterfoil> {
  const store = `sqlite:${join(folder, 'runs.db')}`
  const cf = await open({ store, settleMs: 30, onWarning: () => {} })
  opened.push(cf)
  return cf
}

const ids = { workflowId: 'thread', nodeId: 'tools', checkpointId: 'c1' }
const held = { code: 'SCOPE_HELD', retryable: true }

/** Answers when it is told to, whatever becomes of its caller. */
function slow(replayClass: 'unsafe' | 'keyed') {
  const sent: string[] = []
  let begun = () => {}
  let answer = () => {}
  const under = new Promise<void>((resolve) => {
    begun = resolve
  })
  const run = (text: string) =>
    new Promise<string>((resolve) => {
      sent.push(text)
      answer = () => resolve(`sent ${text}`)
      begun()
    })
  const common = { name: 'send', input: z.string(), run }
  const keyed = { idempotencyKey: () => 'k1', keyTtlMs: Number.POSITIVE_INFINITY }
  const send =
    replayClass === 'keyed'
      ? tool({ ...common, replayClass: 'idempotent_with_key', ...keyed })
      : tool({ ...common, replayClass: 'unsafe_on_replay' })
  return { sent, send, under, answer: () => answer() }
}

/** Until a sweeper has looked so often for what dead holders have left. */
function looks({ store }: Counterfoil, count: number): Promise<void> {
  const { listRuns } = store
  return new Promise((resolve) => {
    let seen = 0
    store.listRuns = (filter) => {
      // The last of the two states that a look goes through.
      if (filter.state === 'pending' && ++seen === count) resolve()
      return listRuns(filter)
    }
  })
}

/** As a host whose request was aborted: it awaits nothing any more. */
const abandonments: Record<string, (scope: Scope) => void> = {
  'leaves its scope open': () => {},
  'closes its scope and goes': (scope) => void scope.close().catch(() => {}),
}

const cases = Object.keys(abandonments).flatMap((how) =>
  (['unsafe', 'keyed'] as const).map((kind) => [how, kind] as const),
)

test.each(cases)('C2 I5 a caller %s: its %s call is waited for, no doubt', async (how, kind) => {
  const [cf, other] = [await opens(), await opens()]
  await cf.worker().start()
  const { sent, send, under, answer } = slow(kind)
  const scope = await cf.scope(ids)
  void scope.call(send, 'news', { callId: 'a' }).catch(() => {})
  await under
  abandonments[how]?.(scope)
  // In this process, in another, and by the looks of a sweeper.
  await expect(cf.scope(ids)).rejects.toMatchObject(held)
  await expect(other.scope(ids)).rejects.toMatchObject(held)
  await expect(other.scope({ ...ids, checkpointId: 'c2' })).rejects.toMatchObject(held)
  await looks(cf, 2)
  expect((await cf.inbox.list()).items).toEqual([])
  answer()
  await scope.close()
  const again = await other.scope(ids)
  expect(await again.call(send, 'news', { callId: 'a' })).toBe('sent news')
  await again.close()
  expect(sent).toEqual(['news'])
  expect((await cf.inbox.list({ state: 'closed' })).items).toEqual([])
})
