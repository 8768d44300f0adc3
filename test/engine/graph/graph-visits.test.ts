// Rules that reach across visits: drift whatever the node, keys, calls failed without knowledge,
// and answers that come when the run is further on.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { pinCheckpoint } from '../../../src/client/run/pin.ts'
import { OutcomeUnknownError } from '../../../src/model/errors.ts'
import { type Graph, type GraphSpec, graph } from '../../../src/model/graph/graph.ts'
import type { Tool } from '../../../src/model/tool/tool.ts'
import { fake, Lab } from '../../lab.ts'

const ref = { namespace: 'default', runId: 'lab' }
const State = z.object({ n: z.number().default(0), notes: z.array(z.string()).default([]) })
type Nodes = GraphSpec<typeof State, undefined, Tool, string>['nodes']

function made(tools: readonly Tool[], start: string, nodes: Nodes): Graph {
  return graph({ id: 'w@1.0.0', state: State, tools, start, nodes }) as Graph
}

const by = { by: 'ana', reason: 'looked' }

describe('C3 the drift guard goes by generation and visit, whatever the node', () => {
  /** `turn` goes where the world says: code that is not the same at every replay. */
  function fork(lab: Lab) {
    const world = { way: 'left' }
    const mail = fake(lab, 'mail', 'unsafe_on_replay')
    const post = fake(lab, 'post', 'unsafe_on_replay')
    const forked = made([mail.tool, post.tool], 'turn', {
      turn: async (_, ctx) => ctx.go(world.way),
      left: async (_, ctx) => {
        await ctx.call(mail.tool, { to: 'ana' })
        return ctx.go('end')
      },
      right: async (_, ctx) => {
        await ctx.call(post.tool, { to: 'bob' })
        return ctx.go('end')
      },
      other: async (_, ctx) => {
        const { id } = await ctx.call(mail.tool, { to: 'ana' })
        return ctx.done(id)
      },
      none: async (_, ctx) => ctx.done('nothing asked for'),
      end: async (_, ctx) => ctx.fail('so that somebody pins it'),
    })
    return { world, mail, post, graph: forked }
  }

  async function pinnedTo(way: string) {
    const lab = new Lab()
    const all = fork(lab)
    await lab.process(all.graph, {})
    expect(await lab.state()).toBe('failed')
    expect(all.mail.sent.length).toBe(1)
    await pinCheckpoint(lab.store, lab.clock, ref, { visit: 1, ...by })
    all.world.way = way
    await lab.process(all.graph, {})
    return { lab, ...all }
  }

  test('C3 another call at another node: nothing is sent, both are shown', async () => {
    const { lab, graph: forked, mail, post } = await pinnedTo('right')
    expect(post.sent.length).toBe(0)
    const item = await lab.item()
    expect(item).toMatchObject({ reason: 'drift', visit: 2 })
    expect(item.body.node).toBe('right')
    expect(item.body.subject?.tool).toBe('post')
    expect(item.body.unmatched).toMatchObject([
      { tool: 'mail', status: 'committed', input: { to: 'ana' }, result: { id: 'mail1' } },
    ])
    await lab.decide({ outcome: 'send' })
    await lab.process(forked, {})
    expect([mail.sent.length, post.sent.length]).toEqual([1, 1])
    const nodes = (await lab.records()).map((row) => [row.nodeId, row.checkpointId, row.status])
    expect(nodes).toEqual([
      ['left', '1.0.0#0#2', 'committed'],
      ['right', '1.0.0#0#2', 'committed'],
    ])
  })

  test('C3 the same call at another node is answered by its record', async () => {
    const { lab, mail } = await pinnedTo('other')
    expect(mail.sent.length).toBe(1)
    expect(await lab.output()).toBe('mail1')
  })

  test('C3 a node that asks for nothing leaves it behind: a person is asked', async () => {
    const { lab, graph: forked } = await pinnedTo('none')
    expect(await lab.item()).toMatchObject({ reason: 'drift', body: { subject: null } })
    await lab.decide({ outcome: 'retire_record' })
    await lab.process(forked, {})
    expect(await lab.output()).toBe('nothing asked for')
  })

  test('C3 drift in a later visit, killed between intent and receipt', async () => {
    const lab = new Lab()
    const world = { to: 'ana' }
    const mail = fake(lab, 'mail', 'unsafe_on_replay')
    const two = made([mail.tool], 'one', {
      one: async (_, ctx) => {
        await ctx.call(mail.tool, { to: 'first' })
        return ctx.go('two')
      },
      two: async (_, ctx) => ctx.done(await ctx.call(mail.tool, { to: world.to })),
    })
    await lab.process(two, {}, { killWhen: () => lab.durable('mail', 'pending', 2) })
    world.to = 'bob'
    await lab.process(two, {})
    const item = await lab.item()
    expect(item).toMatchObject({ reason: 'drift', visit: 2 })
    expect(item.body.input).toEqual({ to: 'bob' })
    expect(item.body.unmatched).toMatchObject([{ status: 'pending', input: { to: 'ana' } }])
    expect(mail.sent.map((one) => one.input)).toEqual([{ to: 'first' }])
  })
})

describe('keys', () => {
  const idempotencyKey = () => 'one-key'

  test.each([1, 3])(
    'C3 the same key with another input %i visits later is a doubt',
    async (far) => {
      const lab = new Lab()
      const pay = fake(lab, 'pay', 'idempotent_with_key', { idempotencyKey })
      const paid = made([pay.tool], 'first', {
        first: async (_, ctx) => {
          await ctx.call(pay.tool, { amount: 1 })
          return ctx.go('walk')
        },
        walk: async ({ n }, ctx) => ctx.go(n + 1 < far ? 'walk' : 'second', { n: n + 1 }),
        second: async (_, ctx) => {
          const same = await ctx.call(pay.tool, { amount: 1 })
          return ctx.done([same.id, (await ctx.call(pay.tool, { amount: 2 })).id])
        },
      })
      await lab.process(paid, {})
      expect(await lab.item()).toMatchObject({ reason: 'key_conflict', visit: far + 2 })
      expect(pay.sent.map((one) => one.input)).toEqual([{ amount: 1 }, { amount: 1 }])
      await lab.process(paid, {})
      expect((await lab.items()).length).toBe(1)
      await lab.decide({ outcome: 'happened', result: { id: 'by hand' } })
      await lab.process(paid, {})
      expect(await lab.output()).toEqual(['pay2', 'by hand'])
      expect(pay.sent.length).toBe(2)
    },
  )

  const cause = 'a key was noted with its intent, and a parallel call asked before'
  test.each(['both', 'walk'])(
    `C3 two calls at once, one key, two inputs (${cause}), from %s`,
    async (start) => {
      const lab = new Lab()
      const pay = fake(lab, 'pay', 'idempotent_with_key', { idempotencyKey })
      const both = made([pay.tool], start, {
        walk: async (_, ctx) => ctx.go('both'),
        both: async (_, ctx) => {
          const calls = [1, 2].map((amount) => ctx.call(pay.tool, { amount }))
          return ctx.done((await Promise.all(calls)).map((one) => one.id))
        },
      })
      await lab.process(both, {})
      expect(pay.sent.length).toBeLessThan(2)
      expect(await lab.item()).toMatchObject({ reason: 'key_conflict' })
    },
  )
})

describe('E2 a call failed without knowledge', () => {
  test('E2 stays unresolved: the same call two visits later goes to a person', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay')
    const again = made([mail.tool], 'first', {
      first: async (_, ctx) => {
        const failed = await ctx.call(mail.tool, { to: 'ana' }).catch((error) => error)
        return ctx.go('between', {
          notes: [failed instanceof OutcomeUnknownError ? 'unknown' : '?'],
        })
      },
      between: async (_, ctx) => {
        await ctx.call(mail.tool, { to: 'bob' })
        return ctx.go('again')
      },
      again: async ({ notes }, ctx) => {
        const sent = await ctx.call(mail.tool, { to: 'ana' })
        return ctx.done([...notes, sent.id])
      },
    })
    await lab.process(again, {}, { killWhen: () => mail.sent.length === 1 })
    await lab.process(again, {})
    await lab.decide({ outcome: 'fail' })
    await lab.process(again, {})
    expect(mail.sent.map((one) => one.input)).toEqual([{ to: 'ana' }, { to: 'bob' }])
    expect(await lab.item()).toMatchObject({ reason: 'unresolved', visit: 3 })
    // Nor does a process that begins at that visit send it.
    await lab.process(again, {})
    expect(mail.sent.length).toBe(2)
    await lab.decide({ outcome: 'send' })
    await lab.process(again, {})
    expect(mail.sent.length).toBe(3)
    expect(await lab.output()).toEqual(['unknown', 'mail3'])
  })
})

describe('I11 an answer that comes when the run is further on', () => {
  /** The first mail takes longer than its timeout; the run goes on by a decision. */
  function late(lab: Lab, next: Nodes[string], ms = 5_000) {
    const slow = { ms: (n: number) => (n === 1 ? ms : 20), timeoutMs: 100 }
    const mail = fake(lab, 'mail', 'unsafe_on_replay', slow)
    const post = fake(lab, 'post', 'unsafe_on_replay', { ms: 8_000 })
    const gone = made([mail.tool, post.tool], 'first', {
      first: async (_, ctx) => {
        const said = await ctx.call(mail.tool, { to: 'ana' }).then(
          () => 'sent',
          () => 'failed',
        )
        return ctx.go('next', { notes: [said] })
      },
      next,
    })
    return { mail, post, graph: gone }
  }

  test('I11 after the run has completed: on record, and nothing else', async () => {
    const lab = new Lab()
    const { graph: gone, mail } = late(lab, async ({ notes }, ctx) => ctx.done(notes[0]))
    await lab.process(gone, {})
    await lab.decide({ outcome: 'fail' })
    await lab.process(gone, {})
    expect(await lab.output()).toBe('failed')
    await lab.pass(10_000)
    expect(await lab.state()).toBe('completed')
    expect((await lab.events('evidence_conflict')).length).toBe(1)
    expect((await lab.attempts()).map((row) => row.outcome)).toEqual(['landed'])
    expect(mail.sent.length).toBe(1)
  })

  test('I11 while it waits for a person about something else: it goes on waiting', async () => {
    const lab = new Lab()
    const { graph: gone } = late(lab, async ({ notes }, ctx) => {
      const { approved } = await ctx.approval({ title: 'Go on?' })
      return ctx.done([notes[0] ?? '', approved])
    })
    await lab.process(gone, {})
    await lab.decide({ outcome: 'happened', result: { id: 'seen' } })
    await lab.process(gone, {})
    expect(await lab.state()).toBe('waiting_human')
    await lab.pass(10_000)
    expect(await lab.state()).toBe('waiting_human')
    expect((await lab.attempts()).find((row) => row.attempt === 1)?.endedAt).not.toBe(null)
    expect((await lab.items()).map((item) => item.title)).toEqual(['Go on?'])
    await lab.decide({ outcome: 'approve' })
    await lab.process(gone, {})
    expect(await lab.output()).toEqual(['sent', true])
  })

  test('I11 in the middle of a later visit that then parks: no effect is repeated', async () => {
    const lab = new Lab()
    const {
      graph: gone,
      mail,
      post,
    } = late(lab, async ({ notes }, ctx) => {
      const { id } = await ctx.call(post.tool, { about: notes[0] ?? '' })
      const { approved } = await ctx.approval({ title: 'Go on?' })
      return ctx.done([id, approved])
    })
    await lab.process(gone, {})
    await lab.decide({ outcome: 'did_not_happen' })
    // The first attempt answers while `post`, of the second visit, is under way.
    await lab.process(gone, {})
    const kinds = (await lab.events()).map((event) => event.kind)
    expect(kinds.filter((kind) => kind.startsWith('evidence'))).toEqual(['evidence_conflict'])
    expect(await lab.state()).toBe('waiting_human')
    await lab.decide({ outcome: 'approve' })
    await lab.process(gone, {})
    expect(await lab.output()).toEqual(['post1', true])
    expect([mail.sent.length, post.sent.length]).toEqual([2, 1])
  })

  test('I11 a keyed attempt that was given up answers after the run went on', async () => {
    const lab = new Lab()
    const slow = { ms: (n: number) => (n === 1 ? 3_000 : 20), timeoutMs: 100 }
    const pay = fake(lab, 'pay', 'idempotent_with_key', slow)
    const post = fake(lab, 'post', 'unsafe_on_replay', { ms: 8_000 })
    const gone = made([pay.tool, post.tool], 'first', {
      first: async (_, ctx) => {
        const { id } = await ctx.call(pay.tool, {})
        return ctx.go('next', { notes: [id] })
      },
      next: async ({ notes }, ctx) => {
        await ctx.call(post.tool, {})
        return ctx.done(notes[0])
      },
    })
    await lab.process(gone, {})
    expect(await lab.output()).toBe('pay2')
    expect((await lab.events('evidence')).length).toBe(1)
    expect((await lab.events('evidence_conflict')).length).toBe(0)
    expect((await lab.attempts()).find((row) => row.attempt === 1)?.outcome).toBe('landed')
  })

  test("I11 pinned back while it is under way: its late answer is the replay's", async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 5_000, timeoutMs: 100 })
    const two = made([mail.tool], 'first', {
      first: async (_, ctx) => ctx.go('next'),
      next: async (_, ctx) => ctx.done((await ctx.call(mail.tool, { to: 'ana' })).id),
    })
    await lab.process(two, {})
    expect(await lab.state()).toBe('waiting_human')
    await pinCheckpoint(lab.store, lab.clock, ref, { visit: 1, ...by })
    await lab.pass(10_000)
    await lab.process(two, {})
    expect(await lab.output()).toBe('mail1')
    expect(mail.sent.length).toBe(1)
    expect(await lab.items()).toEqual([])
  })
})
