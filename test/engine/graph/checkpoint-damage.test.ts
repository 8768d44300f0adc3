// A checkpoint that cannot be believed (D11, F2): nothing is executed, a person sees what is known
// and may pin an earlier good one; what was recorded since answers.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type PinRequest, pinCheckpoint } from '../../../src/client/run/pin.ts'
import { type Graph, graph } from '../../../src/model/graph/graph.ts'
import type { Checkpoint } from '../../../src/model/run/records.ts'
import { fake, Lab } from '../../lab.ts'

const ref = { namespace: 'default', runId: 'lab' }
const by = { by: 'ana', reason: 'the disk lied' }

/** Four nodes that send one mail each; `begun` says which of them was ever begun. */
function makeWorld() {
  const lab = new Lab()
  const mail = fake(lab, 'mail', 'unsafe_on_replay')
  const begun: string[] = []
  const names = ['n1', 'n2', 'n3', 'n4']
  const node = (i: number) => async (state: { sent: readonly string[] }, ctx: Ctx) => {
    begun.push(names[i] as string)
    const { id } = await ctx.call(mail.tool, { i })
    const sent = [...state.sent, id]
    return i === 3 ? ctx.done(sent) : ctx.go(names[i + 1] as string, { sent })
  }
  const made = graph({
    id: 'w@1.0.0',
    state: z.object({ sent: z.array(z.string()).default([]) }),
    tools: [mail.tool],
    start: 'n1',
    nodes: Object.fromEntries(names.map((name, i) => [name, node(i)])) as never,
  }) as Graph
  return { lab, mail, begun, graph: made }
}

type World = ReturnType<typeof makeWorld>
type Ctx = {
  call(tool: unknown, input: unknown): Promise<{ id: string }>
  go(node: string, patch?: object): never
  done(output: unknown): never
}

/** Killed at the fourth visit, whose mail was sent: its intent is durable, its receipt is not. */
async function stopped(): Promise<World> {
  const world = makeWorld()
  const { lab, mail } = world
  await lab.process(world.graph, {}, { killWhen: () => mail.sent.length === 4 })
  expect(await lab.store.getRun(ref)).toMatchObject({ visit: 4, node: 'n4', state: 'running' })
  world.begun.length = 0
  return world
}

/** Rows of the memory store are given out as they are kept: to change one is to damage it. */
async function damage({ lab }: World, visit: number, change: (row: Checkpoint) => object) {
  const rows = await lab.store.loadCheckpoints(ref, 0, visit)
  const row = rows.at(-1) as Checkpoint
  expect(row.visit).toBe(visit)
  Object.assign(row, change(row))
}

function pin({ lab }: World, request: Partial<PinRequest>) {
  return pinCheckpoint(lab.store, lab.clock, ref, { visit: 1, ...by, ...request })
}

const kinds: [string, (row: Checkpoint) => object, RegExp][] = [
  ['body', (row) => ({ bodyJson: row.bodyJson.replace('mail3', 'mail9') }), /digest does not fit/],
  ['body, cut off', (row) => ({ bodyJson: row.bodyJson.slice(0, -1) }), /digest does not fit/],
  ['body, gone', () => ({ bodyJson: '' }), /body is missing/],
  ['digest', () => ({ digest: 'x' }), /digest does not fit/],
  ['node', () => ({ node: 'n1' }), /digest does not fit/],
  ['base', () => ({ baseVisit: 3 }), /base that it builds on is missing|digest does not fit/],
  ['kind', () => ({ kind: 'base' }), /digest does not fit/],
  [
    'version',
    () => ({ version: '2.0.0' }),
    /of graph version 2\.0\.0, .*1\.0\.0.* after a migration/,
  ],
  ['format, unknown', () => ({ schemaVersion: 0 }), /its format is unknown/],
]

describe('D11 a damaged checkpoint is never used', () => {
  test.each(kinds)(
    'D11 F2 its %s: nothing is executed, a person is asked',
    async (_, change, why) => {
      const world = await stopped()
      const { lab, graph: made, mail, begun } = world
      await damage(world, 4, change)
      expect(await lab.process(made, {})).toBe('parked')
      expect(begun).toEqual([])
      expect(mail.sent.length).toBe(4)
      const item = await lab.item()
      expect(item).toMatchObject({ kind: 'doubt', reason: 'checkpoint', visit: 4, queue: 'doubts' })
      expect(item.body.damage).toMatchObject({ visit: 4, good: [3, 2, 1] })
      expect(item.body.damage?.why).toMatch(why)
      expect(await lab.store.getRun(ref)).toMatchObject({
        state: 'waiting_human',
        workerId: null,
        waitingFor: { kind: 'doubt', items: [item.itemId] },
      })
    },
  )

  test('D11 an earlier row of its chain: what builds on it is no better', async () => {
    const world = await stopped()
    const { lab, graph: made, begun } = world
    await damage(world, 2, () => ({ digest: 'x' }))
    await lab.process(made, {})
    expect((await lab.item()).body.damage).toMatchObject({ visit: 4, good: [1] })
    expect(begun).toEqual([])
    await expect(pin(world, { visit: 3 })).rejects.toMatchObject({ code: 'PIN_REFUSED' })
  })

  test('D11 taken up again and again it stays one item', async () => {
    const world = await stopped()
    const { lab, graph: made } = world
    await damage(world, 4, () => ({ digest: 'x' }))
    await lab.process(made, {})
    const item = await lab.item()
    // A client wakes it without having mended anything.
    await lab.store.amend(ref, 'client', () => ({
      changes: { run: { state: 'pending', arrive: true } },
      value: null,
    }))
    await lab.process(made, {})
    expect(await lab.items()).toEqual([item])
    expect((await lab.events('doubt')).length).toBe(1)
  })

  test('D8 a format that is not known is told to a person, and not claimed for ever', async () => {
    const world = await stopped()
    const { lab, graph: made, begun } = world
    await damage(world, 4, () => ({ schemaVersion: 99 }))
    expect(await lab.process(made, {})).toBe('parked')
    const { damage: why } = (await lab.item()).body
    expect(why).toMatchObject({ visit: 4, why: expect.stringContaining('format 99') })
    expect(why?.good).toEqual([3, 2, 1])
    expect(begun).toEqual([])
  })
})

describe('D11 pinning an earlier one', () => {
  test.each([1, 2, 3])(
    'D11 visit %i: it goes on from there, and sends nothing twice',
    async (visit) => {
      const world = await stopped()
      const { lab, graph: made, mail, begun } = world
      await damage(world, 4, () => ({ digest: 'x' }))
      await lab.process(made, {})
      const item = await lab.item()
      await pin(world, { visit })
      const run = await lab.store.getRun(ref)
      expect(run).toMatchObject({ state: 'pending', visit, node: `n${visit}`, reached: 4 })
      expect(run?.waitingFor).toBe(null)
      expect(await lab.items()).toEqual([])
      expect(await lab.decisions()).toMatchObject([
        { outcome: 'pin', by: 'ana', why: 'the disk lied', itemId: item.itemId, visit: 4 },
      ])
      expect(await lab.events('checkpoint_pinned')).toMatchObject([
        { data: { from: 4, to: visit } },
      ])
      await lab.process(made, {})
      // The fourth mail was in flight when the process died: of that nobody knows.
      expect(begun).toEqual(['n1', 'n2', 'n3', 'n4'].slice(visit - 1))
      expect(mail.sent.length).toBe(4)
      expect(await lab.item()).toMatchObject({ reason: 'unknown', visit: 4 })
      await lab.decide({ outcome: 'happened', result: { id: 'mail4' } })
      await lab.process(made, {})
      expect(await lab.output()).toEqual(['mail1', 'mail2', 'mail3', 'mail4'])
      expect(mail.sent.length).toBe(4)
    },
  )

  test('D11 killed at every moment after it', async () => {
    for (let moment = 1; moment < 60; moment++) {
      const world = await stopped()
      const { lab, graph: made, mail } = world
      await damage(world, 4, () => ({ digest: 'x' }))
      await lab.process(made, {})
      await pin(world, { visit: 2 })
      const killWhen = () => lab.clock.events >= moment
      await lab.process(made, {}, { killWhen })
      await lab.process(made, {})
      const [item] = await lab.items()
      expect(item?.reason, `killed at ${moment}`).toBe('unknown')
      await lab.decide({ outcome: 'happened', result: { id: 'mail4' } })
      await lab.process(made, {})
      expect(await lab.output()).toEqual(['mail1', 'mail2', 'mail3', 'mail4'])
      expect(mail.sent.length, `killed at ${moment}`).toBe(4)
    }
  })

  test('D11 the pinned one is a base of its own: what was before it may go', async () => {
    const world = await stopped()
    const { lab, graph: made } = world
    await damage(world, 4, () => ({ digest: 'x' }))
    await lab.process(made, {})
    await pin(world, { visit: 3 })
    await damage(world, 1, () => ({ digest: 'x' }))
    await lab.process(made, {})
    expect((await lab.item()).reason).toBe('unknown')
  })

  test('D11 damaged again at the same visit: a new item, and it can be pinned again', async () => {
    const world = await stopped()
    const { lab, graph: made, mail } = world
    await damage(world, 4, () => ({ digest: 'x' }))
    await lab.process(made, {})
    await pin(world, { visit: 3 })
    await lab.process(made, {})
    await lab.decide({ outcome: 'happened', result: { id: 'mail4' } })
    await damage(world, 4, () => ({ digest: 'y' }))
    await lab.process(made, {})
    expect((await lab.item()).body.damage?.good).toEqual([3, 2, 1])
    await pin(world, { visit: 2 })
    await lab.process(made, {})
    expect(await lab.output()).toEqual(['mail1', 'mail2', 'mail3', 'mail4'])
    expect(mail.sent.length).toBe(4)
    const outcomes = (await lab.decisions()).map((row) => row.outcome)
    expect(outcomes).toEqual(['pin', 'happened', 'pin'])
  })

  test('D11 the run can be abandoned instead', async () => {
    const world = await stopped()
    const { lab, graph: made, begun } = world
    await damage(world, 4, () => ({ digest: 'x' }))
    await lab.process(made, {})
    await lab.decide({ outcome: 'abandon' })
    expect(await lab.state()).toBe('failed')
    expect((await lab.error()).message).toBe('abandoned by tester: looked')
    expect(await lab.process(made, {})).toBe('nothing to claim')
    expect(begun).toEqual([])
  })
})

describe('D11 pinning after all', () => {
  test('D11 a run that was abandoned goes on, and is not abandoned again', async () => {
    const world = await stopped()
    const { lab, graph: made, mail } = world
    await damage(world, 4, () => ({ digest: 'x' }))
    await lab.process(made, {})
    await lab.decide({ outcome: 'abandon' })
    await pin(world, { visit: 3 })
    await lab.process(made, {})
    expect(await lab.item()).toMatchObject({ reason: 'unknown', visit: 4 })
    await lab.decide({ outcome: 'happened', result: { id: 'mail4' } })
    await lab.process(made, {})
    expect(await lab.output()).toEqual(['mail1', 'mail2', 'mail3', 'mail4'])
    expect(mail.sent.length).toBe(4)
  })

  test('D11 a run that was worked on between look and pin is refused', async () => {
    const world = await stopped()
    const { lab, graph: made } = world
    await damage(world, 4, () => ({ digest: 'x' }))
    await lab.process(made, {})
    // Somebody else pins it, it goes on, and waits again: what was read is of another time.
    const slow = {
      ...lab.store,
      loadCheckpoints: async (...args: Parameters<typeof lab.store.loadCheckpoints>) => {
        const rows = await lab.store.loadCheckpoints(...args)
        await pin(world, { visit: 3 })
        await lab.process(made, {})
        return rows
      },
    }
    const late = pinCheckpoint(slow, lab.clock, ref, { visit: 2, ...by })
    await expect(late).rejects.toThrow(/a worker has continued it meanwhile: look again/)
    expect(await lab.store.getRun(ref)).toMatchObject({ state: 'waiting_human', visit: 4 })
  })
})

describe('D11 what cannot be pinned', () => {
  async function damaged(): Promise<World> {
    const world = await stopped()
    await damage(world, 4, () => ({ digest: 'x' }))
    await world.lab.process(world.graph, {})
    return world
  }

  test.each([
    ['a bad visit', { visit: 4 }, /visit 4 cannot be used: .*digest does not fit/],
    ['a visit that never was', { visit: 9 }, /visit 9/],
    ['no visit', { visit: undefined as never }, /visit/],
    ['a text', { visit: '1' as never }, /visit/],
    ['a broken number', { visit: 1.5 }, /visit/],
    ['nobody', { by: ' ' }, /needs `by`/],
    ['no reason', { reason: undefined as never }, /needs `reason`/],
  ])('D11 %s is refused, and nothing changes', async (_, request, message) => {
    const world = await damaged()
    const { lab } = world
    const before = [await lab.store.getRun(ref), await lab.items(), await lab.events()]
    await expect(pin(world, request)).rejects.toMatchObject({ code: 'PIN_REFUSED' })
    await expect(pin(world, request)).rejects.toThrow(message)
    expect([await lab.store.getRun(ref), await lab.items(), await lab.events()]).toEqual(before)
  })

  test('D11 a run that is worked on, waits for a worker, or has completed', async () => {
    const running = await stopped()
    await expect(pin(running, {})).rejects.toThrow(/it is running; pause it first/)
    const { lab } = running
    await damage(running, 4, () => ({ digest: 'x' }))
    await lab.process(running.graph, {})
    await pin(running, { visit: 3 })
    await expect(pin(running, { visit: 2 })).rejects.toThrow(/it is pending/)
    const done = makeWorld()
    await done.lab.process(done.graph, {})
    await expect(pin(done, {})).rejects.toThrow(/it is completed/)
    const none = pinCheckpoint(lab.store, lab.clock, { ...ref, runId: 'no' }, { visit: 1, ...by })
    await expect(none).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
  })

  test('D11 the inbox does not pin: it says who does', async () => {
    const { lab } = await damaged()
    await expect(lab.decide({ outcome: 'pin' })).rejects.toThrow(
      /run\.pin\(\{ visit, by, reason \}\)/,
    )
  })
})

describe('D11 items that were open when a run is pinned', () => {
  /** Waits at its second visit, about an approval. */
  async function waiting() {
    const lab = new Lab()
    const world = { way: 'ask' }
    const made = graph({
      id: 'w@1.0.0',
      state: z.object({}),
      start: 'first',
      nodes: {
        first: async (_, ctx) => ctx.go(world.way as 'ask'),
        ask: async (_, ctx) => ctx.done((await ctx.approval({ title: 'May I?' })).approved),
        leave: async (_, ctx) => ctx.done('not asked'),
      },
    }) as Graph
    await lab.process(made, {})
    const asked = await lab.item()
    await pinCheckpoint(lab.store, lab.clock, ref, { visit: 1, ...by })
    return { lab, graph: made, world, asked }
  }

  test('D11 are closed, since nobody waits for them any more', async () => {
    const { lab, graph: made, world, asked } = await waiting()
    expect(await lab.items()).toEqual([])
    const closed = await lab.store.getItem('default', asked.itemId)
    expect(closed).toMatchObject({ state: 'closed', version: 2 })
    expect(closed?.closedBy).toMatch(/pinned by ana/)
    await expect(
      lab.inbox.decide(asked.itemId, { outcome: 'approve', version: 1, ...by }),
    ).rejects.toMatchObject({ code: 'ITEM_CLOSED' })
    world.way = 'leave'
    await lab.process(made, {})
    // The question is a record of the visit that nobody asks for now.
    await lab.decide({ outcome: 'retire_record' })
    await lab.process(made, {})
    expect(await lab.output()).toBe('not asked')
    expect(await lab.items()).toEqual([])
  })

  test('D11 are asked anew if the run comes there again', async () => {
    const { lab, graph: made, asked } = await waiting()
    await lab.process(made, {})
    const again = await lab.item()
    expect(again).toMatchObject({ title: 'May I?', visit: 2, state: 'open' })
    expect(again.itemId).not.toBe(asked.itemId)
    await lab.decide({ outcome: 'approve' })
    await lab.process(made, {})
    expect(await lab.output()).toBe(true)
  })
})
