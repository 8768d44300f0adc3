// What is foretold of runs that wait for no person (C7).
import { expect, test } from 'vitest'
import type { CallInfo } from '../../src/model/tool.ts'
import { fake, flow, Lab } from '../lab.ts'

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
