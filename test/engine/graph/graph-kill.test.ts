// Graphs whose process dies at every moment: what was durable by then is all that the next one
// sees, and what comes out is what an uninterrupted run gives.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Dial, type Graph, graph } from '../../../src/model/graph/graph.ts'
import type { CallRecord } from '../../../src/model/run/records.ts'
import { type Fake, type FakeOptions, fake, Lab, type ProcessOptions } from '../../lab.ts'
import { seeded } from '../../sim/clock.ts'

const answers: FakeOptions = { does: (_, input) => ({ id: JSON.stringify(input) }) }

const State = z.object({
  round: z.number().default(0),
  facts: z.array(z.string()).default([]),
  sent: z.array(z.string()).default([]),
})

interface World {
  readonly lab: Lab
  readonly graph: Graph
  readonly think: Fake<{ id: string }>
  readonly mail: Fake<{ id: string }>
  readonly pay: Fake<{ id: string }>
}

/** Pure thinking, then effects side by side, then back to the beginning; three times. */
function makeWorld(dial: Dial): World {
  const lab = new Lab()
  const think = fake(lab, 'think', 'pure', { ...answers, ms: 15 })
  const mail = fake(lab, 'mail', 'unsafe_on_replay', { ...answers, ms: 30 })
  const idempotencyKey = (input: unknown) => JSON.stringify(input)
  const pay = fake(lab, 'pay', 'idempotent_with_key', { ...answers, ms: 10, idempotencyKey })
  const made = graph({
    id: 'w@1.0.0',
    state: State,
    output: z.object({ facts: z.array(z.string()), sent: z.array(z.string()) }),
    tools: [think.tool, mail.tool, pay.tool],
    start: 'plan',
    nodes: {
      plan: {
        checkpoint: dial,
        run: async ({ round, facts }, ctx) => {
          const [a, b] = await Promise.all([
            ctx.call(think.tool, { round, what: 'a' }),
            ctx.call(think.tool, { round, what: 'b' }),
          ])
          return ctx.go('check', { facts: [...facts, a.id, b.id] })
        },
      },
      check: {
        checkpoint: dial,
        run: async ({ round }, ctx) => {
          await ctx.call(think.tool, { check: round })
          return ctx.go('act')
        },
      },
      act: {
        checkpoint: dial,
        run: async ({ round, sent }, ctx) => {
          const [mailed, paid] = await Promise.all([
            ctx.call(mail.tool, { round, to: 'ana' }),
            ctx.call(pay.tool, { round }),
            ctx.call(mail.tool, { round, to: 'bob' }),
          ])
          return ctx.go('loop', { sent: [...sent, mailed.id, paid.id], round: round + 1 })
        },
      },
      loop: {
        checkpoint: dial,
        run: async ({ round, facts, sent }, ctx) =>
          round < 2 ? ctx.go('plan') : ctx.done({ facts: [...facts], sent: [...sent] }),
      },
    },
  }) as Graph
  return { lab, graph: made, think, mail, pay }
}

/** One process. C5: of what is durable when it begins it asks for nothing again. */
async function live({ lab, graph: made, think }: World, options: ProcessOptions = {}) {
  const durable = new Set((await lab.records()).map((row) => row.resultJson))
  const before = think.sent.length
  await lab.process(made, {}, options)
  for (const { input } of think.sent.slice(before)) {
    const known = durable.has(JSON.stringify({ id: JSON.stringify(input) }))
    expect(known, `${JSON.stringify(input)} is asked for again`).toBe(false)
  }
}

/** Until it is done; a person who looks at the upstream answers what is asked. */
async function finish(world: World): Promise<void> {
  const { lab, mail } = world
  for (let life = 0; life < 20 && (await lab.state()) !== 'completed'; life++) {
    for (const item of await lab.items()) {
      expect(item.reason).toBe('unknown')
      const { input } = item.body
      const happened = mail.sent.some((one) => JSON.stringify(one.input) === JSON.stringify(input))
      await lab.decide(
        happened
          ? { outcome: 'happened', result: { id: JSON.stringify(input) } }
          : { outcome: 'did_not_happen' },
      )
    }
    await live(world)
  }
}

const visitOf = (id: string) => Number(/#\d+#(\d+)/.exec(id)?.[1])
const idOf = (row: CallRecord) => `${row.nodeId}/${row.checkpointId}/${row.tool}/${row.inputHash}`

/** What must be true of the commits, in whatever process each was made. */
function checkCommits({ lab }: World): void {
  const checkpointed = new Set([1])
  const receipts = new Map<string, string>()
  for (const { changes } of lab.commits) {
    for (const row of changes.checkpoints ?? []) checkpointed.add(row.visit)
    for (const row of changes.records ?? []) {
      receipts.set(idOf(row), row.status)
      if (row.replayClass === 'pure') continue
      // D10: the checkpoint of its visit is in the same commit as the intent, or in an earlier one.
      expect(
        checkpointed.has(visitOf(row.checkpointId)),
        `${row.tool} of ${row.checkpointId}`,
      ).toBe(true)
    }
    // I3: what a checkpoint follows from is durable with it.
    const [next] = (changes.checkpoints ?? []).map((row) => row.visit)
    if (next === undefined) continue
    for (const [id, status] of receipts) {
      if (visitOf(id) >= next) continue
      expect(status, `${id} before the checkpoint of visit ${next}`).toBe('committed')
    }
  }
}

async function ledgerOf({ lab }: World): Promise<string[]> {
  return (await lab.records()).map((row) => `${idOf(row)}/${row.status}`).sort()
}

const dials: Dial[] = ['always', 'before_effects', 'every:2', 'every:3']

describe('a process that dies at every moment', () => {
  test.each(dials)('C5 I3 D10 dial %s: nothing is sent twice, nothing is lost', async (dial) => {
    const whole = makeWorld(dial)
    await whole.lab.process(whole.graph, {})
    const output = await whole.lab.output()
    const ledger = await ledgerOf(whole)
    const moments = whole.lab.clock.events
    expect(await whole.lab.state()).toBe('completed')
    expect(moments).toBeGreaterThan(60)
    checkCommits(whole)
    for (let moment = 1; moment <= moments; moment++) {
      const world = makeWorld(dial)
      const { lab, mail, pay, think } = world
      await live(world, { killWhen: () => lab.clock.events >= moment })
      await finish(world)
      expect(await lab.output(), `killed at ${moment}`).toEqual(output)
      const inputs = mail.sent.map((one) => JSON.stringify(one.input))
      expect(inputs.length, `killed at ${moment}`).toBe(4)
      expect(new Set(inputs).size).toBe(4)
      // With the same key its upstream counts them as one.
      expect(new Set(pay.sent.map((one) => one.key)).size).toBe(2)
      expect(pay.sent.length).toBeLessThanOrEqual(3)
      // At most what was in flight or lay in the buffer is asked for again.
      expect(think.sent.length, `killed at ${moment}`).toBeLessThanOrEqual(6 + 3)
      expect(await ledgerOf(world), `killed at ${moment}`).toEqual(ledger)
      checkCommits(world)
    }
  })

  test('C5 D10 killed after every receipt: a turned-down dial costs no receipt', async () => {
    const world = makeWorld('before_effects')
    const { lab, think, mail } = world
    for (let wanted = 1; wanted <= 6; wanted++) {
      await live(world, { killWhen: () => lab.durable('think', 'committed', wanted) })
    }
    await finish(world)
    expect(await lab.state()).toBe('completed')
    expect(think.sent.length).toBeLessThanOrEqual(6 + 6)
    expect(mail.sent.length).toBe(4)
  })

  test('C5 I3 killed several times at random moments, whatever the dial', async () => {
    const random = seeded(11)
    for (let round = 0; round < 60; round++) {
      const dial = dials[round % dials.length] as Dial
      const whole = makeWorld(dial)
      await whole.lab.process(whole.graph, {})
      const world = makeWorld(dial)
      const { lab, mail } = world
      for (let life = 0; life < 4 && (await lab.state()) !== 'completed'; life++) {
        const moment = Math.ceil(random() * 60)
        await live(world, { killWhen: () => lab.clock.events >= moment })
      }
      await finish(world)
      expect(await lab.output(), `round ${round}`).toEqual(await whole.lab.output())
      const inputs = mail.sent.map((one) => JSON.stringify(one.input))
      expect(new Set(inputs).size, `round ${round}`).toBe(inputs.length)
      expect(await ledgerOf(world)).toEqual(await ledgerOf(whole))
      checkCommits(world)
    }
  })

  test('D10 given back in the middle of skipped visits: nothing is asked for again', async () => {
    for (let moment = 1; moment < 60; moment++) {
      const world = makeWorld('before_effects')
      const { lab, think, mail } = world
      const drains = () => {
        if (lab.clock.events >= moment) lab.execution?.drain()
        return false
      }
      await live(world, { killWhen: drains })
      await finish(world)
      expect(await lab.state(), `given back at ${moment}`).toBe('completed')
      expect(think.sent.length, `given back at ${moment}`).toBe(6)
      expect(mail.sent.length, `given back at ${moment}`).toBe(4)
    }
  })
})
