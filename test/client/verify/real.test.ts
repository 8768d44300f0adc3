// B8: the check of a ledger that real runs have written.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { verifyLedger } from '../../../src/client/ledger/verify.ts'
import {
  type DecideRequest,
  graph,
  NotSentError,
  open,
  type RiskPolicy,
  tool,
} from '../../../src/index.ts'
import type { Store } from '../../../src/store/store.ts'
import { namespace } from '../../../src/testing/store/fixtures.ts'
import { newPath } from '../../store/bench.ts'

const verify = (store: Store) => verifyLedger(store, { namespace })

describe('real runs', () => {
  const input = z.object({ n: z.number() })
  let sent = 0
  const look = tool({ name: 'look', replayClass: 'pure', input, run: () => 'x'.repeat(500) })
  const pay = tool({
    ...{ name: 'pay', replayClass: 'idempotent_with_key', input, keyTtlMs: Infinity },
    idempotencyKey: ({ n }: { n: number }) => `pay-${n}`,
    run: (_input, call) => {
      if (call.attempt === 1) throw new NotSentError('no route')
      return { paid: true }
    },
  })
  const send = tool({
    ...{ name: 'send', replayClass: 'unsafe_on_replay', input, quietMs: 60_000 },
    run: () => {
      if (++sent === 1) throw new Error('the line went dead')
      return { sent }
    },
  })
  const flow = graph({
    id: 'flow@1.0.0',
    state: z.object({ n: z.number(), seen: z.string().default('') }),
    tools: [look, pay, send],
    start: 'begin',
    nodes: {
      begin: async ({ n }, ctx) => {
        const [seen] = await Promise.all([ctx.call(look, { n }), ctx.call(pay, { n })])
        return ctx.go('end', { seen })
      },
      end: async ({ n }, ctx) => {
        await ctx.call(send, { n })
        await ctx.ask({ title: 'Well?', data: { n } })
        const { data } = await ctx.approval({ title: 'Sure?', data: { n } })
        return ctx.done(data)
      },
    },
  })
  const answers: Record<string, Pick<DecideRequest, 'outcome' | 'result'>> = {
    unknown: { outcome: 'did_not_happen' },
    question: { outcome: 'respond', result: 'yes' },
    approval: { outcome: 'edit', result: { n: 8 } },
  }

  test('B8 and scopes, with blobs, doubts, edits and new keys, have no findings', async () => {
    const gate: RiskPolicy = ({ tool: name }) => (name === 'send' ? { ask: true } : 'run')
    const options = { settleMs: 20, blobBytesMin: 100, gate, onWarning: () => {} }
    const cf = await open({ store: `sqlite:${newPath()}`, graphs: [flow], ...options })
    await cf.worker({ pollMs: 5 }).start()
    const run = await cf.start(flow, { n: 1 }, { runId: 'flow-1' })
    while ((await run.until('waiting_human', 'completed')).state === 'waiting_human') {
      expect((await verify(cf.store)).findings).toEqual([])
      await cf.store.rotateKey()
      for (const item of (await cf.inbox.list()).items) {
        const by = { by: 'ana', reason: 'looked', version: item.version, madeSure: true }
        const said = answers[item.reason ?? item.kind] ?? { outcome: 'fail' }
        await cf.inbox.decide(item.itemId, { ...by, ...said })
      }
    }
    const scope = await cf.scope({ workflowId: 'thread', nodeId: 'tools', checkpointId: 'a/b#1' })
    await scope.call(pay, { n: 3 }, { callId: 'call_1' })
    await scope.call(look, { n: 3 })
    await scope.close()
    const { findings, counts, moving } = await verify(cf.store)
    expect([findings, moving]).toEqual([[], []])
    expect(counts).toMatchObject({ runs: 2, calls: 7, attempts: 6, decisions: 4, checkpoints: 2 })
    await cf.close()
  })
})
