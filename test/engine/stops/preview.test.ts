// "If the worker died now" (C7), tested by then killing it: what really happens to every recorded
// call at the next resume is what was foretold.
import { describe, expect, test } from 'vitest'
import type { PreviewAction } from '../../../src/client/run/preview.ts'
import { NotSentError, RefusedError } from '../../../src/model/errors.ts'
import type { Graph } from '../../../src/model/graph/graph.ts'
import { callKeyOfAttempt } from '../../../src/model/run/attempt-id.ts'
import { keyOf } from '../../../src/model/run/records.ts'
import type { RiskPolicy } from '../../../src/model/tool/risk.ts'
import type { ReplayClass } from '../../../src/model/tool/tool.ts'
import {
  type Fake,
  type FakeOptions,
  fake,
  flow,
  Lab,
  type ProcessOptions,
  work,
} from '../../lab.ts'
import { type CallNode, generate, hash, run } from '../../sim/program.ts'

/** Foretells, resumes, and compares; answers what was foretold, by place. */
async function foretold(
  lab: Lab,
  graph: Graph,
  options: ProcessOptions = {},
): Promise<Record<string, PreviewAction>> {
  const preview = await lab.preview(graph)
  const before = new Map((await lab.records()).map((row) => [`${row.tool}#${row.nth}`, row]))
  const attempts = await lab.attempts()
  const end = await lab.process(graph, null, options)
  const after = new Map((await lab.records()).map((row) => [`${row.tool}#${row.nth}`, row]))
  const said = {} as Record<string, PreviewAction>
  for (const call of preview.calls) {
    const name = `${call.tool}#${call.nth}`
    said[name] = call.action
    const old = before.get(name)
    const now = after.get(name)
    const own = (row: { attemptId: string }) =>
      old !== undefined && callKeyOfAttempt(row.attemptId) === keyOf(old)
    const more = (await lab.attempts()).filter(own).length - attempts.filter(own).length
    const pure = old?.replayClass === 'pure'
    if (call.action === 'replay') {
      expect([name, now?.attempt]).toEqual([name, old?.attempt])
      expect([name, more]).toEqual([name, 0])
      // A pure record is final; one that a person answered becomes so.
      if (end !== 'parked') expect([name, now?.settledAt !== null]).toEqual([name, true])
    }
    if (call.action === 'park' || call.action === 'wait') {
      expect([name, end]).toEqual([name, 'parked'])
      expect([name, now?.attempt]).toEqual([name, old?.attempt])
    }
    if (call.action === 'rerun' && end !== 'parked' && !pure) {
      expect([name, (now?.attempt ?? 0) > (old?.attempt ?? 0) || more > 0]).toEqual([name, true])
    }
  }
  const stops = preview.calls.some((call) => ['park', 'wait'].includes(call.action))
  if (stops || preview.park > 0 || end !== 'parked') return said
  // Nothing of this was to stop before a person: only what was sent again can have, by its answer.
  for (const { body } of await lab.items()) {
    expect(said[`${body.subject?.tool}#${body.subject?.nth}`]).toBe('rerun')
  }
  return said
}

const classes = ['pure', 'idempotent_with_key', 'unsafe_on_replay'] as const satisfies ReplayClass[]

describe('C7 calls in flight', () => {
  const inFlight = async (replayClass: ReplayClass, more: FakeOptions = {}) => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', replayClass, { ms: 1_000, ...more })
    const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    await lab.process(graph, null, { killWhen: () => mail.sent.length === 1 })
    return { lab, mail, graph }
  }

  test('C7 unsafe: a person is asked', async () => {
    const { lab, graph } = await inFlight('unsafe_on_replay')
    expect(await foretold(lab, graph)).toEqual({ 'mail#0': 'park' })
  })

  test('C7 keyed: sent again with the same key, while the upstream remembers it', async () => {
    const { lab, mail, graph } = await inFlight('idempotent_with_key')
    expect(await foretold(lab, graph)).toEqual({ 'mail#0': 'rerun' })
    expect(mail.sent.map((each) => each.key)).toEqual(['key-mail', 'key-mail'])
    const late = await inFlight('idempotent_with_key', { keyTtlMs: 500, timeoutMs: 100 })
    expect(await foretold(late.lab, late.graph)).toEqual({ 'mail#0': 'park' })
  })

  test('C7 pure: it has no record, and a note says so', async () => {
    const { lab, mail, graph } = await inFlight('pure')
    const preview = await lab.preview(graph)
    expect(preview.calls).toEqual([])
    expect(preview.notes.join()).toContain('pure calls in flight')
    await lab.process(graph, null)
    expect(mail.sent).toHaveLength(2)
  })

  test('C7 with a probe: the upstream is asked first', async () => {
    for (const landed of ['yes', 'no', 'unknown'] as const) {
      const probe = () => ({ landed, ...(landed === 'yes' ? { result: { id: 'm' } } : {}) })
      const { lab, graph } = await inFlight('unsafe_on_replay', { probe })
      expect(await foretold(lab, graph)).toEqual({ 'mail#0': 'probe' })
      expect(await lab.events('probed')).toHaveLength(1)
    }
  })

  test('C7 certainly not sent, and waiting to be tried again: it is sent', async () => {
    const lab = new Lab()
    const retry = { attemptMax: 3, backoffMs: 5_000, backoffMaxMs: 5_000 }
    const does = (n: number) => {
      if (n === 1) throw new NotSentError('busy')
      return { id: `mail${n}` }
    }
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { does, retry })
    const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    const over = (row: { endedAt: number | null }) => row.endedAt !== null
    const killWhen = () => lab.commits.flatMap((commit) => commit.changes.attempts ?? []).some(over)
    await lab.process(graph, null, { killWhen })
    expect(await foretold(lab, graph)).toEqual({ 'mail#0': 'rerun' })
  })

  test('C7 several at once, each by its class', async () => {
    const lab = new Lab()
    const fakes = classes.map((each) => fake(lab, each.slice(0, 4), each, { ms: 1_000 }))
    const [done, gone] = [
      fake(lab, 'done', 'unsafe_on_replay', { ms: 10 }),
      fake(lab, 'gone', 'unsafe_on_replay', {
        ms: 10,
        does: () => {
          throw new RefusedError('no')
        },
      }),
    ]
    const all = [done, gone, ...fakes]
    const graph = flow(
      all.map((each) => each.tool),
      (ctx) => Promise.allSettled(all.map((each) => ctx.call(each.tool, 1))),
    )
    let later = false
    const leaveWhen = () => {
      if (lab.clock.now() > 1_000_500) later = true
      return false
    }
    await lab.process(graph, null, { leaveWhen, killWhen: () => later })
    expect(await foretold(lab, graph)).toEqual({
      ...{ 'done#0': 'replay', 'gone#0': 'replay' },
      ...{ 'idem#0': 'rerun', 'unsa#0': 'park' },
    })
  })
})

describe('C7 what people have decided', () => {
  const doubtful = async (more: FakeOptions = {}, commits: ProcessOptions = {}) => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 1_000, ...more })
    const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1).catch(() => null))
    await lab.process(graph, null, { ...commits, killWhen: () => mail.sent.length === 1 })
    await lab.process(graph, null)
    return { lab, mail, graph }
  }

  test('C7 an open doubt waits; a decided one does what was decided', async () => {
    const open = await doubtful()
    expect(await open.lab.state()).toBe('waiting_human')
    expect((await open.lab.preview(open.graph)).calls).toMatchObject([{ action: 'wait' }])
    const table = [
      ['happened', 'replay'],
      ['fail', 'replay'],
      ['did_not_happen', 'rerun'],
    ] as const
    for (const [outcome, action] of table) {
      const { lab, mail, graph } = await doubtful()
      const result = outcome === 'happened' ? { result: { id: 'm' } } : {}
      await lab.decide({ outcome, ...result })
      expect(await foretold(lab, graph)).toEqual({ 'mail#0': action })
      expect(mail.sent).toHaveLength(action === 'rerun' ? 2 : 1)
    }
  })

  test('C7 a grant that was used is over: what it sent is in doubt again', async () => {
    const { lab, mail, graph } = await doubtful()
    await lab.decide({ outcome: 'did_not_happen' })
    await lab.process(graph, null, { killWhen: () => mail.sent.length === 2 })
    expect(await foretold(lab, graph)).toEqual({ 'mail#0': 'park' })
  })

  test('C7 a grant rules out what came before it: then "not sent" is certain', async () => {
    const retry = { attemptMax: 3, backoffMs: 5_000, backoffMaxMs: 5_000 }
    const does = (n: number) => {
      if (n === 2) throw new NotSentError('busy')
      return { id: `mail${n}` }
    }
    const { lab, mail, graph } = await doubtful({ does, retry })
    await lab.decide({ outcome: 'did_not_happen' })
    const killWhen = () =>
      lab.commits
        .flatMap((commit) => commit.changes.attempts ?? [])
        .some((row) => row.attempt === 2 && row.endedAt !== null)
    await lab.process(graph, null, { killWhen })
    expect(await foretold(lab, graph)).toEqual({ 'mail#0': 'rerun' })
    expect(mail.sent).toHaveLength(3)
  })

  test('C7 I11 late evidence answers: landed, or refused for certain', async () => {
    for (const refused of [false, true]) {
      const lab = new Lab()
      const does = () => {
        if (refused) throw new RefusedError('no')
        return { id: 'late' }
      }
      const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 5_000, timeoutMs: 1_000, does })
      const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1).catch(() => null))
      expect(await lab.process(graph, null)).toBe('parked')
      await lab.pass(10_000)
      expect(await lab.state()).toBe('pending')
      expect(await foretold(lab, graph)).toEqual({ 'mail#0': 'replay' })
      expect(mail.sent).toHaveLength(1)
    }
  })

  test('C7 drift: the record that a person gave to a call answers', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 1_000 })
    let n = 1
    const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, n))
    await lab.process(graph, null, { killWhen: () => mail.sent.length === 1 })
    n = 2
    expect(await lab.process(graph, null)).toBe('parked')
    await lab.decide({ outcome: 'use_record', result: { id: 'm' } })
    expect(await foretold(lab, graph)).toEqual({ 'mail#0': 'replay' })
    expect(mail.sent).toHaveLength(1)
  })

  test('C7 C10 a run that is tried again: each failed call by its fate', async () => {
    for (const [fate, action, sent] of [
      ['send', 'rerun', 2],
      ['keep', 'replay', 1],
      [{ happened: { id: 'm' } }, 'replay', 1],
    ] as const) {
      const lab = new Lab()
      const does = (n: number) => {
        if (n === 1) throw new RefusedError('no')
        return { id: `mail${n}` }
      }
      const mail = fake(lab, 'mail', 'unsafe_on_replay', { does })
      const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
      await lab.process(graph, null)
      await lab.retry({ calls: { 'mail#0': fate } })
      const { calls } = await lab.preview(graph)
      expect(calls).toMatchObject([{ tool: 'mail', nth: 0, action }])
      await lab.process(graph, null)
      expect(mail.sent).toHaveLength(sent)
    }
  })

  test('C7 C10 what a retry has sent stands for the call, the failed one for nothing', async () => {
    const lab = new Lab()
    const does = (n: number) => {
      if (n === 1) throw new RefusedError('no')
      return { id: `mail${n}` }
    }
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { does })
    const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    await lab.process(graph, null)
    await lab.retry({ calls: { 'mail#0': 'send' } })
    await lab.process(graph, null, { killWhen: () => mail.sent.length === 2 })
    const { calls } = await lab.preview(graph)
    expect(calls).toMatchObject([{ tool: 'mail', nth: 0, status: 'pending', action: 'park' }])
    expect(await lab.process(graph, null)).toBe('parked')
  })
})

describe('C7 questions and held calls', () => {
  const asking = flow([], async (ctx) => (await ctx.approval({ title: 'Go?' })).outcome)
  const policy: RiskPolicy = () => ({ ask: true })

  test('C7 a question waits, an answer replays', async () => {
    const lab = new Lab()
    await lab.process(asking, null)
    expect((await lab.preview(asking)).calls).toMatchObject([{ action: 'wait' }])
    await lab.decide({ outcome: 'reject' })
    expect(await foretold(lab, asking)).toEqual({ 'counterfoil.approval#0': 'replay' })
  })

  test('C7 a held call waits; approved or edited it is sent; rejected it fails', async () => {
    for (const [outcome, action, sent] of [
      ['approve', 'rerun', 1],
      ['edit', 'rerun', 1],
      ['reject', 'replay', 0],
    ] as const) {
      const lab = new Lab()
      const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 1_000 })
      const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1).catch(() => null))
      await lab.process(graph, null, { policy })
      expect((await lab.preview(graph)).calls).toMatchObject([{ action: 'wait' }])
      await lab.decide({ outcome, ...(outcome === 'edit' ? { result: 2 } : {}) })
      expect(await foretold(lab, graph, { policy })).toEqual({ 'mail#0': action })
      expect(mail.sent).toHaveLength(sent)
    }
  })

  test('C7 an approved call that was sent is in doubt, whatever the approval said', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 1_000 })
    const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    await lab.process(graph, null, { policy })
    await lab.decide({ outcome: 'approve' })
    await lab.process(graph, null, { policy, killWhen: () => mail.sent.length === 1 })
    expect(await foretold(lab, graph, { policy })).toEqual({ 'mail#0': 'park' })
  })

  test('C7 notes say what keeps the run from being resumed at all', async () => {
    const lab = new Lab()
    await lab.process(asking, null)
    await lab.wish('pause')
    expect((await lab.preview(asking)).notes.join()).toContain('paused')
    await lab.wish('cancel')
    expect((await lab.preview(asking)).notes.join()).toContain('cancelled')
    const other = new Lab()
    const mail = fake(other, 'mail', 'unsafe_on_replay', { ms: 1_000 })
    const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    const killWhen = () => mail.sent.length === 1
    await other.process(graph, null, { killWhen })
    await other.wish('pause')
    expect((await other.preview(graph)).notes.join()).toContain('paused')
    await other.process(graph, null)
    expect(await other.state()).toBe('paused')
    expect(mail.sent).toHaveLength(1)
  })
})

describe('C7 random programs', () => {
  const tools = (lab: Lab): Fake<{ value: string }>[] =>
    (['pure', 'keyed', 'unsafe'] as const).flatMap((kind) =>
      ['a', 'b'].map((x) => {
        const replayClass =
          kind === 'pure'
            ? 'pure'
            : kind === 'keyed'
              ? 'idempotent_with_key'
              : ('unsafe_on_replay' as const)
        const keyed = { idempotencyKey: (i: unknown) => JSON.stringify(i), keyTtlMs: 1e12 }
        return fake<{ value: string }>(lab, `${kind}_${x}`, replayClass, {
          ...(kind === 'keyed' ? keyed : {}),
          ms: 0,
          does: async (_, raw) => {
            const { site, ms, fails } = raw as { site: string; ms: number; fails: boolean }
            await work(lab, ms)
            if (fails) throw new RefusedError('no')
            return { value: site }
          },
        })
      }),
    )

  async function decideAll(lab: Lab, fakes: readonly Fake<unknown>[]) {
    for (const { itemId, version, body } of await lab.items()) {
      const { site } = body.input as { site: string }
      const { sent } = fakes.find((each) => each.tool.name === body.subject?.tool) ?? { sent: [] }
      const did = sent.some((each) => (each.input as { site: string }).site === site)
      const happened = { outcome: 'happened', result: { value: site } }
      const said = did ? happened : { outcome: 'did_not_happen' }
      const by = { by: 'ana', reason: 'r', version, madeSure: true }
      await lab.inbox.decide(itemId, { ...by, ...said } as never)
    }
  }

  test('C7 foretold and then killed, at moments of many programs', async () => {
    let calls = 0
    for (let seed = 1; seed <= 30; seed++) {
      const program = generate(seed, 'plain')
      for (let killAt = 4; killAt < 120; killAt += 9) {
        const lab = new Lab()
        const fakes = tools(lab)
        const byName = new Map(fakes.map((each) => [each.tool.name, each.tool]))
        const graph = flow(
          fakes.map((each) => each.tool),
          async (ctx) => {
            const call = async (node: CallNode, v: string) => {
              const tool = byName.get(node.tool)
              if (tool === undefined) throw new Error(node.tool)
              const { site, latencyMs: ms, fails } = node
              return ctx.call(tool, { v, site, ms, fails })
            }
            const machine = { call, sleep: (ms: number) => work(lab, ms), now: () => 0 }
            const env = { local: 'in', shared: { value: '0' } }
            await run(program, env, { ...machine, nonce: () => hash(env.local) })
          },
        )
        const killWhen = () => lab.clock.events >= killAt
        if ((await lab.process(graph, null, { killWhen })) !== 'crash') break
        if ((await lab.state()) !== 'running') break
        for (let round = 0; round < 6; round++) {
          calls += Object.keys(await foretold(lab, graph)).length
          if ((await lab.state()) !== 'waiting_human') break
          await decideAll(lab, fakes)
        }
        expect(['completed', 'failed']).toContain(await lab.state())
      }
    }
    expect(calls).toBeGreaterThan(1_000)
  })
})
