// What chaos counts: who gets the same thing twice must not hide behind who never gets it.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { pause, systemClock } from '../../src/clock.ts'
import { tool, workflow } from '../../src/index.ts'
import { type Agent, chaos } from '../../src/testing/index.ts'

it('J2 an input of which a part moves is counted by the rest', async () => {
  const sent = new Map<string, string[]>()
  // Goes on by how many have been sent, and from the other end.
  const agent: Agent = async (_, { dir, upstream }) => {
    const path = join(dir, 'begun')
    const all = existsSync(path) ? ['c', 'b', 'a'] : ['a', 'b', 'c']
    writeFileSync(path, '')
    const done = (await upstream('count', { dir }, { replayClass: 'pure' })) as number
    for (const to of all.slice(done)) await upstream('send', { to, dir })
    return 'done'
  }
  const mocks = {
    count: ({ dir }: { dir: string }) => sent.get(dir)?.length ?? 0,
    send: ({ to, dir }: { to: string; dir: string }) => {
      sent.set(dir, [...(sent.get(dir) ?? []), to])
      return 1
    },
  }
  const report = await chaos({ agent, mocks })
  expect([...sent.values()].map((all) => all.join(''))).toContain('aba')
  expect(report.ok).toBe(false)
  const found = report.points.flatMap(({ findings }) => findings.map(({ message }) => message))
  expect(found).toContain('send {"to":"a"} happened twice instead of once')
  expect(found).toContain('send {"to":"c"} happened never instead of once')
})

it('J2 a key that is not honoured without any crash is found out', async () => {
  const charge = tool({
    name: 'charge',
    replayClass: 'idempotent_with_key',
    idempotencyKey: () => 'k',
    keyTtlMs: 3_600_000,
    input: z.object({}),
    run: async () => 1,
  })
  const graph = workflow({
    id: 'twice@1.0.0',
    input: z.object({}),
    tools: [charge],
    run: (input, ctx) => ctx.call(charge, input),
  })
  const mocks = {
    charge: (_: unknown, call: { attempt: number; effect(): void }) => {
      call.effect()
      if (call.attempt === 1) throw new Error('socket hang up')
      return 1
    },
  }
  const report = await chaos({ graph, input: {}, mocks, kills: 1 })
  expect(report.ok).toBe(false)
  expect(report.tools).toMatchObject([{ tool: 'charge', effectsMax: 2, holds: 'no' }])
})

it('J2 a doubt about what is still under way is not decided before it has ended', async () => {
  const send = tool({
    name: 'send',
    replayClass: 'unsafe_on_replay',
    input: z.object({}),
    timeoutMs: 50,
    run: async () => 1,
  })
  const graph = workflow({
    id: 'slow@1.0.0',
    input: z.object({}),
    tools: [send],
    run: (input, ctx) => ctx.call(send, input),
  })
  const mocks = { send: () => pause(systemClock, 200) }
  const report = await chaos({ graph, input: {}, mocks, kills: 3 })
  expect(report.points.flatMap(({ findings }) => findings)).toEqual([])
  expect(report.tools).toMatchObject([{ tool: 'send', calls: 1, effects: 1, effectsMax: 1 }])
})

it('J2 mocks that remember are made for every crash point', async () => {
  const charge = tool({
    name: 'charge',
    replayClass: 'idempotent_with_key',
    idempotencyKey: (_, { runId }) => runId,
    keyTtlMs: 3_600_000,
    input: z.object({}),
    run: async () => 1,
  })
  const graph = workflow({
    id: 'bank@1.0.0',
    input: z.object({}),
    tools: [charge],
    run: (input, ctx) => ctx.call(charge, input),
  })
  const mocks = () => {
    const seen = new Set<string | null>()
    return {
      charge: (_: unknown, call: { idempotencyKey: string | null; effect(): void }) => {
        if (!seen.has(call.idempotencyKey)) call.effect()
        seen.add(call.idempotencyKey)
        return 1
      },
    }
  }
  const report = await chaos({ graph, input: {}, mocks, kills: 3 })
  expect(report.points.flatMap(({ findings }) => findings)).toEqual([])
})
