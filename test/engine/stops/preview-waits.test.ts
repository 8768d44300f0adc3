// What is foretold of runs that wait for no person (C7).
import { expect, test } from 'vitest'
import type { CallInfo } from '../../../src/model/tool/tool.ts'
import { fake, flow, Lab } from '../../lab.ts'

const HOUR = 3_600_000

async function foretold(lab: Lab, graph: Parameters<Lab['preview']>[0]) {
  return (await lab.preview(graph)).calls.map(({ action, why }) => [action, why])
}

test('C7 a sleeping run waits for its time and is said to; over, it goes on', async () => {
  const lab = new Lab()
  const graph = flow([], async (ctx) => ctx.sleep(HOUR))
  await lab.process(graph, null)
  expect(await foretold(lab, graph)).toEqual([['wait', expect.stringContaining('sleeps')]])
  await lab.pass(HOUR)
  expect(await foretold(lab, graph)).toEqual([['replay', 'what it waited for has come']])
})

test('C7 a signal that is there answers; one that is not is waited for', async () => {
  const lab = new Lab()
  const graph = flow([], async (ctx) => ctx.signal('go'))
  await lab.process(graph, null)
  expect(await foretold(lab, graph)).toEqual([['wait', 'it waits for its signal']])
  await lab.signal('go', 1)
  expect(await foretold(lab, graph)).toEqual([['replay', 'what it waited for has come']])
})

test('C7 what a callback said counts: landed or refused, the call is answered', async () => {
  for (const outcome of ['landed', 'refused'] as const) {
    const lab = new Lab()
    const tokens: string[] = []
    const order = fake(lab, 'order', 'unsafe_on_replay', {
      ...{ ms: 50, callbackMs: HOUR },
      does: (_n: number, _input: unknown, call: CallInfo) => {
        tokens.push(call.defer())
      },
    })
    const graph = flow([order.tool], (ctx) => ctx.call(order.tool, 1))
    await lab.start(graph)
    await lab.serve([graph])
    expect(await foretold(lab, graph)).toEqual([['wait', 'its upstream is to call back']])
    const [token = ''] = tokens
    const callbacks = lab.callbacks([graph])
    if (outcome === 'landed') await callbacks.settle(token, { id: 'o1' })
    else await callbacks.fail(token, 'no stock')
    expect(await foretold(lab, graph)).toEqual([['replay', 'what was learnt late answers']])
    await lab.serve([graph])
    expect(await lab.state()).toBe(outcome === 'landed' ? 'completed' : 'failed')
    expect(order.sent).toHaveLength(1)
  }
})

test('C7 a deferred call that was not heard of in time is not waited for any longer', async () => {
  const lab = new Lab()
  const order = fake(lab, 'order', 'unsafe_on_replay', {
    ...{ ms: 50, callbackMs: HOUR, heartbeatMs: 2_000 },
    does: (_n: number, _input: unknown, call: CallInfo) => {
      call.defer()
    },
  })
  const graph = flow([order.tool], (ctx) => ctx.call(order.tool, 1))
  await lab.process(graph, null)
  expect(await foretold(lab, graph)).toEqual([['wait', 'its upstream is to call back']])
  await lab.pass(3_000)
  expect(await foretold(lab, graph)).toEqual([['park', 'nobody knows whether it happened']])
  await lab.store.wakeDue(1)
  expect(await lab.process(graph, null)).toBe('parked')
  expect(await lab.state()).toBe('waiting_human')
})

test('C7 a drift that is open: its records wait, and a note tells of the call', async () => {
  const lab = new Lab()
  const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 1_000 })
  let to = 'ana'
  const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, { to }))
  await lab.process(graph, null, { killWhen: () => mail.sent.length === 1 })
  to = 'bo'
  await lab.process(graph, null)
  const why = 'a person is asked which call it is'
  expect(await foretold(lab, graph)).toEqual([['wait', why]])
  const notes = async () => (await lab.preview(graph)).notes.join()
  expect(await notes()).toContain('a person is asked already: mail: no record matches')
  await lab.decide({ outcome: 'send' })
  expect(await notes()).toContain('a person has allowed one send of mail#0')
  await lab.process(graph, null, { killWhen: () => mail.sent.length === 2 })
  expect(mail.sent).toHaveLength(2)
})

test('C7 a run that a person abandoned while it was held ends, and nothing is sent', async () => {
  const lab = new Lab()
  const mail = fake(lab, 'mail', 'idempotent_with_key', { ms: 1_000 })
  const graph = flow([mail.tool], async (ctx) => {
    await Promise.all([ctx.approval({ title: 'Go?' }), ctx.call(mail.tool, 1)])
  })
  await lab.process(graph, null, {
    leaveWhen: () => lab.durable('counterfoil.approval', 'pending'),
  })
  await lab.decide({ outcome: 'abandon' })
  expect((await lab.preview(graph)).notes.join()).toContain('abandoned by tester')
})
