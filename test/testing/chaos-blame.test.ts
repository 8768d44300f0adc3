// A mock with a bug is named, with what it threw; one that fails on purpose is not in the way.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { NotSentError, tool, workflow } from '../../src/index.ts'
import { chaos, expectSafe, type Mocks } from '../../src/testing/index.ts'

const Any = z.any()
const run = async () => ({ id: 'real' })
const output = z.object({ id: z.string() })
const retry = { attemptMax: 3, backoffMs: 1, backoffMaxMs: 1 }
const tools = [
  tool({ name: 'mail', replayClass: 'unsafe_on_replay', input: Any, output, run }),
  tool({
    ...{ name: 'mail', replayClass: 'idempotent_with_key', input: Any, output, run, retry },
    ...{ idempotencyKey: (_, { runId }) => runId, keyTtlMs: Number.POSITIVE_INFINITY },
  }),
] as const
const sendingBy = (mail: (typeof tools)[number]) =>
  workflow({
    ...{ id: 'sends@1.0.0', input: Any, tools: [mail] },
    run: (_, ctx) => ctx.call(mail, { to: 'acme' }),
  })
const tried = (mail: Mocks[string]) =>
  tools.map((one) => chaos({ graph: sendingBy(one), mocks: { mail }, kills: 2 }))
const noReference = (message: string) => ({
  code: 'CHAOS_NO_REFERENCE',
  message: expect.stringContaining(message),
})

test('J2 a mock that throws by a bug is named, and not only that it asks for ever', async () => {
  for (const report of tried((input: { user: { id: string } }) => ({ id: input.user.id }))) {
    await expect(report).rejects.toMatchObject(
      noReference(
        'it asks for ever (last: mail: did it happen?): mocks.mail threw: ' +
          "TypeError: Cannot read properties of undefined (reading 'id')",
      ),
    )
  }
})

test('J2 a mock that returns what is no JSON is named', async () => {
  for (const report of tried(() => ({ id: () => 1 }))) {
    await expect(report).rejects.toMatchObject(
      noReference('mocks.mail returned a value that is not JSON: $.id is a function'),
    )
  }
})

test('J2 a mock whose answer the tool’s output refuses is named', async () => {
  for (const report of tried(() => ({ id: 5 }))) {
    await expect(report).rejects.toMatchObject(
      noReference('mocks.mail answered what does not fit: result of mail is not valid: $.id'),
    )
  }
})

test('J2 a mock that fails some times on purpose keeps nobody from the end', async () => {
  for (const [times, wrong] of [
    [2, new NotSentError('busy')],
    [5, new TypeError('fetch failed')],
  ] as const) {
    const flaky = () => {
      let asks = 0
      const mail = () => {
        if (++asks <= times) throw wrong
        return { id: 'm-1' }
      }
      return { mail }
    }
    const graph = sendingBy(tools[0])
    expectSafe(await chaos({ graph, mocks: flaky, kills: 4 }))
  }
})
