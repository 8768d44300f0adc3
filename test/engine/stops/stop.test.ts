// Pause, resume and cancel: in every state, at every moment, against each other, against decisions,
// drains and deaths. What was sent is recorded, nothing new begins, and what was asked for comes
// about.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Stopping } from '../../../src/client/run/stop.ts'
import type { Context } from '../../../src/model/graph/context.ts'
import { type Graph, graph } from '../../../src/model/graph/graph.ts'
import { type Fake, fake, flow, Lab, type ProcessOptions } from '../../lab.ts'

const obeys: ProcessOptions = { obeysMs: 7 }

async function code(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'accepted',
    (error) => error.code ?? error.message,
  )
}

type Mail = Fake<{ id: string }>

/** Side by side, one after the other, and pure ones between. */
function busy(mail: Mail, look: Mail): Graph {
  return flow([mail.tool, look.tool], async (ctx) => {
    const first = await Promise.all([1, 2].map((n) => ctx.call(mail.tool, n)))
    await ctx.call(look.tool, 1)
    const then = await ctx.call(mail.tool, 3)
    return [...first, then].map((each) => each.id)
  })
}

function scene() {
  const lab = new Lab()
  const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 20 })
  const look = fake(lab, 'look', 'pure', { ms: 20 })
  return { lab, mail, look, graph: busy(mail, look) }
}

/** Does something at the given events of the process that runs now. */
function at(lab: Lab, when: Readonly<Record<number, () => unknown>>): () => boolean {
  const from = lab.clock.events
  const done = new Set<number>()
  return () => {
    for (const [event, act] of Object.entries(when)) {
      const n = Number(event)
      if (done.has(n) || lab.clock.events - from < n) continue
      done.add(n)
      act()
    }
    return false
  }
}

/** Every call that was sent has its receipt, and none has been sent twice. */
async function allRecorded(lab: Lab, mail: Mail): Promise<void> {
  const rows = (await lab.records()).filter((row) => row.tool === 'mail')
  expect(rows.map((row) => row.status)).toEqual(mail.sent.map(() => 'committed'))
  expect(new Set(mail.sent.map((each) => each.input)).size).toBe(mail.sent.length)
  expect(await lab.items()).toEqual([])
}

/** How many events the whole run takes with nobody in its way. */
async function wholeEvents(): Promise<number> {
  const { lab, graph } = scene()
  expect(await lab.process(graph, null, obeys)).toBe('ended')
  return lab.clock.events
}

describe('D4 in every state', () => {
  const asking = flow([], (ctx: Context) => ctx.approval({ title: 'Go?' }))
  const failing = flow([], () => Promise.reject(new Error('no')))
  const states: [string, (lab: Lab) => Promise<unknown>][] = [
    ['waiting_human', (lab) => lab.process(asking, null)],
    ['paused', (lab) => lab.process(asking, null).then(() => lab.wish('pause'))],
    [
      'completed',
      (lab) =>
        lab.process(
          flow([], async () => 1),
          null,
        ),
    ],
    ['failed', (lab) => lab.process(failing, null)],
    ['cancelled', (lab) => lab.process(asking, null).then(() => lab.wish('cancel'))],
  ]
  const expected: Record<string, Record<Stopping, string>> = {
    waiting_human: { pause: 'paused', resume: 'RUN_NOT_PAUSED', cancel: 'cancelled' },
    paused: { pause: 'paused', resume: 'pending', cancel: 'cancelled' },
    completed: { pause: 'RUN_ENDED', resume: 'RUN_ENDED', cancel: 'RUN_ENDED' },
    failed: { pause: 'RUN_ENDED', resume: 'RUN_ENDED', cancel: 'RUN_ENDED' },
    cancelled: { pause: 'RUN_ENDED', resume: 'RUN_ENDED', cancel: 'RUN_ENDED' },
  }
  const wishes = ['pause', 'resume', 'cancel'] as const

  test.each(states)('D4 %s', async (state, reach) => {
    for (const wish of wishes) {
      const lab = new Lab()
      await reach(lab)
      expect(await lab.state()).toBe(state)
      const items = await lab.items()
      const said = await code(lab.wish(wish))
      const now = await lab.state()
      expect(said === 'accepted' ? now : said).toBe(expected[state]?.[wish])
      if (said !== 'accepted') expect(now).toBe(state)
      // A pause leaves what waits for people as it is; a cancel closes it.
      expect(await lab.items()).toEqual(now === 'cancelled' ? [] : items)
      expect(await lab.run()).toMatchObject({ workerId: null, stop: null })
    }
  })

  test('D4 pending: at once, and nothing is ever begun', async () => {
    for (const [wish, state] of [
      ['pause', 'paused'],
      ['cancel', 'cancelled'],
    ] as const) {
      const { lab, mail, graph } = scene()
      await lab.process(graph, null, { leaveWhen: () => true })
      lab.execution?.drain()
      await lab.pass(1_000)
      expect(await lab.state()).toBe('pending')
      const before = mail.sent.length
      await lab.wish(wish)
      expect(await lab.state()).toBe(state)
      expect(await lab.process(graph, null)).toBe('nothing to claim')
      expect(mail.sent).toHaveLength(before)
    }
  })

  test('D4 resume of a run that is not paused changes nothing', async () => {
    const { lab, mail, graph } = scene()
    const wish = () => void lab.wish('resume')
    expect(await lab.process(graph, null, { ...obeys, leaveWhen: at(lab, { 9: wish }) })).toBe(
      'ended',
    )
    await allRecorded(lab, mail)
    expect(mail.sent).toHaveLength(3)
  })

  test('D4 who and why are in the history, the transition with its cause', async () => {
    const { lab, graph } = scene()
    const wish = { by: 'ana', reason: 'look first' }
    const leaveWhen = at(lab, { 6: () => lab.wish('pause', wish) })
    await lab.process(graph, null, { ...obeys, leaveWhen })
    expect((await lab.events('stop_asked'))[0]?.data).toMatchObject({
      ...{ to: 'paused', by: 'ana', why: 'look first' },
    })
    const last = (await lab.events('state')).at(-1)
    expect(last?.data).toMatchObject({ to: 'paused', cause: 'paused by ana: look first' })
    expect((await lab.run()).waitingFor).toMatchObject({ kind: 'operator' })
  })
})

describe('I7 at every moment of a run', () => {
  test('I7 D4 pause: what was sent is recorded, nothing new; resume repeats nothing', async () => {
    const events = await wholeEvents()
    for (let event = 1; event <= events; event++) {
      const { lab, mail, look, graph } = scene()
      const leaveWhen = at(lab, { [event]: () => code(lab.wish('pause')) })
      const end = await lab.process(graph, null, { ...obeys, leaveWhen })
      await allRecorded(lab, mail)
      if ((await lab.state()) !== 'completed') {
        expect(end).toBe('parked')
        expect(await lab.run()).toMatchObject({ state: 'paused', workerId: null, stop: null })
        const looked = look.sent.length
        await lab.pass(10_000)
        await allRecorded(lab, mail)
        await lab.wish('resume')
        expect(await lab.process(graph, null, obeys)).toBe('ended')
        expect(look.sent.length).toBeLessThanOrEqual(Math.max(1, looked))
      }
      await allRecorded(lab, mail)
      expect(await lab.output()).toHaveLength(3)
    }
  })

  test('I7 D4 cancel: the same, for good', async () => {
    const events = await wholeEvents()
    for (let event = 1; event <= events; event++) {
      const { lab, mail, graph } = scene()
      const leaveWhen = at(lab, { [event]: () => code(lab.wish('cancel')) })
      await lab.process(graph, null, { ...obeys, leaveWhen })
      await allRecorded(lab, mail)
      const state = await lab.state()
      expect(['cancelled', 'completed']).toContain(state)
      await lab.pass(10_000)
      expect(await lab.process(graph, null)).toBe('nothing to claim')
      expect(await code(lab.wish('resume'))).toBe('RUN_ENDED')
    }
  })

  test('D4 a wish outlives the worker that dies between the wish and the transition', async () => {
    const events = await wholeEvents()
    for (const [wish, state] of [
      ['pause', 'paused'],
      ['cancel', 'cancelled'],
    ] as const) {
      for (let event = 2; event < events; event++) {
        for (const later of [1, 3]) {
          const { lab, mail, graph } = scene()
          const killAt = lab.clock.events + event + later
          const leaveWhen = at(lab, { [event]: () => code(lab.wish(wish)) })
          const killWhen = () => lab.clock.events >= killAt
          const end = await lab.process(graph, null, { ...obeys, leaveWhen, killWhen })
          if (end !== 'crash' || (await lab.state()) !== 'running') continue
          const sent = mail.sent.length
          // The next holder obeys before it begins anything.
          expect(await lab.process(graph, null)).toBe('parked')
          expect(await lab.state()).toBe(state)
          expect(mail.sent).toHaveLength(sent)
        }
      }
    }
  })

  test('D4 a dead worker: it takes effect at once, whatever it had under way', async () => {
    for (const [wish, state] of [
      ['pause', 'paused'],
      ['cancel', 'cancelled'],
    ] as const) {
      const { lab, mail, graph } = scene()
      await lab.process(graph, null, { killWhen: () => mail.sent.length > 0 })
      await lab.wish(wish, { dead: true })
      expect(await lab.run()).toMatchObject({ state, workerId: null, stop: null })
      if (wish === 'cancel') continue
      await lab.wish('resume')
      expect(await lab.process(graph, null)).toBe('parked')
      expect(await lab.items()).toHaveLength(2)
      expect(mail.sent).toHaveLength(2)
    }
  })

  test('D4 a cancel that a dead worker owed is not lost to a pause', async () => {
    const { lab, mail, graph } = scene()
    let wished = false
    const leaveWhen = () => {
      if (!wished && mail.sent.length > 0) {
        wished = true
        void lab.wish('cancel')
      }
      return false
    }
    const killWhen = () => wished && mail.sent.length > 0
    expect(await lab.process(graph, null, { leaveWhen, killWhen })).toBe('crash')
    expect((await lab.run()).stop?.to).toBe('cancelled')
    await lab.wish('pause', { dead: true, by: 'bo' })
    expect(await lab.state()).toBe('cancelled')
    expect(await code(lab.wish('resume'))).toBe('RUN_ENDED')
  })

  test('I7 D4 a graph at every moment, between visits too: nothing lost or repeated', async () => {
    const make = () => {
      const lab = new Lab()
      const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 5 })
      const look = fake(lab, 'look', 'pure', { ms: 5 })
      const loop = graph({
        id: 'w@1.0.0',
        state: z.object({ n: z.number() }),
        output: z.number(),
        tools: [mail.tool, look.tool],
        start: 'look',
        nodes: {
          look: {
            checkpoint: 'before_effects',
            run: async (state, ctx) => {
              await ctx.call(look.tool, state.n)
              return ctx.go(state.n % 2 === 0 ? 'send' : 'next')
            },
          },
          send: async (state, ctx) => {
            await ctx.call(mail.tool, state.n)
            return ctx.go('next')
          },
          next: async (state, ctx) =>
            state.n === 3 ? ctx.done(3) : ctx.go('look', { n: state.n + 1 }),
        },
      }) as Graph
      return { lab, mail, loop }
    }
    const whole = make()
    expect(await whole.lab.process(whole.loop, { n: 0 }, obeys)).toBe('ended')
    for (let event = 1; event <= whole.lab.clock.events; event++) {
      const { lab, mail, loop } = make()
      const leaveWhen = at(lab, { [event]: () => code(lab.wish('pause')) })
      await lab.process(loop, { n: 0 }, { obeysMs: 1, leaveWhen })
      if ((await lab.state()) !== 'completed') {
        expect(await lab.state()).toBe('paused')
        await lab.wish('resume')
        expect(await lab.process(loop, { n: 0 }, obeys)).toBe('ended')
      }
      expect(await lab.output()).toBe(3)
      expect(mail.sent.map((each) => each.input)).toEqual([0, 2])
    }
  })

  test('I7 a drain and a wish, each at every moment: what was asked for comes about', async () => {
    const events = await wholeEvents()
    for (let drained = 1; drained < events; drained += 3) {
      for (let wished = 1; wished < events; wished += 3) {
        const { lab, mail, graph } = scene()
        const drain = () => lab.execution?.drain()
        let said = ''
        const wish = async () => {
          said = await code(lab.wish('pause'))
        }
        const acts = drained === wished ? { [drained]: () => [drain(), wish()] } : null
        const leaveWhen = at(lab, acts ?? { [drained]: drain, [wished]: wish })
        await lab.process(graph, null, { ...obeys, leaveWhen })
        await allRecorded(lab, mail)
        const { state, stop } = await lab.run()
        if (said === 'accepted' && state !== 'completed') expect(state).toBe('paused')
        expect(stop).toBe(null)
        if (state === 'paused') await lab.wish('resume')
        if (state !== 'completed') expect(await lab.process(graph, null, obeys)).toBe('ended')
        await allRecorded(lab, mail)
      }
    }
  })
})

describe('D4 against each other', () => {
  const pairs: [Stopping, Stopping, string[]][] = [
    ['pause', 'resume', ['completed']],
    ['pause', 'pause', ['paused']],
    ['pause', 'cancel', ['cancelled']],
    ['cancel', 'pause', ['cancelled']],
    ['cancel', 'resume', ['cancelled']],
    ['cancel', 'cancel', ['cancelled']],
  ]

  test.each(pairs)('D4 I10 %s, then %s, at any two moments', async (first, second, states) => {
    const events = await wholeEvents()
    for (let one = 1; one < events; one += 2) {
      for (const two of [one, one + 1, one + 2, one + 5, one + 9]) {
        const { lab, mail, graph } = scene()
        const both = () => code(lab.wish(first)).then(() => code(lab.wish(second)))
        const acts =
          one === two
            ? { [one]: both }
            : { [one]: () => code(lab.wish(first)), [two]: () => code(lab.wish(second)) }
        const leaveWhen = at(lab, acts)
        await lab.process(graph, null, { ...obeys, leaveWhen })
        // The second may come when the first has taken effect: then it is said to the run at rest.
        if ((await lab.state()) === 'paused' && second !== 'pause') await code(lab.wish(second))
        await lab.process(graph, null, obeys)
        await allRecorded(lab, mail)
        const state = await lab.state()
        if (state !== 'completed') expect(states).toContain(state)
        expect(await lab.run()).toMatchObject({ workerId: null })
      }
    }
  })
})

describe('I10 against decisions and parks', () => {
  /** A question beside a call that takes its time. */
  const asking = (mail: Mail) =>
    flow([mail.tool], async (ctx) => {
      const answer = ctx.approval({ title: 'Go?' })
      await ctx.call(mail.tool, 1)
      return [(await answer).outcome, (await ctx.call(mail.tool, 2)).id]
    })

  test('I10 a decision and a pause at any two moments: neither is lost', async () => {
    const make = () => {
      const lab = new Lab()
      const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 20 })
      return { lab, mail, graph: asking(mail) }
    }
    for (let decided = 5; decided < 40; decided += 2) {
      for (let wished = 3; wished < 40; wished += 2) {
        const { lab, mail, graph } = make()
        let said = false
        const decide = () => {
          lab.decide({ outcome: 'approve' }).then(
            () => {
              said = true
            },
            () => {},
          )
        }
        const wish = () => void code(lab.wish('pause'))
        const acts = decided === wished ? { [wished]: () => [decide(), wish()] } : null
        const leaveWhen = at(lab, acts ?? { [decided]: decide, [wished]: wish })
        const options = { ...obeys, leaveWhen }
        await lab.process(graph, null, options)
        for (let i = 0; i < 4 && (await lab.state()) !== 'completed'; i++) {
          if ((await lab.state()) === 'paused') await lab.wish('resume')
          if ((await lab.state()) === 'waiting_human') {
            expect(said).toBe(false)
            await lab.decide({ outcome: 'approve' })
          }
          await lab.process(graph, null, obeys)
        }
        expect(await lab.output()).toEqual(['approve', 'mail2'])
        await allRecorded(lab, mail)
        expect(await lab.events('asked')).toHaveLength(1)
      }
    }
  })

  test('I10 a decision and then a cancel: the item is not closed over the decision', async () => {
    for (let decided = 5; decided < 24; decided++) {
      for (const later of [0, 1, 2, 4, 8]) {
        const lab = new Lab()
        const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 20 })
        const both = async () => {
          const said = await code(lab.decide({ outcome: 'approve' }))
          if (said === 'accepted') lab.clock.after(later, () => void code(lab.wish('cancel')))
        }
        await lab.process(asking(mail), null, { ...obeys, leaveWhen: at(lab, { [decided]: both }) })
        const decisions = await lab.decisions()
        const items = (await lab.inbox.list({ state: 'decided' })).items
        expect(items).toHaveLength(decisions.length)
        expect(await lab.findings()).toEqual([])
      }
    }
  })

  test('D4 a decision while paused is kept for the resume; an abandon ends it', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay')
    await lab.process(asking(mail), null)
    await lab.wish('pause')
    await lab.decide({ outcome: 'reject' })
    expect(await lab.state()).toBe('paused')
    expect(await lab.process(asking(mail), null)).toBe('nothing to claim')
    await lab.wish('resume')
    expect(await lab.process(asking(mail), null)).toBe('ended')
    expect(await lab.output()).toEqual(['reject', 'mail2'])

    const other = new Lab()
    const post = fake(other, 'mail', 'unsafe_on_replay')
    await other.process(asking(post), null)
    await other.wish('pause')
    await other.decide({ outcome: 'abandon' })
    expect(await other.state()).toBe('failed')
    expect(await code(other.wish('resume'))).toBe('RUN_ENDED')
  })

  test('D4 a pause of a run in doubt: the item stays, the decision counts', async () => {
    const { lab, mail, graph } = scene()
    await lab.process(graph, null, { killWhen: () => mail.sent.length === 2 })
    expect(await lab.process(graph, null)).toBe('parked')
    const items = await lab.items()
    await lab.wish('pause')
    expect(await lab.items()).toEqual(items)
    for (const item of items) {
      const { itemId, version } = item
      const result = { id: `seen ${item.body.input}` }
      const request = { outcome: 'happened', by: 'ana', reason: 'r', version, result } as const
      await lab.inbox.decide(itemId, request)
    }
    await lab.wish('resume')
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.output()).toEqual(['seen 1', 'seen 2', 'mail3'])
  })

  test('D4 a cancel that races with a doubt closes the item just made', async () => {
    const { lab, mail, graph } = scene()
    await lab.process(graph, null, { killWhen: () => mail.sent.length === 2 })
    for (let event = 1; event < 12; event++) {
      const copy = scene()
      await copy.lab.process(copy.graph, null, { killWhen: () => copy.mail.sent.length === 2 })
      const leaveWhen = at(copy.lab, { [event]: () => code(copy.lab.wish('cancel')) })
      await copy.lab.process(copy.graph, null, { ...obeys, leaveWhen })
      if ((await copy.lab.state()) !== 'cancelled') await copy.lab.wish('cancel')
      expect(await copy.lab.state()).toBe('cancelled')
      expect(await copy.lab.items()).toEqual([])
      expect(copy.mail.sent).toHaveLength(2)
    }
  })
})
