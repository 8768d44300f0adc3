// What a former holder learns late: evidence by attempt id, and nothing else.
import { expect, test } from 'vitest'
import { NotSentError, RefusedError } from '../../../src/index.ts'
import type { CommitResult } from '../../../src/store/store.ts'
import { type FakeOptions, fake, flow, Lab } from '../../lab.ts'

/** A worker stands still in the middle of a call; its lease ends, another takes the run over. */
async function takenOver(options: FakeOptions = {}, decided = true) {
  const lab = new Lab()
  const ms = (n: number) => (n === 1 ? 5_000 : 10)
  const t = fake(lab, 't', 'unsafe_on_replay', { ms, ...options })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  const leaveWhen = () => t.sent.length === 1
  expect(await lab.process(graph, null, { leaveWhen })).toBe('left')
  if (!decided) return { lab, t, graph }
  expect(await lab.process(graph, null, { notDead: true })).toBe('parked')
  expect((await lab.item()).reason).toBe('unknown')
  return { lab, t, graph }
}

test('I2 I11 D2 a late receipt after takeover is evidence, and closes the doubt', async () => {
  const { lab, t, graph } = await takenOver()
  const before = lab.commits.length
  await lab.pass(10_000)
  expect(await lab.attempts()).toMatchObject([{ outcome: 'landed' }])
  expect(await lab.items()).toEqual([])
  expect(await lab.state()).toBe('pending')
  expect(lab.commits).toHaveLength(before)
  expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
  expect(await lab.output()).toBe('t1')
  expect(t.sent).toHaveLength(1)
  expect((await lab.records())[0]).toMatchObject({ status: 'committed', resultJson: '{"id":"t1"}' })
})

test('I2 I11 the same for a holder that was told before its call returned', async () => {
  const { lab, t, graph } = await takenOver({}, false)
  const old = lab.execution
  expect(await lab.process(graph, null, { notDead: true })).toBe('parked')
  old?.lose('taken over')
  await lab.pass(10_000)
  expect(await lab.items()).toEqual([])
  expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
  expect(await lab.output()).toBe('t1')
  expect(t.sent).toHaveLength(1)
})

test('I2 I5 a refused intent has the number of the next, and tells nothing of it', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', 'unsafe_on_replay', { ms: 5_000 })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  let goOn = () => {}
  const stands = new Promise<void>((resolve) => {
    goOn = resolve
  })
  let standing = false
  // The first stands still before its intent is written; the second takes over and sends.
  const commit = async (_: unknown, apply: () => Promise<CommitResult[]>) => {
    standing = true
    await stands
    return apply()
  }
  expect(await lab.process(graph, null, { commit, leaveWhen: () => standing })).toBe('left')
  const leaveWhen = () => t.sent.length === 1
  expect(await lab.process(graph, null, { notDead: true, leaveWhen })).toBe('left')
  goOn()
  await lab.pass(1_000)
  expect(await lab.attempts()).toMatchObject([{ fence: 2, endedAt: null, outcome: null }])
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.item()).reason).toBe('unknown')
  expect(t.sent).toHaveLength(1)
})

for (const told of [true, false]) {
  test(`I5 a stale holder's timeout ends no attempt (told: ${told})`, async () => {
    const { lab, graph } = await takenOver({ timeoutMs: 2_000 }, false)
    const old = lab.execution
    expect(await lab.process(graph, null, { notDead: true })).toBe('parked')
    if (told) old?.lose('taken over')
    await lab.pass(3_000)
    expect(await lab.attempts()).toMatchObject([{ endedAt: null, outcome: null }])
    const item = await lab.item()
    const said = { by: 'ana', reason: 'not in the log', version: item.version }
    const early = lab.inbox.decide(item.itemId, { outcome: 'did_not_happen', ...said })
    await expect(early).rejects.toMatchObject({ code: 'DECISION_TOO_EARLY' })
    await lab.pass(5_000)
    expect(await lab.attempts()).toMatchObject([{ outcome: 'landed' }])
    expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
    expect(await lab.output()).toBe('t1')
  })
}

test('I11 a late receipt while the new holder works is not overlooked by its park', async () => {
  const { lab, t } = await takenOver({}, false)
  const slow = fake(lab, 'slow', 'pure', { ms: 8_000 })
  const both = flow([t.tool, slow.tool], async (ctx) => {
    const all = await Promise.all([ctx.call(slow.tool, 1), ctx.call(t.tool, 1)])
    return all.map((each) => each.id)
  })
  expect(await lab.process(both, null, { notDead: true })).toBe('ended')
  expect(await lab.output()).toEqual(['slow1', 't1'])
  expect(t.sent).toHaveLength(1)
  expect(await lab.items()).toEqual([])
})

test('I11 a late refusal settles the doubt as a certain failure', async () => {
  const does = () => {
    throw new RefusedError('declined')
  }
  const { lab, graph } = await takenOver({ does })
  await lab.pass(10_000)
  expect(await lab.items()).toEqual([])
  expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
  expect((await lab.error()).message).toBe('t: declined')
})

test('I11 a late "not sent" settles it too: the new holder sends without asking', async () => {
  const does = (n: number) => {
    if (n === 1) throw new NotSentError('no route')
    return { id: `t${n}` }
  }
  const { lab, t, graph } = await takenOver({ does })
  await lab.pass(10_000)
  expect(await lab.items()).toEqual([])
  expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
  expect(await lab.output()).toBe('t2')
  expect(t.sent.map((each) => each.attempt)).toEqual([1, 2])
})

test('I11 I5 a late error proves nothing: the attempt ends, the doubt stays', async () => {
  const does = () => {
    throw new Error('reset')
  }
  const { lab } = await takenOver({ does })
  const before = await lab.item()
  await lab.pass(10_000)
  const after = await lab.item()
  expect(after.itemId).toBe(before.itemId)
  expect(after.version).toBe(before.version + 1)
  expect(await lab.attempts()).toMatchObject([{ outcome: 'unknown' }])
  expect(await lab.state()).toBe('waiting_human')
})

test('I11 evidence that it landed voids a grant not yet used', async () => {
  const { lab, t, graph } = await takenOver()
  const item = await lab.item()
  await lab.decide({ outcome: 'did_not_happen' })
  const decided = await lab.store.getItem('default', item.itemId)
  await lab.pass(10_000)
  expect((await lab.decisions())[0]?.voidedAt).not.toBeNull()
  const voided = await lab.store.getItem('default', item.itemId)
  expect(voided?.version).toBe((decided?.version ?? 0) + 1)
  expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
  expect(await lab.output()).toBe('t1')
  expect(t.sent).toHaveLength(1)
  expect(await lab.events('evidence_conflict')).toEqual([])
})

test('I11 evidence after the grant was used is a conflict; the second result stands', async () => {
  const { lab, t, graph } = await takenOver()
  await lab.decide({ outcome: 'did_not_happen' })
  expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
  expect(await lab.output()).toBe('t2')
  await lab.pass(10_000)
  expect(await lab.events('evidence_conflict')).toMatchObject([{ data: { outcome: 'landed' } }])
  expect((await lab.records())[0]?.resultJson).toBe('{"id":"t2"}')
  expect((await lab.decisions())[0]?.voidedAt).toBeNull()
  expect(t.sent).toHaveLength(2)
})

test('I11 evidence while the second attempt is out: a conflict, and still one result', async () => {
  const ms = (n: number) => (n === 1 ? 5_000 : 8_000)
  const { lab, t, graph } = await takenOver({ ms })
  await lab.decide({ outcome: 'did_not_happen' })
  expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
  expect(await lab.events('evidence_conflict')).toHaveLength(1)
  expect(t.sent).toHaveLength(2)
  expect((await lab.records()).map((row) => row.status)).toEqual(['committed'])
})

for (const outcome of ['happened', 'fail'] as const) {
  test(`I11 evidence after "${outcome}" was obeyed is a conflict`, async () => {
    const { lab, t, graph } = await takenOver()
    await lab.decide(outcome === 'happened' ? { outcome, result: { id: 'said' } } : { outcome })
    expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
    const rows = await lab.records()
    await lab.pass(10_000)
    expect(await lab.events('evidence_conflict')).toHaveLength(1)
    expect(await lab.records()).toEqual(rows)
    expect(await lab.state()).toBe(outcome === 'happened' ? 'completed' : 'failed')
    expect(t.sent).toHaveLength(1)
  })

  test(`I11 evidence after "${outcome}", not yet obeyed: the word stands`, async () => {
    const { lab, graph } = await takenOver()
    await lab.decide(outcome === 'happened' ? { outcome, result: { id: 'said' } } : { outcome })
    await lab.pass(10_000)
    expect(await lab.events('evidence_conflict')).toHaveLength(1)
    expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
    const [record] = await lab.records()
    if (outcome === 'happened') {
      expect(await lab.output()).toBe('said')
      expect(record).toMatchObject({ status: 'committed', resultJson: '{"id":"said"}' })
    } else {
      expect((await lab.error()).code).toBe('OUTCOME_UNKNOWN')
      expect(record).toMatchObject({ status: 'failed', unresolved: true })
    }
  })
}

test('I2 D2 a stale holder writes evidence alone: no receipt, no intent, no end', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay', { ms: 5_000 })
  const b = fake(lab, 'b', 'unsafe_on_replay')
  const graph = flow([a.tool, b.tool], async (ctx) => {
    await ctx.call(a.tool, 1)
    return (await ctx.call(b.tool, 1)).id
  })
  await lab.process(graph, null, { leaveWhen: () => a.sent.length === 1 })
  const old = lab.execution
  await lab.process(graph, null, { notDead: true })
  await lab.pass(20_000)
  expect(b.sent).toEqual([])
  expect(await old?.done).toBe('lost')
  expect((await lab.records()).map((row) => [row.tool, row.status])).toEqual([['a', 'in_doubt']])
  expect(await lab.state()).toBe('pending')
})

test('D2 I2 a holder whose lease has ended by its clock sends nothing, and says so', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', 'unsafe_on_replay')
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  expect(await lab.process(graph, null, { holds: () => false })).toBe('lost')
  expect(t.sent).toEqual([])
  await lab.pass(1_000)
  expect(await lab.attempts()).toMatchObject([{ outcome: 'not_sent' }])
  expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
  expect(await lab.output()).toBe('t1')
  expect(await lab.events('doubt')).toEqual([])
})

test('D2 a lease that ends between two calls: the successor sends the second', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const b = fake(lab, 'b', 'unsafe_on_replay')
  const graph = flow([a.tool, b.tool], async (ctx) => {
    const first = await ctx.call(a.tool, 1)
    return [first.id, (await ctx.call(b.tool, 1)).id]
  })
  expect(await lab.process(graph, null, { holds: () => a.sent.length === 0 })).toBe('lost')
  await lab.pass(1_000)
  expect(b.sent).toEqual([])
  expect(await lab.process(graph, null, { notDead: true })).toBe('ended')
  expect(await lab.output()).toEqual(['a1', 'b1'])
  expect([a.sent.length, b.sent.length]).toEqual([1, 1])
})

test('I4 I2 an intent written again after a takeover permits no dispatch', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', 'unsafe_on_replay')
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  let first = true
  const end = await lab.process(graph, null, {
    commit: async (_batch, apply) => {
      const results = await apply()
      if (!first) return results
      first = false
      await lab.store.renew('w1', 0)
      const where = { host: 'lab', bootId: 'boot', socketPath: null, socketInode: null }
      await lab.store.register({ workerId: 'other', pid: 9, ...where, startedAt: 0 }, 1e9)
      await lab.store.claim({ workerId: 'other', graphs: [graph], countMax: 1 })
      throw new Error('acknowledgement lost')
    },
  })
  expect(end).toBe('lost')
  expect(t.sent).toEqual([])
})
