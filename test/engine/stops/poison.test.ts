// A run that its workers die of is put before a person after so many deaths, with the evidence.
import { describe, expect, test } from 'vitest'
import * as limits from '../../../src/model/limits.ts'
import { fake, flow, Lab } from '../../lab.ts'

function deadly() {
  const lab = new Lab()
  const parse = fake(lab, 'parse', 'pure', { ms: 1_000 })
  const graph = flow([parse.tool], (ctx) => ctx.call(parse.tool, {}))
  const die = () => {
    const before = parse.sent.length
    return lab.process(graph, null, { killWhen: () => parse.sent.length > before })
  }
  return { lab, parse, graph, die }
}

describe('poison', () => {
  test('D2 a run that kills worker after worker parks for a person, who is told', async () => {
    const { lab, parse, graph, die } = deadly()
    for (let n = 0; n <= limits.claimsMax; n++) await die()
    const sent = parse.sent.length
    await lab.process(graph, null)
    expect(await lab.state()).toBe('waiting_human')
    const item = await lab.item()
    expect(item.reason).toBe('poison')
    expect(item.body.error?.code).toBe('RUN_POISONED')
    const { deaths } = item.body.data as { deaths: { worker: string }[] }
    expect(deaths.length).toBeGreaterThanOrEqual(limits.claimsMax)
    expect(new Set(deaths.map((death) => death.worker)).size).toBe(deaths.length)
    expect(parse.sent.length).toBe(sent)
  })

  test('D2 a person may have it tried again, or abandon it', async () => {
    const { lab, parse, graph, die } = deadly()
    for (let n = 0; n <= limits.claimsMax; n++) await die()
    await lab.process(graph, null)
    await lab.decide({ outcome: 'resume' })
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.output()).toEqual({ id: `parse${parse.sent.length}` })
  })

  test('D2 what gets further each time is no poison, however many workers die', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'idempotent_with_key', {
      idempotencyKey: (input: unknown) => `k${JSON.stringify(input)}`,
    })
    const graph = flow([mail.tool], async (ctx) => {
      for (let n = 0; n < 2 * limits.claimsMax; n++) await ctx.call(mail.tool, { n })
      return 'done'
    })
    for (let n = 1; n < 2 * limits.claimsMax; n++) {
      await lab.process(graph, null, { killWhen: () => lab.durable('mail', 'committed', n) })
    }
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.items()).toEqual([])
  })

  test('D2 gracefully released again and again, a run is no poison', async () => {
    const { lab, graph } = deadly()
    for (let n = 0; n < 2 * limits.claimsMax; n++) {
      await lab.process(graph, null, { leaveWhen: () => lab.execution !== null })
      lab.execution?.drain()
      await lab.pass(2_000)
    }
    expect(await lab.items()).toEqual([])
  })
})
