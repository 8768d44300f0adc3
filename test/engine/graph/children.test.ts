// Child runs: made with the record that asks for them, told of once, cancelled with their parent.
import { describe, expect, test } from 'vitest'
import type { Context } from '../../../src/model/graph/context.ts'
import { type Graph, workflow } from '../../../src/model/graph/graph.ts'
import type { Schema } from '../../../src/model/tool/schema.ts'
import type { Tool } from '../../../src/model/tool/tool.ts'
import { atEveryEvent, fake, flow, Lab } from '../../lab.ts'

const anything: Schema = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
}

function childGraph(
  tools: readonly Tool[],
  run: (input: unknown, ctx: Context) => Promise<unknown>,
): Graph {
  return workflow({ id: 'child@1.0.0', input: anything, tools, run }) as Graph
}

function family() {
  const lab = new Lab()
  const mail = fake(lab, 'mail', 'idempotent_with_key', {
    idempotencyKey: (input: unknown) => `mail-${JSON.stringify(input)}`,
  })
  const child = childGraph([mail.tool], async (input, ctx) => {
    await ctx.call(mail.tool, { input })
    return { did: input }
  })
  const parent = flow([], async (ctx) => {
    const ends = await Promise.all([1, 2, 3].map((n) => ctx.spawn(child, n)))
    return ends.map((end) => (end.state === 'completed' ? end.output : end.state))
  })
  return { lab, mail, child, parent }
}

describe('children', () => {
  test('D5 I10 a parent waits for children without a worker, and gets their results', async () => {
    const lab = new Lab()
    const child = childGraph([], async (input, ctx) => {
      await ctx.sleep(3_600_000)
      return { did: input }
    })
    const parent = flow([], (ctx) => ctx.spawn(child, 1))
    await lab.start(parent)
    await lab.serve([parent, child])
    const { state, workerId, waitingFor } = await lab.run()
    expect({ state, workerId, kind: waitingFor?.kind }).toEqual({
      ...{ state: 'waiting_tool', workerId: null, kind: 'child' },
    })
    const [{ runId } = { runId: '' }] = (
      await lab.store.listRuns({ namespace: 'default', parentRunId: 'lab' })
    ).items
    expect(waitingFor?.names).toEqual([runId])
    await lab.pass(3_600_000)
    await lab.serve([parent, child])
    expect(await lab.output()).toEqual({ runId, state: 'completed', output: { did: 1 } })
    expect(await lab.findings()).toEqual([])
  })

  test('D5 I10 killed at every event, three children are three and each works once', async () => {
    const events = await atEveryEvent(async (kill) => {
      const { lab, mail, child, parent } = family()
      await lab.start(parent)
      const graphs = [parent, child]
      const end = await lab.serve(graphs, { killWhen: kill.in(lab) })
      if (end === 'crash') await lab.serve(graphs)
      await lab.serve(graphs)
      expect(await lab.output()).toEqual([{ did: 1 }, { did: 2 }, { did: 3 }])
      const all = await lab.store.listRuns({ namespace: 'default' })
      expect(all.items.length).toBe(4)
      expect(new Set(mail.sent.map((one) => one.key)).size).toBe(3)
    })
    expect(events).toBeGreaterThan(10)
  })

  test('D5 the failure of a child is an answer, not an exception', async () => {
    const lab = new Lab()
    const child = childGraph([], async () => {
      throw new Error('no seats')
    })
    const parent = flow([], (ctx) => ctx.spawn(child, 1))
    await lab.start(parent)
    await lab.serve([parent, child])
    expect(await lab.output()).toMatchObject({ state: 'failed', error: { message: 'no seats' } })
  })

  test('D4 D5 a cancelled parent takes its children with it, also those that wait', async () => {
    const lab = new Lab()
    const grandchild = workflow({
      id: 'grand@1.0.0',
      input: anything,
      run: (_, ctx) => ctx.signal('never'),
    }) as Graph
    const child = childGraph([], (_, ctx) => ctx.spawn(grandchild, 1))
    const parent = flow([], (ctx) => ctx.spawn(child, 1))
    const graphs = [parent, child, grandchild]
    await lab.start(parent)
    await lab.serve(graphs)
    await lab.wish('cancel', { dead: true })
    await lab.serve(graphs)
    await lab.serve(graphs)
    const runs = (await lab.store.listRuns({ namespace: 'default' })).items
    expect(runs.map((run) => run.state)).toEqual(['cancelled', 'cancelled', 'cancelled'])
  })

  test('D5 a graph that was not given to open() is refused by name', async () => {
    const lab = new Lab()
    const stranger = workflow({ id: 'other@1.0.0', input: anything, run: async () => 1 }) as Graph
    const graph = flow([], (ctx) => ctx.spawn(stranger, 1))
    await lab.start(graph)
    await lab.serve([graph])
    expect((await lab.error()).message).toContain('other@1.0.0 was not given to open()')
  })
})
