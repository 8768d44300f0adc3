// Children that their parent stops waiting for: raced with a time, left behind, cancelled.
import { describe, expect, test } from 'vitest'
import { retryRun } from '../../../src/client/run/retry.ts'
import type { Context, NodeContext } from '../../../src/model/graph/context.ts'
import { type Graph, graph, workflow } from '../../../src/model/graph/graph.ts'
import type { Schema } from '../../../src/model/tool/schema.ts'
import { atEveryEvent, fake, flow, Lab } from '../../lab.ts'

const anything: Schema = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
}
const hour = 3_600_000

function childGraph(run: (input: unknown, ctx: Context) => Promise<unknown>, input = anything) {
  return workflow({ id: 'child@1.0.0', input, run }) as Graph
}

/** Works until it is told to go on; a long time, unless the test says otherwise. */
const waiter = childGraph(async (_, ctx) => (await ctx.signal('go')).data)

const late = { state: 'late' } as const
const inTime = (ctx: Context, child: PromiseLike<{ state: string }>, ms: number) =>
  Promise.race([child, ctx.sleep(ms).then(() => late)])

async function childOf(lab: Lab) {
  const { items } = await lab.store.listRuns({ namespace: 'default', parentRunId: 'lab' })
  const [run] = items
  if (run === undefined) throw new Error('there is no child')
  return { run, count: items.length }
}

async function asked(lab: Lab) {
  const { run } = await childOf(lab)
  const { items } = await lab.store.listEvents(run, { countMax: 500 })
  return items.filter(({ kind }) => kind === 'stop_asked').map(({ data }) => data['why'])
}

async function tell(lab: Lab, runId: string, name: string): Promise<void> {
  const signalId = `${name}-1`
  const at = lab.clock.now()
  await lab.store.amend({ namespace: 'default', runId }, 'client', ({ run }) => {
    const { namespace } = run
    const signal = { namespace, runId, signalId, name, dataJson: '7', at, usedBy: null }
    const change = { arrive: true, state: 'pending' as const, waitingFor: null }
    return { changes: { signals: [signal], run: change }, value: undefined }
  })
}

describe('a child that is raced', () => {
  test('D5 a wait for a child does not hold the end of a node that has returned', async () => {
    const lab = new Lab()
    const parent = flow([], async (ctx) => {
      const child = ctx.spawn(waiter, 1)
      return { first: (await inTime(ctx, child, hour)).state, runId: child.runId }
    })
    await lab.start(parent)
    await lab.serve([parent, waiter])
    expect(await lab.state()).toBe('waiting_tool')
    await lab.pass(hour)
    await lab.serve([parent, waiter])
    const { run } = await childOf(lab)
    expect(await lab.output()).toEqual({ first: 'late', runId: run.runId })
    expect(run.state).toBe('waiting_tool')
  })

  test('D5 I10 a child left behind goes on, and its end is told to an ended parent', async () => {
    const lab = new Lab()
    const parent = flow([], (ctx) => inTime(ctx, ctx.spawn(waiter, 1), hour))
    await lab.start(parent)
    await lab.serve([parent, waiter])
    await lab.pass(hour)
    await lab.serve([parent, waiter])
    const before = await lab.run()
    expect(before.state).toBe('completed')
    const { run } = await childOf(lab)
    await tell(lab, run.runId, 'go')
    await lab.serve([parent, waiter])
    expect((await childOf(lab)).run).toMatchObject({ state: 'completed', outputJson: '7' })
    const after = await lab.run()
    expect(after).toMatchObject({ state: 'completed', outputJson: before.outputJson })
    expect(after.arrivals).toBe(before.arrivals + 1)
    const [evidence] = await lab.store.listEvidence(after)
    expect(evidence).toMatchObject({ outcome: 'landed', externalId: run.runId, seq: null })
    expect(await lab.findings()).toEqual([])
  })

  test('D5 I10 the end of a child wakes a parent that has moved on, which waits on', async () => {
    const lab = new Lab()
    const parent = graph({
      id: 'w@1.0.0',
      state: anything,
      start: 'one',
      nodes: {
        one: async (_: unknown, ctx: NodeContext) => {
          await inTime(ctx, ctx.spawn(waiter, 1), hour)
          return ctx.go('two')
        },
        two: async (_: unknown, ctx: NodeContext) => ctx.done((await ctx.signal('paid')).data),
      },
    }) as unknown as Graph
    await lab.start(parent, {})
    await lab.serve([parent, waiter])
    await lab.pass(hour)
    await lab.serve([parent, waiter])
    expect(await lab.run()).toMatchObject({ state: 'waiting_tool', node: 'two' })
    const { run } = await childOf(lab)
    await tell(lab, run.runId, 'go')
    await lab.serve([parent, waiter])
    expect((await childOf(lab)).run.state).toBe('completed')
    expect(await lab.run()).toMatchObject({ state: 'waiting_tool', node: 'two' })
    await lab.signal('paid', 9)
    await lab.serve([parent, waiter])
    expect(await lab.output()).toBe(9)
    expect(await lab.items()).toEqual([])
    expect(await lab.findings()).toEqual([])
  })

  test('D5 C10 a parent that is tried again reads the end that came after its own', async () => {
    const lab = new Lab()
    let broken = true
    const parent = flow([], async (ctx) => {
      const end = ctx.spawn(waiter, 1)
      await ctx.sleep(hour)
      if (broken) throw new Error('not today')
      return end
    })
    await lab.start(parent)
    await lab.serve([parent, waiter])
    await lab.pass(hour)
    await lab.serve([parent, waiter])
    expect(await lab.state()).toBe('failed')
    const { run } = await childOf(lab)
    await tell(lab, run.runId, 'go')
    await lab.serve([parent, waiter])
    broken = false
    const said = { by: 'tester', reason: 'mended' }
    await retryRun(lab.store, lab.clock, { namespace: 'default', runId: 'lab' }, said)
    await lab.serve([parent, waiter])
    expect(await lab.output()).toEqual({ runId: run.runId, state: 'completed', output: 7 })
    expect((await childOf(lab)).count).toBe(1)
  })

  test('C3 a child on record that the code no longer asks for is drift', async () => {
    const lab = new Lab()
    const first = flow([], (ctx) => ctx.spawn(waiter, 1))
    const second = flow([], async (ctx) => ctx.now())
    await lab.start(first)
    await lab.serve([first, waiter])
    const { run } = await childOf(lab)
    await tell(lab, run.runId, 'go')
    await lab.serve([second, waiter])
    expect(await lab.item()).toMatchObject({ kind: 'doubt', reason: 'drift' })
    expect((await childOf(lab)).count).toBe(1)
  })
})

/** A parent whose child has an hour, and what it then does. */
function deadline(lab: Lab) {
  const tidy = fake(lab, 'tidy', 'unsafe_on_replay')
  const parent = flow([tidy.tool], async (ctx) => {
    const child = ctx.spawn(waiter, 1)
    const first = await inTime(ctx, child, hour)
    if (first !== late) return first.state
    await child.cancel('it has had its hour')
    const end = await child
    await ctx.call(tidy.tool, { of: child.runId })
    return end.state
  })
  return { parent, tidy, graphs: [parent, waiter] }
}

describe('a child that is cancelled', () => {
  test('D5 I1 killed at every event, a child is cancelled once, its parent goes on', async () => {
    const events = await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const { parent, tidy, graphs } = deadline(lab)
      await lab.start(parent)
      await lab.serve(graphs)
      await lab.pass(hour)
      const end = await lab.serve(graphs, { killWhen: kill.in(lab) })
      if (end === 'crash') await lab.serve(graphs)
      const parked = await lab.items()
      // Killed while `tidy` was under way: nobody knows, as for any other unsafe call.
      for (const _ of parked) await lab.decide({ outcome: 'happened', result: { id: 'tidy1' } })
      await lab.serve(graphs)
      expect(await lab.output()).toBe('cancelled')
      expect(await asked(lab)).toEqual(['it has had its hour'])
      expect(await childOf(lab)).toMatchObject({ run: { state: 'cancelled' }, count: 1 })
      expect(tidy.sent.length).toBeLessThanOrEqual(1)
      expect(await lab.findings()).toEqual([])
    })
    expect(events).toBeGreaterThan(20)
  })

  test('D5 killed at every event of its start, a child is made once and cancelled', async () => {
    await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const parent = flow([], async (ctx) => {
        const child = ctx.spawn(waiter, 1)
        void child.cancel('not needed')
        return child
      })
      const graphs = [parent, waiter]
      await lab.start(parent)
      const end = await lab.serve(graphs, { killWhen: kill.in(lab) })
      if (end === 'crash') await lab.serve(graphs)
      await lab.serve(graphs)
      expect(await lab.output()).toMatchObject({ state: 'cancelled' })
      expect(await asked(lab)).toEqual(['not needed'])
      expect((await childOf(lab)).count).toBe(1)
    })
  })

  test('D5 killed between the record and the request, the child is asked by the next', async () => {
    const lab = new Lab()
    const { parent, graphs } = deadline(lab)
    await lab.start(parent)
    await lab.serve(graphs)
    await lab.pass(hour)
    const killWhen = () => lab.durable('counterfoil.cancel', 'pending')
    expect(await lab.serve(graphs, { killWhen })).toBe('crash')
    expect(await asked(lab)).toEqual([])
    await lab.serve(graphs)
    expect(await asked(lab)).toEqual(['it has had its hour'])
    expect(await lab.output()).toBe('cancelled')
  })

  test('C9 D5 a cancellation on record is read back, not made again', async () => {
    const lab = new Lab()
    const seen: (boolean | undefined)[] = []
    const parent = flow([], async (ctx) => {
      const child = ctx.spawn(waiter, 1)
      const cancelled = child.cancel('enough')
      await cancelled
      seen.push(cancelled.replayed)
      await ctx.sleep(hour)
      return 'done'
    })
    await lab.start(parent)
    await lab.serve([parent, waiter])
    await lab.pass(hour)
    await lab.serve([parent, waiter])
    expect(await lab.output()).toBe('done')
    expect({ first: seen[0], last: seen.at(-1) }).toEqual({ first: false, last: true })
    expect(await asked(lab)).toEqual(['enough'])
  })

  test('D5 a child that has ended stays as it is; a second reason is no conflict', async () => {
    const lab = new Lab()
    const quick = childGraph(async () => 7)
    const parent = flow([], async (ctx) => {
      const child = ctx.spawn(quick, 1)
      const end = await child
      await child.cancel('too late')
      await child.cancel('again')
      return end.state
    })
    await lab.start(parent)
    await lab.serve([parent, quick])
    expect(await lab.output()).toBe('completed')
    expect(await asked(lab)).toEqual([])
    expect((await childOf(lab)).run.state).toBe('completed')
  })

  test('D5 E6 the risk policy is not asked about a cancellation', async () => {
    const lab = new Lab()
    const { parent, graphs } = deadline(lab)
    const about: string[] = []
    const policy = ({ tool }: { tool: string }) => {
      about.push(tool)
      return 'run' as const
    }
    await lab.start(parent)
    await lab.serve(graphs, { policy: policy as never })
    await lab.pass(hour)
    await lab.serve(graphs, { policy: policy as never })
    expect(await lab.output()).toBe('cancelled')
    expect(about).toEqual(['tidy'])
  })

  test('D5 a child whose schema is asynchronous has its id later, and is cancelled', async () => {
    const lab = new Lab()
    const slow: Schema = {
      '~standard': { version: 1, vendor: 'test', validate: async (value) => ({ value }) },
    }
    const child = childGraph((_, ctx) => ctx.signal('never'), slow)
    const parent = flow([], async (ctx) => {
      const made = ctx.spawn(child, 1)
      const early = await Promise.resolve().then(() => {
        void made.cancel('one')
        void made.cancel('two')
      })
      const end = await made
      return { early, same: end.runId === made.runId, state: end.state }
    })
    await lab.start(parent)
    await lab.serve([parent, child])
    expect(await lab.output()).toEqual({ same: true, state: 'cancelled' })
    const wrong = flow([], async (ctx) => {
      const made = ctx.spawn(child, 1)
      const id = (() => {
        try {
          return made.runId
        } catch (error) {
          return (error as { code: string }).code
        }
      })()
      await made.cancel('enough')
      return id
    })
    await lab.start(wrong, null, 'other')
    await lab.serve([wrong, child])
    const other = await lab.store.getRun({ namespace: 'default', runId: 'other' })
    expect(other?.outputJson).toBe('"CHILD_UNNAMED"')
  })

  test('D5 a cancellation needs a reason', async () => {
    const lab = new Lab()
    const parent = flow([], async (ctx) => ctx.spawn(waiter, 1).cancel(''))
    await lab.start(parent)
    await lab.serve([parent, waiter])
    expect(await lab.error()).toMatchObject({ code: 'INPUT_INVALID' })
  })
})
