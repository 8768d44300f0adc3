// A host that stops a function in its middle, to start it again later.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, open, tool, WithdrawnError } from '../../src/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'counterfoil-withdrawn-'))
const opened: Counterfoil[] = []
let count = 0

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
})

afterAll(() => rmSync(folder, { recursive: true }))

async function opens(): Promise<Counterfoil> {
  const cf = await open({ store: `sqlite:${join(folder, `${++count}.db`)}`, settleMs: 30 })
  opened.push(cf)
  return cf
}

const ids = { workflowId: 'thread', nodeId: 'tools', checkpointId: 'c1' }
const stop = new Error('the host stops here')

/** Stops the first time, answers the second time. */
function stopping(replayClass: 'pure' | 'unsafe_on_replay' | 'keyed', sent: 'no' | 'unknown') {
  const keys: (string | null)[] = []
  const run = (_: unknown, call: { idempotencyKey: string | null }) => {
    keys.push(call.idempotencyKey)
    if (keys.length === 1) throw new WithdrawnError(stop, sent)
    return { answer: keys.length }
  }
  const input = z.object({})
  const name = 'stopping'
  const keyed = { idempotencyKey: () => 'k1', keyTtlMs: 60_000 }
  const made =
    replayClass === 'keyed'
      ? tool({ name, replayClass: 'idempotent_with_key', ...keyed, input, run })
      : tool({ name, replayClass, input, run })
  return { keys, tool: made }
}

async function callOnce(cf: Counterfoil, { tool: made }: ReturnType<typeof stopping>) {
  const scope = await cf.scope(ids)
  try {
    return await scope.call(made, {}, { callId: 'a' })
  } finally {
    await scope.close()
  }
}

test.each([
  ['pure', 'unknown'],
  ['unsafe_on_replay', 'no'],
  ['keyed', 'unknown'],
] as const)('K1 a %s call that was withdrawn is made again, and says why', async (kind, sent) => {
  const cf = await opens()
  const stops = stopping(kind, sent)
  await expect(callOnce(cf, stops)).rejects.toBe(stop)
  expect(await callOnce(cf, stops)).toEqual({ answer: 2 })
  expect(await callOnce(cf, stops)).toEqual({ answer: 2 })
  expect(stops.keys).toEqual(kind === 'keyed' ? ['k1', 'k1'] : [null, null])
  expect((await cf.inbox.list()).items).toEqual([])
})

test('I5 an unsafe call withdrawn after something may have gone out goes to a person', async () => {
  const cf = await opens()
  const stops = stopping('unsafe_on_replay', 'unknown')
  await expect(callOnce(cf, stops)).rejects.toBe(stop)
  await expect(callOnce(cf, stops)).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
  expect(stops.keys).toHaveLength(1)
})
