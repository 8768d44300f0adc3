// Runs that are meant to fail: what they take back is as much in danger.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { RefusedError, tool, workflow } from '../../src/index.ts'
import { chaos, expectSafe, type MockCall } from '../../src/testing/index.ts'

const To = z.object({ to: z.string() })
const real = () => {
  throw new Error('nothing real may be sent')
}
const keyed = (name: string) =>
  tool({
    ...{ name, replayClass: 'idempotent_with_key', input: To, run: real as () => string },
    ...{ idempotencyKey: (_, { runId }) => `${runId}:${name}`, keyTtlMs: Infinity },
  })
const [charge, refund] = [keyed('charge'), keyed('refund')]
const mail = tool({
  ...{ name: 'mail', replayClass: 'unsafe_on_replay', input: To, run: real as () => string },
})

const saga = workflow({
  id: 'saga@1.0.0',
  input: To,
  tools: [charge, refund, mail],
  run: async (to, ctx) => {
    await ctx.call(charge, to)
    try {
      await ctx.call(mail, to)
    } catch (error) {
      await ctx.call(refund, to)
      throw error
    }
  },
})

const input = { to: 'acme' }
const once = (_: unknown, call: MockCall) => call.once(() => 'done')
const mocks = {
  ...{ charge: once, refund: once },
  mail: () => Promise.reject(new RefusedError('no such address')),
}

test('J2 a run that fails by design is compared with its failure', async () => {
  const report = await chaos({ graph: saga, input, mocks, ends: 'failed' })
  expectSafe(report)
  const refunds = report.tools.find((one) => one.tool === 'refund')
  expect(refunds).toMatchObject({ calls: 1, effects: 1, effectsMax: 1, holds: 'yes' })
  expect(refunds?.sentAgain).toBeGreaterThan(0)
})

test('J2 a compensation that happens twice is found in a run that fails', async () => {
  const ignoring = { ...mocks, refund: () => 'done' }
  const report = await chaos({ graph: saga, input, mocks: ignoring, ends: 'failed' })
  expect(report.ok).toBe(false)
  const kinds = report.points.flatMap(({ findings }) =>
    findings.map(({ kind, tool }) => [kind, tool]),
  )
  expect(kinds).toContainEqual(['duplicate', 'refund'])
})

test('J2 an agent that throws by design', async () => {
  const report = await chaos({
    ...{ mocks: { mail: () => 'sent' }, ends: 'failed', input },
    agent: async (cf, { runId: workflowId }) => {
      const scope = await cf.scope({ workflowId, nodeId: 'tools', checkpointId: 'c1' })
      try {
        await scope.call(mail, input)
      } finally {
        await scope.close()
      }
      throw new Error('enough')
    },
  })
  expectSafe(report)
  expect(report.tools[0]).toMatchObject({ tool: 'mail', effectsMax: 1 })
})

test('J2 an end that is not the one that was named is refused, with the way to it', async () => {
  const asked = (more: object) => chaos({ graph: saga, input, mocks, ...more } as never)
  const refused = (message: string) => ({
    code: 'CHAOS_NO_REFERENCE',
    message: expect.stringContaining(message),
  })
  await expect(asked({})).rejects.toMatchObject(
    refused('no such address. If that is how it should end: --ends failed'),
  )
  const sent = { ...mocks, mail: () => 'sent' }
  await expect(asked({ ends: 'failed', mocks: sent })).rejects.toMatchObject(
    refused('it is completed; it was to end failed'),
  )
  await expect(asked({ ends: 'fail' })).rejects.toMatchObject({
    code: 'CHAOS_OPTIONS',
    message: expect.stringContaining('one of completed, failed'),
  })
})

test('J2 a run that chaos itself has abandoned is no reference, whatever it is to be', async () => {
  const clumsy = tool({
    ...{ name: 'charge', replayClass: 'idempotent_with_key', input: To, run: real as () => string },
    ...{ idempotencyKey: () => 'one for all', keyTtlMs: Infinity },
  })
  const graph = workflow({
    ...{ id: 'clumsy@1.0.0', input: To, tools: [clumsy] },
    run: async (to, ctx) => {
      await ctx.call(clumsy, to)
      await ctx.call(clumsy, { to: 'another' })
    },
  })
  for (const ends of ['completed', 'failed'] as const) {
    await expect(chaos({ graph, input, mocks: { charge: once }, ends })).rejects.toMatchObject({
      code: 'CHAOS_NO_REFERENCE',
      message: expect.stringMatching(/key_conflict of charge: [^.]*$/),
    })
  }
})
