// Threads that several could go on with: LangGraph lets them, and each does what the model says.
import { Command } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { expect, test } from 'vitest'
import { CounterfoilSaver, guard, watch } from '../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../src/index.ts'
import {
  file,
  lastText,
  mailer,
  type Outbox,
  opens,
  ScriptedModel,
  says,
  thread,
  unsafe,
  waitsFor,
} from './lab.ts'

const said = { by: 'ana', reason: 'looked' }
const happened = { outcome: 'happened', result: 'm1', ...said } as const
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Writes to Ana, of whom nothing is heard, and then to Bob, once the model has thought. */
function agentOf(cf: Counterfoil, { sendEmail }: ReturnType<typeof mailer>, thinksMs: number) {
  const model = new ScriptedModel((messages) => {
    const answers = messages.filter((each) => each.getType() === 'tool').length
    const to = ['ana', 'bob'][answers]
    return to === undefined ? 'done' : [{ name: 'send_email', args: { to } }]
  })
  const generate = model._generate.bind(model)
  model._generate = async (messages) => {
    if (messages.some((each) => each.getType() === 'tool')) await pause(thinksMs)
    return generate(messages)
  }
  const tools = guard(cf, [sendEmail], { send_email: unsafe })
  return createReactAgent({ llm: model, tools, checkpointer: new CounterfoilSaver(cf) })
}

function loses(outbox: Outbox): void {
  outbox.after = (to) => {
    if (to === 'ana') throw new Error('socket hang up')
  }
}

test('K1 a watcher leaves a thread alone that a command goes on with', async () => {
  const cf = await opens()
  const mail = mailer()
  loses(mail.outbox)
  const graph = agentOf(cf, mail, 4_000)
  const itemId = waitsFor(await graph.invoke(says(), thread()))
  // It sees the item, and looks again when the call has been answered and the model thinks.
  const watching = watch(cf, graph, { pollMs: 2_000, onResult: () => {} })
  await pause(300)
  const resume = { itemId, ...happened }
  const result = await graph.invoke(new Command({ resume }), thread())
  expect(lastText(result)).toBe('done')
  await watching.stop()
  expect(mail.outbox.sent).toEqual(['ana', 'bob'])
})

test('K1 of two watchers on one store, one goes on with a thread', async () => {
  const store = file()
  const mail = mailer()
  loses(mail.outbox)
  const [first, second] = [await opens(store), await opens(store)]
  const graph = agentOf(first, mail, 1_500)
  const done: string[] = []
  const onResult = (_: string, result: unknown) => done.push(lastText(result))
  const watching = [
    watch(first, graph, { pollMs: 20, onResult }),
    watch(second, agentOf(second, mail, 1_500), { pollMs: 20, onResult }),
  ]
  await graph.invoke(says(), thread())
  await pause(300)
  const [item] = (await first.inbox.list()).items
  await first.inbox.decide(item?.itemId ?? '', { ...happened, version: item?.version ?? 0 })
  await expect.poll(() => done, { timeout: 90_000, interval: 100 }).toEqual(['done'])
  await pause(1_000)
  for (const each of watching) await each.stop()
  expect(mail.outbox.sent).toEqual(['ana', 'bob'])
  expect(done).toEqual(['done'])
})

test('K1 a watcher that nobody listens to goes on with a thread', async () => {
  const cf = await opens()
  const mail = mailer()
  loses(mail.outbox)
  const graph = agentOf(cf, mail, 0)
  await graph.invoke(says(), thread())
  const watching = watch(cf, graph, { pollMs: 20 })
  const [item] = (await cf.inbox.list()).items
  await cf.inbox.decide(item?.itemId ?? '', { ...happened, version: item?.version ?? 0 })
  await expect.poll(() => mail.outbox.sent, { timeout: 90_000 }).toEqual(['ana', 'bob'])
  await watching.stop()
})
