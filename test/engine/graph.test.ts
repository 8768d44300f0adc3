// Graphs in the laboratory: nodes, visits, loops, and what a crash at any moment leaves.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Graph, graph } from '../../src/model/graph.ts'
import { fake, Lab } from '../lab.ts'

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
