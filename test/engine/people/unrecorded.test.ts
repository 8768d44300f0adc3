// A tool that is not pure and answers with what cannot be recorded: the effect happened, and the
// person who decides is told so, with the place in the result.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { open, type ReplayUnsafeError, tool } from '../../../src/index.ts'
import { type Graph, graph } from '../../../src/model/graph/graph.ts'
import * as limits from '../../../src/model/limits.ts'
import { fake, flow, Lab } from '../../lab.ts'

function nested(levels: number): unknown {
  let value: unknown = 'core'
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value }
  return value
}

function mailing(does: () => unknown) {
  const lab = new Lab()
  const mail = fake(lab, 'mail', 'unsafe_on_replay', { does })
  const made = flow([mail.tool], (ctx) => ctx.call(mail.tool, { to: 'ana' }))
  return { lab, mail, made }
}

const offenders: [string, () => unknown, string][] = [
  ['a Date', () => ({ id: 'm1', sent: { at: new Date(0) } }), '$.sent.at is '],
  ['a Map', () => ({ ids: [new Map()] }), '$.ids[0] is '],
  ['a cycle', cyclic, 'a cycle'],
  ['too deep', () => nested(20_000), `nested more than ${limits.depthMax} levels deep`],
]

function cyclic(): unknown {
  const value: { self?: unknown } = {}
  value.self = value
  return value
}

describe('a result that cannot be recorded', () => {
  test.each(offenders)(
    'B2 C2 %s: the doubt says that it answered, and where',
    async (_, does, at) => {
      const { lab, mail, made } = mailing(does)
      await lab.process(made, null)
      const { reason, title, body } = await lab.item()
      expect(reason).toBe('unknown')
      expect(title).toBe('mail: it answered, but its result cannot be recorded')
      expect(body.error?.code).toBe('RESULT_UNRECORDED')
      expect(body.error?.message).toContain('mail answered, so it happened')
      expect(body.error?.message).toContain(at)
      expect(body.error?.message).toContain('Say that it happened, with the result as plain data')
      await lab.decide({ outcome: 'happened', result: { id: 'm1' } })
      await lab.process(made, null)
      expect(await lab.output()).toEqual({ id: 'm1' })
      expect(mail.sent.length).toBe(1)
    },
  )

  test('C2 a later process, which has not seen the answer, leaves the item as it is', async () => {
    const { lab, mail, made } = mailing(() => ({ at: new Date(0) }))
    await lab.process(made, null)
    const before = await lab.item()
    await lab.wish('pause')
    await lab.wish('resume')
    await lab.process(made, null)
    expect(await lab.item()).toEqual(before)
    expect(mail.sent.length).toBe(1)
  })

  test('C2 G2 an attempt that then fails in another way says nothing of an answer', async () => {
    const lab = new Lab()
    const does = (n: number) => {
      if (n === 1) return { at: new Date(0) }
      throw new Error('socket hang up')
    }
    const mail = fake(lab, 'mail', 'idempotent_with_key', { does, retry: { attemptMax: 2 } })
    const made = flow([mail.tool], (ctx) => ctx.call(mail.tool, { to: 'ana' }))
    await lab.process(made, null)
    const { title, body } = await lab.item()
    expect(title).toBe('mail: did it happen?')
    expect(body.error?.code).toBe('REPLAY_UNSAFE')
  })

  test('C2 a host is told the same', async () => {
    const cf = await open({ store: 'memory:', onWarning: () => {} })
    const mail = tool({
      name: 'mail',
      replayClass: 'unsafe_on_replay',
      input: z.null(),
      run: async () => ({ at: new Date(0) }),
    })
    const visit = await cf.scope({ workflowId: 't', nodeId: 'n', checkpointId: 'c' })
    const error: ReplayUnsafeError = await visit.call(mail, null).then(
      () => null,
      (thrown) => thrown,
    )
    expect(error.code).toBe('REPLAY_UNSAFE')
    expect(error.message).toContain('mail answered, so it happened')
    expect(error.message).toContain('$.at is ')
    await visit.close()
    await cf.close()
  })
})

describe('how deep data may nest', () => {
  const kept = nested(limits.depthMax)
  const tooDeep = nested(limits.depthMax + 1)

  test('D9 as deep as the limit says is kept, and given back', async () => {
    const { lab, made } = mailing(() => kept)
    await lab.process(made, null)
    expect(await lab.output()).toEqual(kept)
  })

  test.each(['input', 'output', 'signal', 'log'] as const)(
    'D9 one level more: %s',
    async (what) => {
      const lab = new Lab()
      const model = fake(lab, 'model', 'pure')
      const made = flow([model.tool], async (ctx) => {
        if (what === 'log') ctx.log('deep', tooDeep)
        if (what === 'input') await ctx.call(model.tool, tooDeep as never)
        return what === 'output' ? tooDeep : null
      })
      if (what === 'signal') {
        await lab.start(made)
        await expect(lab.signal('go', tooDeep)).rejects.toMatchObject({ code: 'NOT_PLAIN_DATA' })
        return
      }
      await lab.process(made, null)
      expect(await lab.error()).toMatchObject({ code: 'NOT_PLAIN_DATA' })
      expect((await lab.error()).message).toContain(`more than ${limits.depthMax} levels`)
    },
  )

  test('D9 one level more: a patch of the state', async () => {
    const lab = new Lab()
    const state = z.object({ value: z.any() })
    const made = graph({
      id: 'w@1.0.0',
      state,
      start: 'one',
      nodes: {
        one: async (_, ctx) => ctx.go('two', { value: tooDeep }),
        two: async (_, ctx) => ctx.done(),
      },
    }) as unknown as Graph
    await lab.process(made, { value: null })
    expect((await lab.error()).message).toContain(`more than ${limits.depthMax} levels`)
  })
})
