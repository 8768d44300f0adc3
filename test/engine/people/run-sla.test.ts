// A run that is itself before a person (its checkpoint is damaged, or its workers die of it) does
// not rot silently: it has an SLA, an alert, an escalation and notices like any other item.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Graph, graph } from '../../../src/model/graph/graph.ts'
import * as limits from '../../../src/model/limits.ts'
import type { Checkpoint } from '../../../src/model/run/records.ts'
import { passItem } from '../../../src/worker/deadline.ts'
import { fake, flow, Lab, type ProcessOptions } from '../../lab.ts'

const ref = { namespace: 'default', runId: 'lab' }

async function poisoned(options: ProcessOptions): Promise<Lab> {
  const lab = new Lab()
  const parse = fake(lab, 'parse', 'pure', { ms: 1_000 })
  const deadly = flow([parse.tool], (ctx) => ctx.call(parse.tool, {}))
  for (let n = 0; n <= limits.claimsMax; n++) {
    const before = parse.sent.length
    await lab.process(deadly, null, {
      ...options,
      killWhen: () => parse.sent.length > before,
    })
  }
  await lab.process(deadly, null, options)
  return lab
}

async function damaged(options: ProcessOptions): Promise<Lab> {
  const lab = new Lab()
  const mail = fake(lab, 'mail', 'unsafe_on_replay')
  const two = graph({
    id: 'w@1.0.0',
    state: z.object({}),
    tools: [mail.tool],
    start: 'one',
    nodes: {
      one: async (_, ctx) => ctx.go('two'),
      two: async (_, ctx) => {
        await ctx.call(mail.tool, {})
        return ctx.done({})
      },
    },
  }) as Graph
  await lab.process(two, {}, { killWhen: () => mail.sent.length === 1 })
  // Rows of the memory store are given out as they are kept: to change one is to damage it.
  const row = (await lab.store.loadCheckpoints(ref, 0, 2)).at(-1) as Checkpoint
  Object.assign(row, { digest: 'x' })
  await lab.process(two, {}, options)
  return lab
}

describe.each([
  ['poison', poisoned],
  ['checkpoint', damaged],
] as const)('E10 an item for %s', (reason, make) => {
  test('E10 it is due after the default SLA, or what its queue says', async () => {
    const waits = async (options: ProcessOptions) => {
      const item = await (await make(options)).item()
      expect(item).toMatchObject({ reason, queue: 'doubts', state: 'open' })
      return (item.dueAt ?? 0) - item.createdAt
    }
    expect(await waits({})).toBe(limits.itemSlaMs)
    expect(await waits({ queues: { doubts: { slaMs: 5_000 } } })).toBe(5_000)
  })

  test('E10, E7 nobody decides: noted, told, given to another queue', async () => {
    const escalate = { afterMs: 8_000, queue: 'leads', slaMs: 4_000 }
    const lab = await make({ queues: { doubts: { slaMs: 5_000, escalate } } })
    const item = await lab.item()
    const pass = async (ms: number) => {
      await lab.pass(ms)
      for (const one of await lab.store.listOverdue(10)) await passItem(lab.store, one)
      // Another sweeper at the same moment finds nothing left to do.
      expect(await lab.store.listOverdue(10)).toEqual([])
    }
    await pass(5_000)
    expect(await lab.item()).toMatchObject({ queue: 'doubts', version: item.version })
    await pass(4_000)
    const moved = await lab.item()
    expect(moved).toMatchObject({ queue: 'leads', version: item.version + 1 })
    expect(await lab.store.getRun(ref)).toMatchObject({ waitingFor: { queue: 'leads' } })
    await pass(5_000)
    const { items: events } = await lab.store.listEvents(item, {})
    const kinds = events.map(({ kind }) => kind).filter((kind) => /sla|escal/.test(kind))
    expect(kinds).toEqual(['sla_passed', 'escalated', 'sla_passed'])
    const told = await lab.store.takeNotices('w', 100, 1_000)
    expect(told.map(({ kind }) => kind)).toEqual([
      ...['doubt', 'sla_passed', 'waiting_human', 'sla_passed'],
    ])
    await lab.decide({ outcome: 'abandon' })
    expect(await lab.state()).toBe('failed')
  })
})
