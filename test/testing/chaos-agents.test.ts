// Agents on other runtimes: their end is believed, as their host would believe it.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/index.ts'
import { type Agent, chaos, expectSafe } from '../../src/testing/index.ts'

const mail = tool({
  ...{ name: 'mail', replayClass: 'unsafe_on_replay', input: z.any() },
  run: async () => 'real',
})
const mocks = { mail: () => 'm-1' }

const sends: Agent = async (cf, { runId }) => {
  const scope = await cf.scope({ workflowId: runId, nodeId: 'n', checkpointId: '1' })
  try {
    return { sent: await scope.call(mail, { to: 'acme' }) }
  } finally {
    await scope.close()
  }
}
const swallows: Agent = async (cf, given) => {
  try {
    return await sends(cf, given)
  } catch {
    return { sent: null }
  }
}

test('J2 an agent that swallows a doubt has come to a false end', async () => {
  const report = await chaos({ agent: swallows, mocks })
  expect(report.ok).toBe(false)
  const asking = report.points.filter(({ doubts }) => doubts.length > 0)
  expect(asking.length).toBeGreaterThan(0)
  for (const { findings } of asking) {
    expect(findings).toEqual([
      {
        ...{ kind: 'end', tool: null },
        message: expect.stringMatching(/while a person was being asked \(mail: did it happen\?\)/),
      },
    ])
  }
  const quiet = report.points.filter(({ doubts }) => doubts.length === 0)
  expect(quiet.flatMap(({ findings }) => findings)).toEqual([])
  // Whoever lets it through is called again.
  const safe = await chaos({ agent: sends, mocks })
  expectSafe(safe)
  expect(safe.tools[0]?.doubts).toBeGreaterThan(0)
})

test('J2 an agent that swallows an approval is no reference', async () => {
  const gate = () => ({ ask: true }) as const
  await expect(chaos({ agent: swallows, mocks, gate })).rejects.toMatchObject({
    code: 'CHAOS_NO_REFERENCE',
    message: expect.stringContaining('Let REPLAY_UNSAFE through'),
  })
  expectSafe(await chaos({ agent: sends, mocks, gate }))
})
