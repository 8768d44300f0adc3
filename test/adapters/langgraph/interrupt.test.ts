// Interrupts of ours and of the user's side by side: nobody gets an answer that is another's.
import { tool } from '@langchain/core/tools'
import { Command, interrupt } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  CounterfoilSaver,
  type GuardRules,
  guard,
  watch,
} from '../../../src/adapters/langgraph/index.ts'
import { NotSentError, RefusedError } from '../../../src/index.ts'
import {
  asking,
  file,
  lastText,
  mailer,
  opens,
  pure,
  says,
  thread,
  unsafe,
  waitsFor,
} from './lab.ts'

function asksPerson(log: unknown[]) {
  const run = async ({ q }: { q: string }) => {
    const answer = interrupt({ question: q })
    log.push(answer)
    return `answered ${answer}`
  }
  return tool(run, { name: 'ask_person', description: 'asks', schema: z.object({ q: z.string() }) })
}

interface Waiting {
  __interrupt__?: { id: string; value: { question?: string } }[]
}

function asked(result: unknown): string | undefined {
  return (result as Waiting).__interrupt__?.[0]?.value.question
}

const said = { by: 'ana', reason: 'seen' }

describe.each(['v1', 'v2'] as const)('agents of %s', (version) => {
  async function both(order: 'ours first' | 'theirs first') {
    const cf = await opens()
    const { outbox, sendEmail } = mailer()
    outbox.after = () => {
      throw new Error('socket hang up')
    }
    const log: unknown[] = []
    const tools = guard(cf, [sendEmail, asksPerson(log)], { send_email: unsafe, ask_person: pure })
    const calls = [
      { name: 'send_email', args: { to: 'ana' } },
      { name: 'ask_person', args: { q: 'really?' } },
    ]
    const llm = asking(...(order === 'ours first' ? calls : calls.toReversed())) as never
    const checkpointer = new CounterfoilSaver(cf)
    const graph = createReactAgent({ llm, tools, version, checkpointer })
    return { cf, outbox, log, graph }
  }

  test.each(['ours first', 'theirs first'] as const)(
    'K1 an answer to a doubt goes to nobody else, nor theirs to the doubt: %s',
    async (order) => {
      const { cf, outbox, log, graph } = await both(order)
      await graph.invoke(says(), thread())
      const [item] = (await cf.inbox.list()).items
      const itemId = item?.itemId ?? ''
      const resume = { itemId, outcome: 'happened', result: 'm1', ...said }
      const afterOurs = await graph.invoke(new Command({ resume }), thread())
      expect(log).toEqual([])
      expect(asked(afterOurs)).toBe('really?')
      expect((await cf.inbox.list()).items).toEqual([])
      const result = await graph.invoke(new Command({ resume: 'yes' }), thread())
      expect(log).toEqual(['yes'])
      expect(lastText(result)).toContain('answered yes')
      expect(lastText(result)).toContain('m1')
      expect(outbox.sent).toEqual(['ana'])
    },
  )

  test('K1 by the ids of the interrupts both are answered', async () => {
    const { cf, outbox, log, graph } = await both('ours first')
    const rounds: number[] = []
    let result = (await graph.invoke(says(), thread())) as Waiting
    while (result.__interrupt__ && rounds.length < 5) {
      const [item] = (await cf.inbox.list()).items
      const ours = { itemId: item?.itemId, outcome: 'happened', result: 'm1', ...said }
      rounds.push(result.__interrupt__.length)
      const answers = result.__interrupt__.map(({ id, value }) => [
        id,
        value.question ? 'yes' : ours,
      ])
      const resume = Object.fromEntries(answers) as Record<string, unknown>
      result = (await graph.invoke(new Command({ resume }), thread())) as Waiting
    }
    // Of one task LangGraph shows one interrupt at a time; of two tasks, both.
    expect(rounds).toEqual(version === 'v1' ? [1, 1] : [2])
    expect(new Set(log)).toEqual(new Set(['yes']))
    expect(lastText(result)).toBe('done: m1 | answered yes')
    expect(outbox.sent).toEqual(['ana'])
  })

  test('K1 a watcher answers ours, and leaves theirs alone', async () => {
    const { cf, outbox, log, graph } = await both('ours first')
    const stopped = await graph.invoke(says(), thread())
    const [item] = (await cf.inbox.list()).items
    const { itemId = '', version: seen = 0 } = item ?? {}
    const isShown = (stopped as Waiting).__interrupt__?.some(({ value }) => !value.question)
    const through: unknown[] = []
    const onResult = (id: string, result: unknown) => through.push([id, asked(result)])
    const watching = watch(cf, graph, { pollMs: 20, onResult })
    await cf.inbox.decide(itemId, { outcome: 'happened', result: 'm1', ...said, version: seen })
    if (isShown) await expect.poll(() => through.length, { timeout: 90_000 }).toBeGreaterThan(0)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    await watching.stop()
    // Of one task LangGraph shows one interrupt: then the thread waits for theirs.
    expect(through).toEqual(isShown ? [['t1', 'really?']] : [])
    expect(log).toEqual([])
    const result = await graph.invoke(new Command({ resume: 'yes' }), thread())
    expect(lastText(result)).toContain('answered yes')
    expect(outbox.sent).toEqual(['ana'])
  })
})

async function doubting(rules: Partial<GuardRules> = {}, options = {}) {
  const cf = await opens(file(), options)
  const { outbox, sendEmail } = mailer()
  outbox.after = () => {
    throw new Error('socket hang up')
  }
  const classes = { send_email: { ...unsafe, ...rules } as GuardRules }
  const llm = asking({ name: 'send_email', args: { to: 'ana' } }) as never
  const tools = guard(cf, [sendEmail], classes)
  const graph = createReactAgent({ llm, tools, checkpointer: new CounterfoilSaver(cf) })
  return { cf, outbox, graph }
}

test.each([
  ['yes', 'GUARD_ANSWER_INVALID'],
  [{ itemId: 'nobody', outcome: 'happened' }, 'GUARD_ANSWER_INVALID'],
  [{ outcome: 'happened' }, 'GUARD_ANSWER_INVALID'],
])('K1 what does not decide the doubt is refused: %j', async (resume, code) => {
  const { cf, outbox, graph } = await doubting()
  await graph.invoke(says(), thread())
  await expect(graph.invoke(new Command({ resume }), thread())).rejects.toMatchObject({ code })
  expect((await cf.inbox.list()).items).toHaveLength(1)
  expect(outbox.sent).toEqual(['ana'])
})

test('K1 a decision that cannot be made is refused, and can be made afterwards', async () => {
  const { cf, outbox, graph } = await doubting()
  const itemId = waitsFor(await graph.invoke(says(), thread()))
  const decide = (answer: object) =>
    graph.invoke(new Command({ resume: { itemId, ...said, ...answer } }), thread())
  await expect(decide({ outcome: 'approve' })).rejects.toMatchObject({ code: 'DECISION_INVALID' })
  await expect(decide({})).rejects.toMatchObject({ code: 'GUARD_ANSWER_INVALID' })
  const early = decide({ outcome: 'did_not_happen' })
  await expect(early).rejects.toMatchObject({ code: 'DECISION_TOO_EARLY' })
  expect((await cf.inbox.list()).items).toHaveLength(1)
  outbox.after = () => {}
  const result = await decide({ outcome: 'did_not_happen', madeSure: true })
  expect(lastText(result)).toBe('done: sent to ana as m2')
  expect(outbox.sent).toEqual(['ana', 'ana'])
})

test('K1 an item of another thread decides nothing here', async () => {
  const { graph } = await doubting()
  const itemId = waitsFor(await graph.invoke(says(), thread('t1')))
  await graph.invoke(says(), thread('t2'))
  const resume = { itemId, outcome: 'happened', ...said }
  const wrong = graph.invoke(new Command({ resume }), thread('t2'))
  await expect(wrong).rejects.toMatchObject({ code: 'GUARD_ANSWER_INVALID' })
})

test('E6, K1 a call that the risk gate holds is approved or edited by a command', async () => {
  const gate = () => ({ ask: { queue: 'mail' } })
  const { outbox, graph } = await doubting({}, { gate })
  outbox.after = () => {}
  const stopped = (await graph.invoke(says(), thread())) as Waiting
  expect(stopped.__interrupt__?.[0]?.value).toMatchObject({
    counterfoil: { tool: 'send_email', outcomes: ['approve', 'edit', 'reject', 'abandon'] },
  })
  expect(outbox.sent).toEqual([])
  const itemId = waitsFor(stopped)
  const resume = { itemId, outcome: 'edit', result: { to: 'bob' }, ...said }
  const result = await graph.invoke(new Command({ resume }), thread())
  expect(lastText(result)).toBe('done: sent to bob as m1')
  expect(outbox.sent).toEqual(['bob'])
})

describe('interrupts inside of tools', () => {
  async function interrupting(rules: GuardRules, how = 'before') {
    const cf = await opens()
    const sent: string[] = []
    const run = async ({ to }: { to: string }) => {
      if (how === 'after') sent.push(to)
      const answer = interrupt('go on?')
      if (how === 'before') sent.push(to)
      return `${answer}: ${to}`
    }
    const send = tool(run, { name: 'send', description: '', schema: z.object({ to: z.string() }) })
    const tools = guard(cf, [send], { send: rules })
    const llm = asking({ name: 'send', args: { to: 'ana' } }) as never
    const graph = createReactAgent({ llm, tools, checkpointer: new CounterfoilSaver(cf) })
    return { cf, sent, graph }
  }
  const keyed: GuardRules = {
    replayClass: 'idempotent_with_key',
    keyTtlMs: 60_000,
    idempotencyKey: ({ to }: { to: string }) => to,
  }

  test.each([
    ['pure', pure],
    ['keyed', keyed],
    ['unsafe, declared', { ...unsafe, interrupts: true }],
  ] as const)('K1 an interrupt of a %s tool passes, and its body runs again', async (_, rules) => {
    const { cf, sent, graph } = await interrupting(rules)
    await graph.invoke(says(), thread())
    expect(sent).toEqual([])
    await graph.invoke(null, thread())
    expect(sent).toEqual([])
    const result = await graph.invoke(new Command({ resume: 'sure' }), thread())
    expect(lastText(result)).toBe('done: sure: ana')
    expect(sent).toEqual(['ana'])
    expect((await cf.inbox.list()).items).toEqual([])
  })

  test('K1 an unsafe tool that does not say so is a doubt, with what to declare', async () => {
    const { cf, sent, graph } = await interrupting(unsafe, 'after')
    const stopped = (await graph.invoke(says(), thread())) as Waiting
    expect(stopped.__interrupt__?.[0]?.value).toMatchObject({
      counterfoil: { tool: 'send', hint: expect.stringContaining('interrupts: true') },
    })
    expect((await cf.inbox.list()).items).toHaveLength(1)
    await graph.invoke(null, thread())
    expect(sent).toEqual(['ana'])
  })
})

test('K1 what failed for certain is told to the model, and failed again at a replay', async () => {
  const { cf, outbox, graph } = await doubting({ retry: { attemptMax: 1 } })
  outbox.after = (to) => {
    throw to === 'ana' ? new RefusedError('no such address') : new NotSentError('no route')
  }
  const result = await graph.invoke(says(), thread())
  expect(lastText(result)).toMatch(/^done: Error: send_email: no such address/)
  expect((await cf.inbox.list()).items).toEqual([])
})

test('K1 a call that was failed without knowing is not sent in the next turn', async () => {
  const { cf, outbox, graph } = await doubting()
  const itemId = waitsFor(await graph.invoke(says(), thread()))
  const resume = { itemId, outcome: 'fail', madeSure: true, ...said }
  const result = await graph.invoke(new Command({ resume }), thread())
  expect(lastText(result)).toContain('its outcome is not known')
  // The same call in the next turn of the conversation is not sent either.
  const again = await graph.invoke(says('again'), thread())
  const [item] = (await cf.inbox.list()).items
  expect(item).toMatchObject({ itemId: waitsFor(again), reason: 'unresolved' })
  expect(outbox.sent).toEqual(['ana'])
})

test('K1 a watcher that begins later continues what was decided before', async () => {
  const { cf, outbox, graph } = await doubting()
  const itemId = waitsFor(await graph.invoke(says(), thread())) ?? ''
  const { version } = await cf.inbox.get(itemId)
  await cf.inbox.decide(itemId, { outcome: 'happened', result: 'm1', ...said, version })
  const through: string[] = []
  const onResult = (_: string, result: unknown) => through.push(lastText(result))
  const watching = watch(cf, graph, { pollMs: 20, onResult })
  await expect.poll(() => through, { timeout: 90_000 }).toEqual(['done: m1'])
  await new Promise((resolve) => setTimeout(resolve, 200))
  await watching.stop()
  expect(through).toHaveLength(1)
  expect(outbox.sent).toEqual(['ana'])
})
