// Graphs in the laboratory: nodes, visits, loops, and what a crash at any moment leaves.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { doneWith, type Graph, graph } from '../../../src/model/graph/graph.ts'
import { fake, Lab } from '../../lab.ts'

describe('D10 nodes, visits and checkpoints', () => {
  test('C5 I3 a loop of nodes, killed after every commit, sends each mail once', async () => {
    for (let killAfter = 1; killAfter < 12; killAfter++) {
      const lab = new Lab()
      const mail = fake(lab, 'mail', 'unsafe_on_replay')
      const loop = graph({
        id: 'w@1.0.0',
        state: z.object({ n: z.number(), sent: z.array(z.string()).default([]) }),
        output: z.object({ sent: z.array(z.string()) }),
        tools: [mail.tool],
        start: 'send',
        nodes: {
          send: async (state, ctx) => {
            const { id } = await ctx.call(mail.tool, { n: state.n })
            return ctx.go('next', { n: state.n + 1, sent: [...state.sent, id] })
          },
          next: async (state, ctx) =>
            state.n < 3 ? ctx.go('send') : ctx.done({ sent: [...state.sent] }),
        },
      }) as Graph
      const killWhen = () => lab.commits.length >= killAfter
      await lab.process(loop, { n: 0 }, { killWhen })
      for (let i = 0; i < 5 && (await lab.state()) !== 'completed'; i++) {
        for (const item of await lab.items()) {
          const { n } = item.body.input as { n: number }
          const happened = mail.sent.length > n
          await lab.decide(
            happened
              ? { outcome: 'happened', result: { id: `mail${n + 1}` } }
              : { outcome: 'did_not_happen' },
          )
        }
        await lab.process(loop, { n: 0 })
      }
      expect(await lab.output()).toEqual({ sent: ['mail1', 'mail2', 'mail3'] })
      expect(mail.sent.length).toBe(3)
    }
  })
})

test('F3 a node that goes along an undeclared edge fails, and both are named', async () => {
  const lab = new Lab()
  const made = graph({
    id: 'edges@1.0.0',
    state: z.object({ to: z.string() }),
    start: 'plan',
    nodes: {
      plan: ({ to }, ctx) => ctx.go(to as 'send'),
      send: (_, ctx) => ctx.done('sent'),
      stop: (_, ctx) => ctx.done('stopped'),
    },
    edges: { plan: ['send'] },
  })
  expect(await lab.process(made, { to: 'stop' })).toBe('ended')
  expect(await lab.state()).toBe('failed')
  const { errorJson } = (await lab.store.getRun({ namespace: 'default', runId: 'lab' })) ?? {}
  expect(JSON.parse(errorJson ?? '{}')).toMatchObject({
    code: 'GRAPH_INVALID',
    message: expect.stringContaining('node plan went to node stop, and its edges allow: send'),
  })
  const other = new Lab()
  expect(await other.process(made, { to: 'send' })).toBe('ended')
  expect(await other.output()).toBe('sent')
})

test('F3 edges name nodes of the graph, for the type checker too', () => {
  const a = () => doneWith(1)
  const spec = { id: 'e@1.0.0', state: z.object({}), start: 'a', nodes: { a, b: a } } as const
  expect(graph({ ...spec, edges: { a: ['b'], b: [] } }).edges?.get('a')).toEqual(new Set(['b']))
  // @ts-expect-error: c is not a node of it
  expect(() => graph({ ...spec, edges: { a: ['c'] } })).toThrow(
    /"c", which is not one of its nodes/,
  )
})
