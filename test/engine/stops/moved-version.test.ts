// A run that was moved to another version in the midst of a visit (DESIGN §9): effects answer,
// and of pure results those that an effect may have followed from.
import { describe, expect, test } from 'vitest'
import { type Graph, workflow } from '../../../src/model/graph/graph.ts'
import type { Schema } from '../../../src/model/tool/schema.ts'
import type { Tool } from '../../../src/model/tool/tool.ts'
import { newRun } from '../../../src/store/rules/new-run.ts'
import type { Store } from '../../../src/store/store.ts'
import { fake, Lab, work } from '../../lab.ts'

const anything: Schema = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
}

function version(
  number: string,
  tools: readonly Tool[],
  run: Parameters<typeof workflow>[0]['run'],
) {
  return workflow({ id: `w@${number}`, input: anything, tools, run: run as never }) as Graph
}

/** As a person would who edits the rows: the run, and its checkpoint, are of the other version. */
function moveByHand(lab: Lab, from: Graph, to: Graph): void {
  const { claim, load } = lab.store
  const store = lab.store as { -readonly [K in keyof Store]: Store[K] }
  const moved = <T extends object>(run: T) => ({ ...run, version: to.version })
  store.claim = async (asked) => (await claim({ ...asked, graphs: [from] })).map(moved)
  store.load = async (ref, at) => {
    const now = await load(ref, at)
    const { checkpoint } = newRun(lab.clock, to, { ...ref, input: null })
    if (now === null || checkpoint === null) return now
    return { ...now, run: moved(now.run), checkpoints: [checkpoint] }
  }
}

describe('a run that was moved by hand', () => {
  test('F2 C5 an old pure result answers no more, unless an effect followed from it', async () => {
    const lab = new Lab()
    const model = fake(lab, 'model', 'pure')
    const mail = fake(lab, 'mail', 'unsafe_on_replay')
    const tools = [model.tool, mail.tool]
    const run = async (_: unknown, ctx: Parameters<Parameters<typeof workflow>[0]['run']>[1]) => {
      const draft = await ctx.call(model.tool as never, 'draft' as never)
      const sent = await ctx.call(mail.tool as never, { draft } as never)
      const next = await ctx.call(model.tool as never, 'next' as never)
      await work(lab, 500)
      return [draft, sent, next]
    }
    const [one, two] = [version('1.0.0', tools, run), version('2.0.0', tools, run)]
    await lab.start(one)
    const killWhen = () => lab.durable('model', 'committed', 2)
    expect(await lab.serve([one], { killWhen })).toBe('crash')
    moveByHand(lab, one, two)
    await lab.serve([two])
    expect(model.sent.map((each) => each.input)).toEqual(['draft', 'next', 'next'])
    expect(mail.sent.length).toBe(1)
    expect(await lab.output()).toEqual([{ id: 'model1' }, { id: 'mail1' }, { id: 'model3' }])
  })

  test('A4 C2 a tool that was pure and is unsafe now is not sent a second time', async () => {
    const lab = new Lab()
    const was = fake(lab, 'post', 'pure')
    const is = fake(lab, 'post', 'unsafe_on_replay')
    const post = (tool: Tool, number: string) =>
      version(number, [tool], async (_, ctx) => {
        const sent = await ctx.call(tool as never, 'news' as never)
        await work(lab, 500)
        return sent
      })
    const [one, two] = [post(was.tool, '1.0.0'), post(is.tool, '2.0.0')]
    await lab.start(one)
    await lab.serve([one], { killWhen: () => lab.durable('post') })
    moveByHand(lab, one, two)
    await lab.serve([two])
    expect([was.sent.length, is.sent.length]).toEqual([1, 0])
    expect(await lab.output()).toEqual({ id: 'post1' })
  })
})
