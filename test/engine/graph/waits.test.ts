// Sleeps and signals: a run that waits holds nothing, and nothing that comes for it is lost (I10).
import { describe, expect, test } from 'vitest'
import { isCounterfoilError } from '../../../src/model/errors.ts'
import { atEveryEvent, fake, flow, Lab } from '../../lab.ts'

const HOUR = 3_600_000

describe('sleep', () => {
  function life() {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay')
    const graph = flow([mail.tool], async (ctx) => {
      const from = await ctx.now()
      await ctx.sleep(72 * HOUR)
      const to = await ctx.now()
      await ctx.call(mail.tool, { to: 'ana' })
      return to - from
    })
    return { lab, mail, graph }
  }

  test('D3 D5 a run that sleeps for days holds no worker, and goes on at its time', async () => {
    const { lab, mail, graph } = life()
    await lab.start(graph)
    await lab.serve([graph])
    expect(await lab.run()).toMatchObject({ state: 'waiting_tool', workerId: null })
    expect((await lab.run()).waitingFor).toMatchObject({ kind: 'timer' })
    await lab.pass(71 * HOUR)
    await lab.serve([graph])
    expect(await lab.state()).toBe('waiting_tool')
    await lab.pass(1 * HOUR)
    await lab.serve([graph])
    expect(await lab.state()).toBe('completed')
    expect(mail.sent.length).toBe(1)
    expect(await lab.findings()).toEqual([])
  })

  test('D5 C5 killed at every event, a sleep ends when it first said it would', async () => {
    const events = await atEveryEvent(async (kill) => {
      const { lab, mail, graph } = life()
      await lab.start(graph)
      const end = await lab.serve([graph], { killWhen: kill.in(lab) })
      if (end === 'crash') await lab.serve([graph])
      await lab.pass(72 * HOUR)
      await lab.serve([graph])
      expect(await lab.state()).toBe('completed')
      expect(mail.sent.length).toBe(1)
      // The dead process may have lost an unwritten beginning of the sleep, never more.
      expect(await lab.output()).toBeGreaterThanOrEqual(72 * HOUR)
      expect(await lab.output()).toBeLessThan(72 * HOUR + 10_000)
    })
    expect(events).toBeGreaterThan(5)
  })

  test('D5 a short sleep is waited for where it is; a race ends as it did first', async () => {
    await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const slow = fake(lab, 'slow', 'pure', { ms: 400 })
      const mail = fake(lab, 'mail', 'unsafe_on_replay')
      const graph = flow([slow.tool, mail.tool], async (ctx) => {
        const call = ctx.call(slow.tool, {}).then(() => 'call')
        const first = await Promise.race([call, ctx.sleep(100).then(() => 'sleep')])
        await ctx.call(mail.tool, { first })
        await call
        return first
      })
      await lab.start(graph)
      const end = await lab.serve([graph], { killWhen: kill.in(lab) })
      if (end === 'crash') await lab.serve([graph])
      const state = await lab.state()
      expect(['completed', 'waiting_human']).toContain(state)
      if (state === 'completed') expect(mail.sent.length).toBe(1)
      expect(mail.sent.length).toBeLessThan(2)
    })
  })

  test('D5 bad times are refused with what to do', async () => {
    const lab = new Lab()
    const graph = flow([], async (ctx) => ctx.sleep(Number.NaN))
    await lab.start(graph)
    await lab.serve([graph])
    expect((await lab.error()).message).toContain('ctx.sleep needs milliseconds')
  })
})

describe('signals', () => {
  const graph = flow([], async (ctx) => {
    const first = await ctx.signal<number>('paid')
    const second = await ctx.signal<number>('paid', { timeoutMs: HOUR })
    return [first.data, second?.data ?? null]
  })

  test('I10 D5 sent at any moment, a signal is never lost and never taken twice', async () => {
    const probe = new Lab()
    await probe.start(graph)
    await probe.serve([graph])
    const moments = probe.clock.events + 2
    for (let at = 0; at <= moments; at++) {
      const lab = new Lab()
      await lab.start(graph)
      const send = async () => {
        await lab.signal('paid', 1, 'a')
        await lab.signal('paid', 2, 'b')
      }
      let sent: Promise<void> | null = null
      const killWhen = () => {
        if (lab.clock.events >= at) sent ??= send()
        return false
      }
      await lab.serve([graph], { killWhen })
      sent ??= send()
      await sent
      await lab.serve([graph])
      expect([at, await lab.state(), await lab.output()]).toEqual([at, 'completed', [1, 2]])
    }
    expect(moments).toBeGreaterThan(5)
  })

  test('I10 D5 killed at any event between two signals, each is taken once, in order', async () => {
    await atEveryEvent(async (kill) => {
      const lab = new Lab()
      await lab.start(graph)
      await lab.signal('paid', 1, 'a')
      const end = await lab.serve([graph], { killWhen: kill.in(lab) })
      await lab.signal('paid', 2, 'b')
      if (end === 'crash') await lab.serve([graph])
      await lab.serve([graph])
      expect(await lab.output()).toEqual([1, 2])
      expect(await lab.findings()).toEqual([])
    })
  })

  test('D5 a signal that is not in time is null; a late one waits for the next', async () => {
    const lab = new Lab()
    const patient = flow([], async (ctx) => {
      const early = await ctx.signal('go', { timeoutMs: HOUR })
      const late = await ctx.signal('go')
      return [early, late.data]
    })
    await lab.start(patient)
    await lab.serve([patient])
    await lab.pass(HOUR)
    await lab.serve([patient])
    expect(await lab.state()).toBe('waiting_tool')
    await lab.signal('go', 'late')
    await lab.serve([patient])
    expect(await lab.output()).toEqual([null, 'late'])
  })

  test('D5 the same id twice is one signal; with other data it is refused', async () => {
    const lab = new Lab()
    await lab.start(graph)
    expect(await lab.signal('paid', 1, 'a')).toEqual({ id: 'a', created: true })
    expect(await lab.signal('paid', 1, 'a')).toEqual({ id: 'a', created: false })
    const other = await lab.signal('paid', 2, 'a').catch((error: unknown) => error)
    expect(isCounterfoilError(other, 'SIGNAL_EXISTS')).toBe(true)
    await lab.serve([graph])
    expect(await lab.state()).toBe('waiting_tool')
    // Also after it was taken.
    expect(await lab.signal('paid', 1, 'a')).toEqual({ id: 'a', created: false })
    await lab.serve([graph])
    expect(await lab.state()).toBe('waiting_tool')
  })

  test('D5 a signal reaches a branch while another is busy', async () => {
    const lab = new Lab()
    const slow = fake(lab, 'slow', 'pure', { ms: 60_000, timeoutMs: 100_000 })
    const busy = flow([slow.tool], async (ctx) => {
      const call = ctx.call(slow.tool, {})
      const stopped = await Promise.race([call.then(() => 'done'), ctx.signal('stop')])
      const at = await ctx.now()
      await call
      return [typeof stopped, at]
    })
    await lab.start(busy)
    const from = lab.clock.now()
    let sent = false
    const killWhen = () => {
      if (!sent && lab.clock.now() >= from + 1_000) {
        sent = true
        void lab.signal('stop')
      }
      return false
    }
    await lab.serve([busy], { killWhen })
    const [kind, at] = (await lab.output()) as [string, number]
    expect(kind).toBe('object')
    expect(at - from).toBeLessThan(2_000)
  })

  test('D5 a signal that came in time counts, though nobody had looked', async () => {
    const lab = new Lab()
    const slow = fake(lab, 'slow', 'pure', { ms: 5_000 })
    const busy = flow([slow.tool], async (ctx) => {
      const both = [ctx.signal('go', { timeoutMs: 2_000 }), ctx.call(slow.tool, {})] as const
      return (await Promise.all(both))[0]?.data ?? 'none'
    })
    lab.clock.after(1_000, () => void lab.signal('go', 'in time'))
    // Nobody hears in this process: only the deadline itself looks.
    expect(await lab.process(busy, null)).toBe('ended')
    expect(await lab.output()).toBe('in time')
  })

  test('D5 a node that has returned ends, whatever sleeps and signals are open', async () => {
    await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const mail = fake(lab, 'mail', 'unsafe_on_replay')
      const graph = flow([mail.tool], async (ctx) => {
        const first = await Promise.race([
          ctx.signal('go').then(() => 'signal'),
          ctx.sleep(HOUR).then(() => 'time'),
        ])
        await ctx.call(mail.tool, { first })
        return first
      })
      await lab.start(graph)
      await lab.signal('go')
      const end = await lab.serve([graph], { killWhen: kill.in(lab) })
      if (end === 'crash') await lab.serve([graph])
      if (await lab.items().then((items) => items.length > 0)) {
        await lab.decide({ outcome: 'happened', result: { id: 'm' } })
        await lab.serve([graph])
      }
      expect([await lab.state(), await lab.output()]).toEqual(['completed', 'signal'])
      expect(mail.sent.length).toBeLessThan(2)
      expect(await lab.findings()).toEqual([])
    })
  })

  test('D5 bad signals are refused, and nothing is written', async () => {
    const lab = new Lab()
    await lab.start(graph)
    const code = async (sent: Promise<unknown>) =>
      sent.then(
        () => 'sent',
        (error: { code?: string }) => error.code,
      )
    expect(await code(lab.signal('no name!', 1))).toBe('SIGNAL_INVALID')
    expect(await code(lab.signal('paid', 'x'.repeat(70_000)))).toBe('SIGNAL_INVALID')
    expect(await code(lab.signal('paid', 1, 'a\u0000b'))).toBe('SIGNAL_INVALID')
    expect(await code(lab.signal('paid', Number.NaN))).not.toBe('sent')
    expect((await lab.run()).arrivals).toBe(0)
    await lab.wish('cancel')
    expect(await code(lab.signal('paid', 1))).toBe('RUN_ENDED')
  })
})
