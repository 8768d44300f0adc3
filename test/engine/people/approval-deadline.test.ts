// The deadlines of an approval: its SLA is noted, it goes to another queue, it expires. A sweeper
// does it, any of them, once; a decision at the same moment is before it or after it.
import { describe, expect, test } from 'vitest'
import type { ApprovalTerms } from '../../../src/model/decisions/approval.ts'
import type { Approval } from '../../../src/model/graph/context.ts'
import type { Graph } from '../../../src/model/graph/graph.ts'
import { passItem } from '../../../src/worker/deadline.ts'
import { atEveryEvent, fake, flow, Lab } from '../../lab.ts'

const title = 'Send?'

function asking(terms: ApprovalTerms): Graph {
  return flow([], (ctx) => ctx.approval({ title, data: 1, queue: 'sales', ...terms }))
}

/** What every worker's sweeper does, some of them at the same moment. */
async function sweep(lab: Lab): Promise<string[]> {
  const due = await lab.store.listOverdue(100)
  const twice = [...due, ...due].map((item) => passItem(lab.store, item))
  return (await Promise.all(twice)).filter((done) => done !== 'nothing')
}

async function code(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'accepted',
    (error) => error.code ?? error.message,
  )
}

async function opened(terms: ApprovalTerms) {
  const lab = new Lab()
  const graph = asking(terms)
  expect(await lab.process(graph, null)).toBe('parked')
  return { lab, graph, item: await lab.item() }
}

describe('E7 escalation', () => {
  const escalate = { afterMs: 1_000, queue: 'managers', deciders: ['mia'] }

  test('E7 to another queue and other deciders, once, with a new version', async () => {
    const { lab, graph, item } = await opened({ deciders: ['ana'], escalate })
    await lab.pass(500)
    expect(await sweep(lab)).toEqual([])
    await lab.pass(501)
    expect(await sweep(lab)).toEqual(['noted'])
    expect(await sweep(lab)).toEqual([])
    const now = await lab.item()
    expect(now).toMatchObject({ itemId: item.itemId, queue: 'managers', version: 2, state: 'open' })
    expect(now.body.approval).toMatchObject({ deciders: ['mia'], escalated: { from: 'sales' } })
    expect(await lab.events('escalated')).toMatchObject([
      { data: { item: item.itemId, from: 'sales', to: 'managers', deciders: ['mia'] } },
    ])
    expect((await lab.run()).waitingFor).toMatchObject({ queue: 'managers' })
    expect(await lab.state()).toBe('waiting_human')
    // Whoever looked at it before is told.
    const late = lab.decide({ outcome: 'approve', by: 'ana', version: 1 })
    expect(await code(late)).toBe('ITEM_CHANGED')
    expect(await code(lab.decide({ outcome: 'approve', by: 'ana' }))).toBe('DECISION_FORBIDDEN')
    await lab.decide({ outcome: 'approve', by: 'mia' })
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.output()).toMatchObject({ approved: true, by: 'mia' })
    expect(await lab.findings()).toEqual([])
  })

  test('E7 SLA and escalation are each told once, whichever comes first', async () => {
    for (const slaMs of [500, 1_000, 2_000]) {
      const { lab, item } = await opened({ slaMs, escalate })
      for (let ms = 0; ms < 3_000; ms += 250) {
        await lab.pass(250)
        await sweep(lab)
      }
      const now = await lab.item()
      expect(now).toMatchObject({ queue: 'managers', dueAt: item.createdAt + slaMs })
      expect(now.overdueAt).toBeGreaterThan(0)
      const told = (await lab.events()).map((event) => event.kind)
      expect(told.filter((kind) => kind === 'sla_passed' || kind === 'escalated').sort()).toEqual([
        'escalated',
        'sla_passed',
      ])
      const notices = await lab.store.takeNotices('w', 100, 1_000)
      const about = notices.filter((notice) => notice.noticeId.includes(item.itemId))
      expect(about.filter(({ kind }) => kind === 'sla_passed')).toHaveLength(1)
      expect(about.filter(({ noticeId }) => noticeId.endsWith('escalated'))).toHaveLength(1)
    }
  })

  test('E7 the new queue may have an SLA of its own', async () => {
    const { lab } = await opened({ slaMs: 500, escalate: { ...escalate, slaMs: 300 } })
    for (let ms = 0; ms < 3_000; ms += 100) {
      await lab.pass(100)
      await sweep(lab)
    }
    expect(await lab.events('sla_passed')).toMatchObject([
      { data: { queue: 'sales' } },
      { data: { queue: 'managers' } },
    ])
  })

  test('E7 I10 decided at the same moment: either order, nothing is lost', async () => {
    const first = await opened({ escalate })
    await first.lab.pass(1_001)
    await first.lab.decide({ outcome: 'approve', by: 'ana' })
    expect(await sweep(first.lab)).toEqual([])
    expect(await first.lab.process(first.graph, null)).toBe('ended')
    const second = await opened({ escalate })
    await second.lab.pass(1_001)
    const found = await second.lab.store.listOverdue(10)
    await second.lab.decide({ outcome: 'approve', by: 'ana' })
    // It was found before the decision, and looked at after it.
    for (const item of found) expect(await passItem(second.lab.store, item)).toBe('nothing')
    expect(await second.lab.events('escalated')).toEqual([])
  })
})

describe('E7 expiry', () => {
  test('E7 E3 nobody decides: the node is told, and takes its branch', async () => {
    const { lab, graph, item } = await opened({ expire: { afterMs: 1_000 } })
    await lab.pass(1_001)
    expect(await sweep(lab)).toEqual(['woken'])
    expect(await lab.state()).toBe('pending')
    expect(await lab.process(graph, null)).toBe('ended')
    const said = (await lab.output()) as Approval
    expect(said).toMatchObject({ approved: false, outcome: 'expire', by: 'counterfoil', data: 1 })
    expect(said.message).toMatchObject({ kind: 'decision', outcome: 'expire', item: item.itemId })
    expect(await lab.decisions()).toMatchObject([{ outcome: 'expire', verifies: true }])
    expect(await lab.findings()).toEqual([])
  })

  test('E7 as approved only where the author says so', async () => {
    const { lab, graph } = await opened({ expire: { afterMs: 1_000, as: 'approve' } })
    await lab.pass(1_001)
    await sweep(lab)
    await lab.process(graph, null)
    expect(await lab.output()).toMatchObject({ approved: true, outcome: 'expire' })
  })

  test('E7 a held call that nobody agreed to is not sent', async () => {
    const lab = new Lab()
    const send = fake(lab, 'send', 'unsafe_on_replay')
    const graph = flow([send.tool], (ctx) => ctx.call(send.tool, 1).catch((error) => error.message))
    const policy = () => ({ ask: { expire: { afterMs: 1_000 } } })
    await lab.process(graph, null, { policy })
    await lab.pass(1_001)
    expect(await sweep(lab)).toEqual(['woken'])
    expect(await lab.process(graph, null, { policy })).toBe('ended')
    expect(await lab.output()).toMatch(/nobody decided before/)
    expect(send.sent).toEqual([])
    const approving = () => ({ ask: { expire: { afterMs: 1, as: 'approve' } } }) as never
    const other = new Lab()
    await other.process(graph, null, { policy: approving })
    expect(await other.output()).toMatch(/is never sent without a yes/)
  })

  test('E7 I10 decided first, or expired first: one of them wins, the other is told', async () => {
    const early = await opened({ expire: { afterMs: 1_000 } })
    await early.lab.pass(900)
    await early.lab.decide({ outcome: 'approve', by: 'ana' })
    await early.lab.pass(200)
    expect(await sweep(early.lab)).toEqual([])
    await early.lab.process(early.graph, null)
    expect(await early.lab.output()).toMatchObject({ outcome: 'approve' })
    const late = await opened({ expire: { afterMs: 1_000 } })
    await late.lab.pass(1_001)
    // Over is over, whether a sweeper has been there or not.
    expect(await code(late.lab.decide({ outcome: 'approve', by: 'ana' }))).toBe('ITEM_CLOSED')
    const { itemId } = late.item
    expect(await sweep(late.lab)).toEqual(['woken'])
    const said = { outcome: 'approve', by: 'ana', reason: 'r', version: 1 } as const
    expect(await code(late.lab.inbox.decide(itemId, said))).toBe('ITEM_CLOSED')
    await late.lab.process(late.graph, null)
    expect(await late.lab.output()).toMatchObject({ outcome: 'expire' })
    expect(await late.lab.decisions()).toHaveLength(1)
  })

  test('E7 I10 it expires while another branch works: the park does not overlook it', async () => {
    const lab = new Lab()
    const long = fake(lab, 'long', 'unsafe_on_replay', { ms: 3_000 })
    const graph = flow([long.tool], async (ctx) => {
      const [said] = await Promise.all([
        ctx.approval({ title, expire: { afterMs: 1_000 } }),
        ctx.call(long.tool, 1),
      ])
      return said.outcome
    })
    let swept = false
    const due = () => lab.clock.now() > 1_002_000 && !swept
    const leaveWhen = () => {
      if (!due()) return false
      swept = true
      void sweep(lab)
      return false
    }
    await lab.process(graph, null, { leaveWhen })
    expect(swept).toBe(true)
    while ((await lab.state()) === 'pending') await lab.process(graph, null)
    expect(await lab.output()).toBe('expire')
    expect(long.sent).toHaveLength(1)
  })

  test('E7 C5 killed at every event after it: the same branch, sent once', async () => {
    const points = await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const send = fake(lab, 'send', 'idempotent_with_key')
      const terms = { escalate: { afterMs: 4_000, queue: 'b' }, expire: { afterMs: 8_000 } }
      const graph = flow([send.tool], async (ctx) => {
        const { outcome } = await ctx.approval({ title, data: 1, slaMs: 1, ...terms })
        await ctx.call(send.tool, outcome)
        return outcome
      })
      await lab.process(graph, null, { killWhen: kill.in(lab) })
      await lab.process(graph, null)
      for (let n = 0; n < 10; n++) {
        await lab.pass(1_000)
        await sweep(lab)
      }
      await lab.process(graph, null, { killWhen: kill.in(lab) })
      await lab.process(graph, null)
      expect(await lab.output()).toBe('expire')
      expect(new Set(send.sent.map((each) => `${each.key} ${each.input}`)).size).toBe(1)
      for (const kind of ['asked', 'sla_passed', 'escalated', 'decided']) {
        expect([kind, (await lab.events(kind)).length]).toEqual([kind, 1])
      }
      expect(await lab.findings()).toEqual([])
    })
    expect(points).toBeGreaterThan(5)
  })

  test('E7 D4 a paused run expires too, and hears of it when it is resumed', async () => {
    const { lab, graph } = await opened({ expire: { afterMs: 1_000 } })
    await lab.wish('pause')
    await lab.pass(1_001)
    expect(await sweep(lab)).toEqual(['woken'])
    expect(await lab.state()).toBe('paused')
    await lab.wish('resume')
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.output()).toMatchObject({ outcome: 'expire' })
  })

  test('E9 the wait counts from the question, and nobody holds the run meanwhile', async () => {
    const { lab, item } = await opened({ slaMs: 1_000, expire: { afterMs: 5_000 } })
    expect(await lab.run()).toMatchObject({ workerId: null, state: 'waiting_human' })
    expect(item.dueAt).toBe(item.createdAt + 1_000)
    await lab.pass(2_000)
    await sweep(lab)
    const now = await lab.item()
    expect(now.body.approval).toMatchObject({ slaAt: item.createdAt + 1_000 })
    expect(now.body.approval?.slaPassedAt).toBeGreaterThanOrEqual(item.createdAt + 2_000)
    expect((await lab.run()).waitingFor?.since).toBe(item.createdAt)
    // Being late is no other question: the version that was looked at still counts.
    expect(now.version).toBe(1)
  })
})
