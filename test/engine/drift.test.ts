// Resumed code that asks for something else than was recorded: nothing is sent, a person decides.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool, workflow } from '../../src/index.ts'
import type { Graph } from '../../src/model/graph.ts'
import { Lab, work } from '../lab.ts'

function mailer(lab: Lab) {
  const sent: string[] = []
  const send = tool({
    name: 'send_email',
    replayClass: 'unsafe_on_replay',
    input: z.object({ to: z.string(), at: z.number().optional() }),
    run: async ({ to }) => {
      sent.push(to)
      await work(lab, 50)
      return { id: `m${sent.length}` }
    },
  })
  return { sent, send }
}

test('C2 a timestamp in the input: one send, one question, and the answer holds for later resumes', async () => {
  const lab = new Lab()
  const { sent, send } = mailer(lab)
  const graph = workflow({
    id: 'w@1.0.0',
    input: z.null(),
    tools: [send],
    run: async (_, ctx) => {
      const first = await ctx.call(send, { to: 'ana', at: lab.clock.now() })
      const second = await ctx.call(send, { to: 'bob' })
      return [first.id, second.id]
    },
  }) as Graph
  expect(await lab.process(graph, null, { killWhen: () => sent.length === 1 })).toBe('crash')
  expect(await lab.process(graph, null)).toBe('parked')
  const item = await lab.item()
  expect(item.reason).toBe('drift')
  expect(item.body.unmatched).toHaveLength(1)
  expect(sent).toEqual(['ana'])
  await lab.decide({ outcome: 'use_record', result: { id: 'm1' } })
  expect(await lab.process(graph, null, { killWhen: () => sent.length === 2 })).toBe('crash')
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.item()).body.subject?.nth).toBe(1)
  await lab.decide({ outcome: 'happened', result: { id: 'm2' } })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['m1', 'm2'])
  expect(sent).toEqual(['ana', 'bob'])
})
