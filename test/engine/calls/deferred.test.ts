// Asynchronous tools: the call ends by a callback, exactly once, whenever it comes. And long calls
// that are heard of while they work.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { CallInfo, ReplayClass } from '../../../src/model/tool/tool.ts'
import { atEveryEvent, fake, flow, Lab, work } from '../../lab.ts'

const HOUR = 3_600_000

function deferring(replayClass: ReplayClass, ms = 50, rules: object = {}) {
  const lab = new Lab()
  const tokens: string[] = []
  const order = fake<{ id: string }>(lab, 'order', replayClass, {
    ms,
    ...rules,
    callbackMs: HOUR,
    does: (_n: number, _input: unknown, call: CallInfo) => {
      tokens.push(call.defer())
    },
  })
  const graph = flow([order.tool], (ctx) => ctx.call(order.tool, { item: 7 }))
  return { lab, order, graph, tokens }
}

const token = (tokens: readonly string[], nth = 0) => tokens[nth] ?? 'none'

describe('callbacks', () => {
  test('D5 D3 the run parks until its upstream calls back, and settles once', async () => {
    const { lab, graph, tokens, order } = deferring('unsafe_on_replay')
    await lab.start(graph)
    await lab.serve([graph])
    expect(await lab.run()).toMatchObject({ state: 'waiting_tool', workerId: null })
    expect((await lab.run()).waitingFor).toMatchObject({ kind: 'callback', names: ['order'] })
    const callbacks = lab.callbacks([graph])
    expect(await callbacks.settle(token(tokens), { id: 'o1' })).toEqual({ status: 'settled' })
    expect(await callbacks.settle(token(tokens), { id: 'o1' })).toEqual({ status: 'repeated' })
    expect(await callbacks.settle(token(tokens), { id: 'o2' })).toEqual({ status: 'too_late' })
    await lab.serve([graph])
    expect(await lab.output()).toEqual({ id: 'o1' })
    expect(await callbacks.settle(token(tokens), { id: 'o1' })).toEqual({ status: 'repeated' })
    expect(order.sent.length).toBe(1)
    expect(await lab.findings()).toEqual([])
  })

  test('I10 D5 a callback at any moment, before the park or after it, is never lost', async () => {
    const probe = deferring('unsafe_on_replay', 200)
    await probe.lab.start(probe.graph)
    await probe.lab.serve([probe.graph])
    const moments = probe.lab.clock.events + 2
    for (let at = 0; at <= moments; at++) {
      const { lab, graph, tokens, order } = deferring('unsafe_on_replay', 200)
      await lab.start(graph)
      let said: Promise<{ status: string }> | null = null
      const killWhen = () => {
        if (lab.clock.events < at || tokens.length === 0) return false
        said ??= lab.callbacks().settle(token(tokens), { id: 'o1' })
        return false
      }
      await lab.serve([graph], { killWhen })
      said ??= lab.callbacks().settle(token(tokens), { id: 'o1' })
      expect([at, (await said).status]).toEqual([at, 'settled'])
      await lab.serve([graph])
      expect([at, await lab.state(), await lab.output()]).toEqual([at, 'completed', { id: 'o1' }])
      expect(order.sent.length).toBe(1)
    }
  })

  test('I5 D5 killed at every event, an unsafe call that was deferred is sent once', async () => {
    await atEveryEvent(async (kill) => {
      const { lab, graph, tokens, order } = deferring('unsafe_on_replay')
      await lab.start(graph)
      const end = await lab.serve([graph], { killWhen: kill.in(lab) })
      if (end === 'crash') await lab.serve([graph])
      if (tokens.length > 0) await lab.callbacks().settle(token(tokens), { id: 'o1' })
      await lab.serve([graph])
      if (tokens.length === 0 && order.sent.length === 0) {
        // Killed between intent and dispatch: nobody has a token, so the deadline decides.
        if ((await lab.state()) === 'waiting_tool') {
          await lab.pass(HOUR)
          await lab.serve([graph])
          expect(await lab.state()).toBe('waiting_human')
        }
      }
      expect(order.sent.length).toBeLessThan(2)
      if (tokens.length > 0) expect(await lab.output()).toEqual({ id: 'o1' })
    })
  })

  test('D5 C1 past its deadline an unsafe call is a doubt; a late callback closes it', async () => {
    const { lab, graph, tokens } = deferring('unsafe_on_replay')
    await lab.start(graph)
    await lab.serve([graph])
    await lab.pass(HOUR)
    await lab.serve([graph])
    expect(await lab.state()).toBe('waiting_human')
    expect((await lab.item()).reason).toBe('unknown')
    const said = await lab.callbacks().settle(token(tokens), { id: 'o1' })
    expect(said.status).toBe('settled')
    expect(await lab.items()).toEqual([])
    await lab.serve([graph])
    expect(await lab.output()).toEqual({ id: 'o1' })
  })

  test('I11 D5 after a decision a callback is too late, and a conflict is on record', async () => {
    const { lab, graph, tokens } = deferring('unsafe_on_replay')
    await lab.start(graph)
    await lab.serve([graph])
    await lab.pass(HOUR)
    await lab.serve([graph])
    await lab.decide({ outcome: 'fail' })
    const said = await lab.callbacks().settle(token(tokens), { id: 'o1' })
    expect(said.status).toBe('too_late')
    expect((await lab.events('evidence_conflict')).length).toBe(1)
    await lab.serve([graph])
    expect(await lab.state()).toBe('failed')
  })

  test('D5 C1 past its deadline a keyed call is sent again; either token settles', async () => {
    const { lab, graph, tokens, order } = deferring('idempotent_with_key')
    await lab.start(graph)
    await lab.serve([graph])
    await lab.pass(HOUR)
    await lab.serve([graph])
    expect(order.sent.map((one) => one.key)).toEqual(['key-order', 'key-order'])
    expect(await lab.state()).toBe('waiting_tool')
    expect((await lab.callbacks().settle(token(tokens), { id: 'o1' })).status).toBe('settled')
    await lab.serve([graph])
    expect(await lab.output()).toEqual({ id: 'o1' })
  })

  test('D5 G2 an upstream that refuses fails the call for certain', async () => {
    const { lab, graph, tokens } = deferring('unsafe_on_replay')
    await lab.start(graph)
    await lab.serve([graph])
    await lab.callbacks().fail(token(tokens), 'out of stock')
    await lab.serve([graph])
    expect(await lab.state()).toBe('failed')
    expect((await lab.error()).message).toContain('out of stock')
  })

  test('D5 A5 a result that does not fit the tool is refused; the next one settles', async () => {
    const { lab, graph, tokens } = deferring('unsafe_on_replay', 50, {
      output: z.object({ id: z.string() }),
    })
    await lab.start(graph)
    await lab.serve([graph])
    const callbacks = lab.callbacks([graph])
    const wrong = callbacks.settle(token(tokens), { id: 7 })
    await expect(wrong).rejects.toMatchObject({ code: 'OUTPUT_INVALID' })
    expect(await lab.run()).toMatchObject({ state: 'waiting_tool' })
    expect(await callbacks.settle(token(tokens), { id: 'o1' })).toEqual({ status: 'settled' })
    await lab.serve([graph])
    expect(await lab.output()).toEqual({ id: 'o1' })
  })

  test('D5 an unknown token, a bad result and a tool without callbackMs are refused', async () => {
    const { lab, graph, tokens } = deferring('unsafe_on_replay')
    await lab.start(graph)
    await lab.serve([graph])
    const code = (promise: Promise<unknown>) =>
      promise.then(
        () => 'done',
        (error: { code?: string }) => error.code,
      )
    const callbacks = lab.callbacks([graph])
    expect(await code(callbacks.settle('cb_wrong', 1))).toBe('CALLBACK_UNKNOWN')
    expect(await code(callbacks.settle('', 1))).toBe('CALLBACK_UNKNOWN')
    expect(await code(callbacks.settle(token(tokens), Number.NaN))).not.toBe('done')
    expect(await lab.state()).toBe('waiting_tool')
    const plain = new Lab()
    const hasty = fake(plain, 'hasty', 'pure', { does: (_n, _i, call) => call.defer() })
    const failing = flow([hasty.tool], (ctx) => ctx.call(hasty.tool, {}))
    await plain.start(failing)
    await plain.serve([failing])
    expect((await plain.error()).message).toContain('callbackMs')
  })
})

describe('heartbeats', () => {
  const beating = (silentAfter: number) => {
    const lab = new Lab()
    const long = fake(lab, 'long', 'unsafe_on_replay', {
      ms: 0,
      heartbeatMs: 5_000,
      timeoutMs: undefined,
      does: async (_n, _input, call) => {
        for (let part = 1; part <= 20; part++) {
          await work(lab, 4_000)
          if (part <= silentAfter) call.heartbeat({ part })
        }
        return { id: 'l1' }
      },
    })
    const graph = flow([long.tool], (ctx) => ctx.call(long.tool, {}))
    return { lab, graph }
  }

  test('D5 a long call that is heard of takes as long as it needs', async () => {
    const { lab, graph } = beating(20)
    await lab.start(graph)
    await lab.serve([graph])
    expect(await lab.output()).toEqual({ id: 'l1' })
    const [attempt] = await lab.attempts()
    expect(attempt?.beatJson).toBe('{"part":20}')
  })

  /** One branch waits for a callback that has to be heard of, the other is busy meanwhile. */
  async function beside(say: (lab: Lab, token: string, atMs: number) => Promise<unknown>) {
    const { lab, tokens, order } = deferring('unsafe_on_replay', 10, { heartbeatMs: 2_000 })
    const slow = fake(lab, 'slow', 'pure', { ms: 5_000 })
    const graph = flow([order.tool, slow.tool], async (ctx) => {
      const both = [ctx.call(order.tool, {}), ctx.call(slow.tool, {})] as const
      return (await Promise.all(both))[0]
    })
    for (const atMs of [1_500, 3_000, 4_500]) {
      lab.clock.after(atMs, () => void say(lab, token(tokens), atMs))
    }
    // Nobody hears in this process: only the deadline itself looks.
    await lab.process(graph, null)
    return { lab, graph }
  }

  test('D5 an upstream that is heard of while its run is busy is not taken for lost', async () => {
    const beat = (lab: Lab, of: string, atMs: number) => lab.callbacks().heartbeat(of, { atMs })
    const { lab } = await beside(beat)
    expect(await lab.items()).toEqual([])
    expect(await lab.state()).toBe('waiting_tool')
    expect((await lab.attempts()).some(({ beatJson }) => beatJson !== null)).toBe(true)
  })

  test('D5 a callback that came in time is no doubt, though nobody had looked', async () => {
    const settle = (lab: Lab, of: string) => lab.callbacks().settle(of, { id: 'o1' })
    const { lab } = await beside(settle)
    expect(await lab.events('doubt')).toEqual([])
    expect(await lab.output()).toEqual({ id: 'o1' })
    const { items } = await lab.inbox.list({ state: 'closed' })
    expect(items).toEqual([])
  })

  test('D5 one that falls silent is in doubt, with its last words', async () => {
    const { lab, graph } = beating(3)
    await lab.start(graph)
    await lab.serve([graph])
    expect(await lab.state()).toBe('waiting_human')
    const view = await lab.inbox.get((await lab.item()).itemId)
    expect(view.attempts[0]?.beatJson).toBe('{"part":3}')
  })
})
