// Who may decide an approval, and how many of them it takes. Votes are rows: they survive any kill,
// and one that was forged counts for nobody.
import { describe, expect, test } from 'vitest'
import { startRun } from '../../../src/client/run/start.ts'
import type { ApprovalTerms } from '../../../src/model/decisions/approval.ts'
import type { DecideRequest } from '../../../src/model/decisions/decide.ts'
import type { Approval } from '../../../src/model/graph/context.ts'
import type { Graph } from '../../../src/model/graph/graph.ts'
import { atEveryEvent, fake, flow, Lab } from '../../lab.ts'

const title = 'Pay?'

function asking(terms: ApprovalTerms = {}): Graph {
  return flow([], (ctx) => ctx.approval({ title, data: { usd: 812 }, ...terms }))
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
  const { itemId } = await lab.item()
  const say = (by: string, outcome: DecideRequest['outcome'], more: Partial<DecideRequest> = {}) =>
    lab.inbox.decide(itemId, { outcome, by, reason: `${by} says so`, version: 1, ...more })
  return { lab, graph, itemId, say }
}

describe('E1 who may decide', () => {
  test('E1 a role or a group of the token decides; a name like one does not', async () => {
    const { say, lab } = await opened({ deciders: ['ana', 'role:finance', 'group:board'] })
    expect(await code(say('eve', 'approve'))).toBe('DECISION_FORBIDDEN')
    expect(await code(say('role:finance', 'approve'))).toBe('DECISION_FORBIDDEN')
    expect(await code(say('eve', 'approve', { claims: ['role:sales'] }))).toBe('DECISION_FORBIDDEN')
    expect(await code(say('eve', 'approve', { claims: ['ana'] }))).toBe('DECISION_FORBIDDEN')
    expect(await lab.decisions()).toEqual([])
    expect(await code(say('cleo', 'approve', { claims: ['role:ops', 'group:board'] }))).toBe(
      'accepted',
    )
    expect(await lab.decisions()).toMatchObject([{ by: 'cleo', outcome: 'approve' }])
  })

  test('E1 whoever started the run may not decide; somebody else may', async () => {
    const lab = new Lab()
    const graph = asking({ notStarter: true, deciders: ['ana', 'bo'] })
    const ref = { namespace: 'default', runId: 'lab', by: 'ana' }
    await startRun(lab.store, lab.clock, graph, null, ref)
    await lab.process(graph, null)
    expect((await lab.item()).body.approval?.notStarter).toBe(true)
    expect(await code(lab.decide({ outcome: 'approve', by: 'ana' }))).toBe('DECISION_FORBIDDEN')
    expect(await code(lab.decide({ outcome: 'approve', by: 'ana ' }))).toBe('DECISION_FORBIDDEN')
    await lab.decide({ outcome: 'approve', by: 'bo' })
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.output()).toMatchObject({ approved: true, by: 'bo' })
  })

  test('E1 nor may they in a child that their run has spawned', async () => {
    const lab = new Lab()
    const child = asking({ notStarter: true })
    const parent = { ...flow([], (ctx) => ctx.spawn(child, null)), id: 'p@1.0.0', name: 'p' }
    const ref = { namespace: 'default', runId: 'lab', by: 'ana' }
    await startRun(lab.store, lab.clock, parent as Graph, null, ref)
    await lab.serve([parent as Graph, child])
    expect((await lab.item()).runId).toMatch(/^child_/)
    expect(await code(lab.decide({ outcome: 'approve', by: 'ana' }))).toBe('DECISION_FORBIDDEN')
    expect(await code(lab.decide({ outcome: 'approve', by: 'bo' }))).toBe('accepted')
  })
})

describe('E1 quorum', () => {
  test('E1 two of three: the first is on record, the second decides', async () => {
    const { lab, graph, say, itemId } = await opened({ deciders: ['a', 'b', 'c'], quorum: 2 })
    const vote = await say('a', 'approve')
    expect(vote).toMatchObject({ outcome: 'vote', by: 'a', resultJson: '"approve"', subject: null })
    expect(await lab.state()).toBe('waiting_human')
    expect(await lab.process(graph, null)).toBe('nothing to claim')
    const item = await lab.item()
    expect(item).toMatchObject({ itemId, state: 'open', version: 1 })
    expect(item.body.approval?.votes).toMatchObject([{ by: 'a', says: 'approve' }])
    expect((await lab.inbox.get(itemId)).votes).toMatchObject([{ by: 'a', says: 'approve' }])
    expect((await lab.inbox.get(itemId)).outcomes).not.toContain('edit')
    await say('c', 'approve')
    expect(await lab.process(graph, null)).toBe('ended')
    const said = (await lab.output()) as Approval
    expect(said).toMatchObject({ approved: true, outcome: 'approve', by: 'c' })
    expect(said.votes).toMatchObject([{ by: 'a', says: 'approve', why: 'a says so' }])
    expect((await lab.events('voted'))[0]?.data).toMatchObject({ by: 'a', votes: 1, needed: 2 })
    expect(await lab.findings()).toEqual([])
  })

  test('E1 the same person twice is one vote, and a vote stands', async () => {
    const { lab, say } = await opened({ quorum: 2 })
    const first = await say('a', 'approve')
    expect((await say('a', 'approve')).decisionId).toBe(first.decisionId)
    expect((await say('a', 'approve', { reason: 'again' })).decisionId).toBe(first.decisionId)
    expect((await say('a ', 'approve')).decisionId).toBe(first.decisionId)
    expect(await code(say('a', 'reject'))).toBe('VOTE_CAST')
    expect(await lab.decisions()).toHaveLength(1)
    expect(await lab.items()).toHaveLength(1)
  })

  test('E1 E2 two people at once: both count, and the one who was last decides', async () => {
    const { lab, say } = await opened({ quorum: 2 })
    const both = await Promise.all([say('a', 'approve'), say('b', 'approve')])
    expect(both.map((row) => row.outcome).sort()).toEqual(['approve', 'vote'])
    expect(await lab.items()).toEqual([])
    expect(await code(say('c', 'approve'))).toBe('ITEM_CLOSED')
  })

  test('E1 one rejection ends it; with `rejects` it takes as many', async () => {
    const one = await opened({ quorum: 2 })
    await one.say('a', 'approve')
    await one.say('b', 'reject')
    expect(await one.lab.process(one.graph, null)).toBe('ended')
    expect(await one.lab.output()).toMatchObject({ approved: false, outcome: 'reject', by: 'b' })
    const two = await opened({ quorum: 2, rejects: 2, deciders: ['a', 'b', 'c'] })
    expect((await two.say('a', 'reject')).outcome).toBe('vote')
    expect((await two.say('b', 'approve')).outcome).toBe('vote')
    expect((await two.say('c', 'reject')).outcome).toBe('reject')
    expect(await two.lab.process(two.graph, null)).toBe('ended')
    const said = (await two.lab.output()) as Approval
    expect(said.votes.map((vote) => [vote.by, vote.says])).toEqual([
      ['a', 'reject'],
      ['b', 'approve'],
    ])
  })

  test('E1 a vote is about the version that was looked at, by those who may', async () => {
    const { lab, say } = await opened({ quorum: 2, deciders: ['a', 'b'] })
    expect(await code(say('a', 'approve', { version: 2 }))).toBe('ITEM_CHANGED')
    expect(await code(say('eve', 'approve'))).toBe('DECISION_FORBIDDEN')
    expect(await code(say('a', 'edit', { result: 1 }))).toBe('DECISION_INVALID')
    expect(await lab.decisions()).toEqual([])
  })

  test('E1 terms that could never be met are refused where they are said', async () => {
    const lab = new Lab()
    const bad = [
      { quorum: 3, deciders: ['a', 'b'] },
      { quorum: 2, rejects: 2, deciders: ['a', 'b'] },
      { quorum: 0 },
      { quorum: 1.5 },
      { rejects: -1 },
      { escalate: { afterMs: 0, queue: 'q' } },
      { escalate: { afterMs: 1, queue: '' } },
      { expire: { afterMs: Number.POSITIVE_INFINITY } },
      { expire: { afterMs: 1, as: 'maybe' } },
      { notStarter: 'yes' },
    ]
    for (const terms of bad) {
      const one = new Lab()
      await one.process(asking(terms as ApprovalTerms), null)
      expect([terms, (await one.error()).code]).toEqual([terms, 'INPUT_INVALID'])
    }
    expect(await lab.state()).toBe('none')
  })
})

describe('E1 votes survive', () => {
  test('E1 C5 killed at every event around two votes: asked once, sent once', async () => {
    const points = await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const send = fake(lab, 'send', 'idempotent_with_key')
      const graph = flow([send.tool], async (ctx) => {
        const { data } = await ctx.approval({ title, data: 1, quorum: 2 })
        return ctx.call(send.tool, data)
      })
      await lab.process(graph, null)
      const { itemId } = await lab.item()
      const say = (by: string) =>
        lab.inbox.decide(itemId, { outcome: 'approve', by, reason: 'r', version: 1 })
      await say('a')
      await lab.wish('pause')
      await lab.wish('resume')
      // A life between the votes, and one after them: either may end at any moment.
      await lab.process(graph, null, { killWhen: kill.in(lab) })
      await lab.process(graph, null)
      await say('b')
      await lab.process(graph, null, { killWhen: kill.in(lab) })
      await lab.process(graph, null)
      expect(await lab.state()).toBe('completed')
      expect(new Set(send.sent.map((each) => each.key)).size).toBe(1)
      expect(await lab.events('asked')).toHaveLength(1)
      expect(await lab.findings()).toEqual([])
    })
    expect(points).toBeGreaterThan(5)
  })

  test('B8 E1 an approval without the votes that it needs is not obeyed', async () => {
    const { lab, graph, itemId } = await opened({ quorum: 2 })
    // Somebody who can write to the items alone makes one voice enough.
    const ref = { namespace: 'default', runId: 'lab' }
    await lab.store.amend(ref, 'client', ({ items: [item] }) => {
      if (!item?.body.approval) throw new Error('there is no approval')
      const approval = { ...item.body.approval, quorum: 1 }
      return { changes: { items: [{ ...item, body: { ...item.body, approval } }] }, value: null }
    })
    const decision = await lab.inbox.decide(itemId, {
      ...{ outcome: 'approve', by: 'eve', reason: 'r', version: 1 },
    })
    expect(decision.outcome).toBe('approve')
    expect(await lab.process(graph, null)).toBe('parked')
    expect((await lab.events('decision_unusable'))[0]?.data['message']).toContain('too few others')
    const again = await lab.item()
    expect(again.itemId).not.toBe(itemId)
    expect(again.body.approval?.quorum).toBe(2)
  })
})
