// What a doubt tells the person who has to decide it (A10): where to look, what a result looks
// like, and until when. A tool's own code may throw or answer nonsense: the run is parked anyway.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Item } from '../../../src/model/run/records.ts'
import { passItem } from '../../../src/worker/deadline.ts'
import { type FakeOptions, fake, flow, Lab, type ProcessOptions } from '../../lab.ts'

const hour = 3_600_000

async function inDoubt(options: FakeOptions, process: ProcessOptions = {}) {
  const lab = new Lab()
  const t = fake<{ id: string } | undefined>(lab, 'mail', 'unsafe_on_replay', options)
  const graph = flow([t.tool], async (ctx) => ({
    got: (await ctx.call(t.tool, { to: 'ana' })) ?? 'none',
  }))
  await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
  await lab.process(graph, null, process)
  const item = await lab.inbox.get((await lab.item()).itemId)
  return { lab, t, graph, item }
}

describe('A10 where to look', () => {
  test('A10 it is asked with the input and the ids of the attempt that was sent', async () => {
    const ids: string[] = []
    const { item } = await inDoubt({
      does: (_, __, call) => void ids.push(call.attemptId),
      whereToLook: (input: { to: string }, call: { attemptId: string; attempt: number }) => ({
        url: `https://mail.test/search?q=${encodeURIComponent(call.attemptId)}`,
        say: `Search for mail to ${input.to}, attempt ${call.attempt}`,
      }),
    } as FakeOptions)
    const [attempt] = item.attempts
    expect(item.body.look).toEqual({
      url: `https://mail.test/search?q=${encodeURIComponent(attempt?.attemptId ?? '')}`,
      say: 'Search for mail to ana, attempt 1',
      fault: null,
    })
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no such index')
      },
      { url: null, fault: /threw: no such index/ },
    ],
    [
      'throws a text',
      () => {
        throw 'gone'
      },
      { url: null, fault: /threw: gone/ },
    ],
    ['answers later, and fails', async () => Promise.reject(new Error('x')), { fault: /promise/ }],
    ['answers nothing', () => undefined, { url: null, say: null, fault: /did not answer/ }],
    [
      'answers nonsense',
      () => ({ url: 7, say: {} }),
      { url: null, say: null, fault: /not an http/ },
    ],
    [
      'links to a script',
      () => ({ url: 'javascript:alert(1)', say: 'here' }),
      { url: null, say: 'here', fault: /not an http/ },
    ],
    ['links to a file', () => ({ url: 'file:///etc/passwd' }), { url: null, fault: /not an http/ }],
    [
      'says too much',
      () => ({ say: 'x'.repeat(9_000) }),
      { say: expect.stringMatching(/^x{499}…$/), fault: null },
    ],
  ])(
    'A10 a function that %s: said on the item, and the run is parked',
    async (_, whereToLook, expected) => {
      const { lab, item } = await inDoubt({ whereToLook } as FakeOptions)
      expect(await lab.state()).toBe('waiting_human')
      const { fault, ...rest } = expected as { fault?: RegExp | null }
      expect(item.body.look).toMatchObject(rest)
      if (fault instanceof RegExp) expect(item.body.look?.fault).toMatch(fault)
      else expect(item.body.look?.fault).toBeNull()
    },
  )

  test('A10 what it says anew at each resume is no new version of the item', async () => {
    let n = 0
    const say = () => ({ say: `look ${++n}` })
    const { lab, graph, item } = await inDoubt({ whereToLook: say } as FakeOptions)
    await lab.store.amend(
      item,
      'client',
      () => ({
        changes: { run: { arrive: true, state: 'pending', waitingFor: null } },
        value: null,
      }),
      { visit: item.visit },
    )
    await lab.process(graph, null)
    expect(await lab.item()).toMatchObject({ itemId: item.itemId, version: item.version })
    expect(n).toBeGreaterThan(1)
  })

  test('A10 notices carry it', async () => {
    const { lab } = await inDoubt({
      whereToLook: () => ({ url: 'https://a.test/' }),
    } as FakeOptions)
    const notices = lab.commits.flatMap(({ changes }) => changes.notices ?? [])
    const about = notices.map(({ kind, dataJson }) => [kind, JSON.parse(dataJson).where_to_look])
    expect(about).toEqual([['doubt', { url: 'https://a.test/', say: null }]])
  })

  test('A10 notices of drift carry it, by the record that was sent', async () => {
    const lab = new Lab()
    const options = { whereToLook: ({ to }: { to: string }) => ({ say: `look for ${to}` }) }
    const t = fake(lab, 'mail', 'unsafe_on_replay', options as FakeOptions)
    let to = 'ana'
    const graph = flow([t.tool], (ctx) => ctx.call(t.tool, { to }))
    await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
    to = 'bo'
    await lab.process(graph, null)
    expect(await lab.item()).toMatchObject({ reason: 'drift' })
    const [notice] = lab.commits.flatMap(({ changes }) => changes.notices ?? [])
    expect(JSON.parse(notice?.dataJson ?? '{}')).toMatchObject({
      where_to_look: { url: null, say: 'look for ana' },
    })
  })
})

describe('E2 "it happened"', () => {
  const output = z.object({ id: z.string() })

  test('E2 the item shows what a result looks like, and whether it is needed', async () => {
    const { item } = await inDoubt({ output, example: { id: 'm-1' } } as FakeOptions)
    expect(item.body.answer).toMatchObject({
      schema: { type: 'object', required: ['id'] },
      example: { id: 'm-1' },
      optional: false,
    })
    const [happened] = item.choices
    expect(happened).toMatchObject({ outcome: 'happened', result: 'required' })
  })

  test('E2 a tool with a schema: its result has to be given', async () => {
    const { lab } = await inDoubt({ output } as FakeOptions)
    await expect(lab.decide({ outcome: 'happened' })).rejects.toMatchObject({
      code: 'DECISION_INVALID',
    })
  })

  test.each([
    ['without an output schema', {}],
    ['that says resultOptional', { output, resultOptional: true }],
  ])(
    'E2 a tool %s: happened, result unknown; the call answers undefined, sent once',
    async (_, options) => {
      const { lab, t, graph, item } = await inDoubt(options as FakeOptions)
      expect(item.choices[0]).toMatchObject({ outcome: 'happened', result: 'optional' })
      await lab.decide({ outcome: 'happened' })
      expect(await lab.process(graph, null)).toBe('ended')
      expect(await lab.output()).toEqual({ got: 'none' })
      expect(t.sent).toHaveLength(1)
    },
  )

  test('E2 resultOptional does not let a wrong result pass', async () => {
    const short = z.object({ id: z.string().refine((id) => id.length < 5) })
    const options = { output: short, resultOptional: true } as FakeOptions
    const { lab, graph, item } = await inDoubt(options)
    const wrong = lab.decide({ outcome: 'happened', result: { id: 7 } })
    await expect(wrong).rejects.toMatchObject({ code: 'OUTPUT_INVALID' })
    await lab.decide({ outcome: 'happened', result: { id: 'much too long' } })
    await lab.process(graph, null)
    const again = await lab.item()
    expect(again.itemId).not.toBe(item.itemId)
  })
})

describe('E10 items that are no approvals have an SLA', () => {
  const waits = (item: Item) => (item.dueAt ?? 0) - item.createdAt

  test.each([
    ['1 h, unless told', {}, {}, hour],
    ['its queue', {}, { doubts: { slaMs: 5_000 } }, 5_000],
    ['its tool, before its queue', { doubtSlaMs: 7_000 }, { doubts: { slaMs: 5_000 } }, 7_000],
  ])('E10 a doubt is due: %s', async (_, options, queues, expected) => {
    const { item } = await inDoubt(options, { queues })
    expect(waits(item)).toBe(expected)
  })

  test.each([
    ['1 h, unless told', {}, {}, hour],
    ['its queue', {}, { help: { slaMs: 5_000 } }, 5_000],
    ['itself, before its queue', { slaMs: 9_000 }, { help: { slaMs: 5_000 } }, 9_000],
  ])('E10 a question is due: %s', async (_, terms, queues, expected) => {
    const lab = new Lab()
    const asks = flow([], (ctx) => ctx.ask({ title: 'Well?', queue: 'help', ...terms }))
    await lab.process(asks, null, { queues })
    expect(waits(await lab.item())).toBe(expected)
  })

  test('E10 E7 a doubt that nobody decides: noted, told, given to another queue', async () => {
    const escalate = { afterMs: 8_000, queue: 'leads', slaMs: 4_000 }
    const { lab, item } = await inDoubt({}, { queues: { doubts: { slaMs: 5_000, escalate } } })
    const told: string[] = []
    const pass = async (ms: number) => {
      await lab.pass(ms)
      for (const one of await lab.store.listOverdue(10)) await passItem(lab.store, one)
      for (const one of await lab.store.listOverdue(10)) await passItem(lab.store, one)
      const { items } = await lab.store.listEvents(item, {})
      told.push(
        items
          .map(({ kind }) => kind)
          .filter((kind) => /sla|escal/.test(kind))
          .join(' '),
      )
    }
    await pass(5_000)
    expect(await lab.item()).toMatchObject({ queue: 'doubts', version: item.version })
    await pass(4_000)
    const moved = await lab.item()
    expect(moved).toMatchObject({ queue: 'leads', version: item.version + 1 })
    expect(moved.body.deadlines?.escalated).toMatchObject({ from: 'doubts' })
    await pass(5_000)
    expect(told).toEqual(['sla_passed', 'sla_passed escalated', 'sla_passed escalated sla_passed'])
    const view = await lab.inbox.get(item.itemId)
    expect(view.choices.map(({ outcome }) => outcome)).toContain('happened')
  })

  test('E10 a resume does not put the deadline off', async () => {
    const { lab, graph, item } = await inDoubt({}, { queues: { doubts: { slaMs: 5_000 } } })
    await lab.pass(1_000)
    await lab.process(graph, null)
    expect((await lab.item()).dueAt).toBe(item.dueAt)
  })
})
