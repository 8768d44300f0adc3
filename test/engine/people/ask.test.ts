// Questions, recorded time and randomness, log lines, steps, plain data.
import { expect, test } from 'vitest'
import { fake, flow, Lab, work } from '../../lab.ts'

test('D1 C5 ask parks in waiting_human and is never repeated, though its data moves', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay')
  const graph = flow([send.tool], async (ctx) => {
    const data = { at: lab.clock.now() }
    const { answer, by, reason } = await ctx.ask({ title: 'Go?', data, queue: 'sales' })
    return [answer, by, reason, (await ctx.call(send.tool, answer)).id]
  })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(await lab.state()).toBe('waiting_human')
  expect(await lab.item()).toMatchObject({ kind: 'question', title: 'Go?', queue: 'sales' })
  await lab.decide({ outcome: 'respond', result: { yes: true } })
  await lab.process(graph, null, { killWhen: () => send.sent.length === 1 })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(await lab.item()).toMatchObject({ kind: 'doubt', reason: 'unknown' })
  await lab.decide({ outcome: 'happened', result: { id: 's' } })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual([{ yes: true }, 'tester', 'looked', 's'])
  expect(await lab.events('asked')).toHaveLength(1)
  expect(send.sent).toHaveLength(1)
})

test('D1 I7 other branches go on while a question waits; only then the visit parks', async () => {
  const lab = new Lab()
  const step = fake(lab, 'step', 'unsafe_on_replay', { ms: 100 })
  const graph = flow([step.tool], async (ctx) => {
    const asked = ctx.ask({ title: 'Go?' })
    for (let i = 0; i < 5; i++) await ctx.call(step.tool, i)
    return (await asked).answer
  })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(step.sent).toHaveLength(5)
  expect((await lab.records()).filter((row) => row.status === 'committed')).toHaveLength(5)
  await lab.decide({ outcome: 'respond', result: 'ok' })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(step.sent).toHaveLength(5)
})

test('I10 an answer that comes while the visit is busy is not lost: no park over it', async () => {
  const lab = new Lab()
  const step = fake(lab, 'step', 'unsafe_on_replay', { ms: 1_000 })
  const graph = flow([step.tool], async (ctx) => {
    const asked = ctx.ask({ title: 'Go?' })
    await ctx.call(step.tool, 1)
    return (await asked).answer
  })
  let said: Promise<void> | null = null
  const leaveWhen = () => {
    // Half a second into the call somebody answers.
    if (said === null && step.sent.length === 1) {
      lab.clock.after(500, () => {
        said = lab.decide({ outcome: 'respond', result: 'in time' })
      })
      said = Promise.resolve()
    }
    return false
  }
  expect(await lab.process(graph, null, { leaveWhen })).toBe('ended')
  await said
  expect(await lab.output()).toBe('in time')
  expect(step.sent).toHaveLength(1)
  expect(await lab.items()).toEqual([])
})

test('I10 an answer in the very moment of the park is not lost', async () => {
  const lab = new Lab()
  const graph = flow([], async (ctx) => (await ctx.ask({ title: 'Go?' })).answer)
  let done = false
  const end = await lab.process(graph, null, {
    commit: async (batch, apply) => {
      if (!done && (await lab.items()).length > 0) {
        done = true
        await lab.decide({ outcome: 'respond', result: 'now' })
      }
      const parks = batch.some((each) => each.changes.run?.state === 'waiting_human')
      const results = await apply()
      // The question and the park may be one commit: then the answer comes after it.
      if (!done && parks && results[0] === 'done') {
        done = true
        await lab.decide({ outcome: 'respond', result: 'now' })
      }
      return results
    },
  })
  expect(['parked', 'ended']).toContain(end)
  if (end === 'parked') expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('now')
})

test('C5 fail of a question throws to the node; the next is asked all the same', async () => {
  const lab = new Lab()
  const graph = flow([], async (ctx) => {
    try {
      await ctx.ask({ title: 'First?' })
    } catch (error) {
      const { code } = error as { code: string }
      return [code, (await ctx.ask({ title: 'Second?' })).answer]
    }
    return 'no'
  })
  await lab.process(graph, null)
  await lab.decide({ outcome: 'fail' })
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.item()).title).toBe('Second?')
  await lab.decide({ outcome: 'respond', result: 2 })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['CALL_FAILED', 2])
})

test('D1 abandon of a question fails the run and closes the others', async () => {
  const lab = new Lab()
  const graph = flow([], (ctx) => Promise.all([ctx.ask({ title: 'A?' }), ctx.ask({ title: 'B?' })]))
  await lab.process(graph, null)
  expect(await lab.items()).toHaveLength(2)
  await lab.decide({ outcome: 'abandon' })
  expect(await lab.state()).toBe('failed')
  expect(await lab.items()).toEqual([])
})

test('I10 two questions: one answer wakes the run, which parks again on the other', async () => {
  const lab = new Lab()
  const graph = flow([], async (ctx) => {
    const both = await Promise.all([ctx.ask({ title: 'A?' }), ctx.ask({ title: 'B?' })])
    return both.map((each) => each.answer)
  })
  await lab.process(graph, null)
  const [first, second] = await lab.items()
  await lab.decide({ outcome: 'respond', result: 'a' })
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.items()).map((each) => each.itemId)).toEqual([second?.itemId])
  expect(second?.itemId).not.toBe(first?.itemId)
  await lab.decide({ outcome: 'respond', result: 'b' })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['a', 'b'])
  expect(await lab.events('asked')).toHaveLength(2)
})

test('C5 a question in the inbox survives a crash as the same item', async () => {
  const lab = new Lab()
  const slow = fake(lab, 'slow', 'pure', { ms: 2_000 })
  const graph = flow([slow.tool], async (ctx) => {
    const asked = ctx.ask({ title: 'Go?', data: lab.clock.now() })
    await ctx.call(slow.tool, 1)
    return (await asked).answer
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('counterfoil.ask', 'pending') })
  const before = await lab.item()
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.items()).map((each) => each.itemId)).toEqual([before.itemId])
  await lab.decide({ outcome: 'respond', result: 1 })
  expect(await lab.process(graph, null)).toBe('ended')
})

test('D9 a question without a title, or with data that is not plain, is refused', async () => {
  const lab = new Lab()
  const graph = flow([], async (ctx) => {
    const codes: string[] = []
    for (const bad of [{ title: '' }, { title: 'Go?', data: { at: new Date(0) } }]) {
      try {
        await ctx.ask(bad)
      } catch (error) {
        codes.push((error as { code: string }).code)
      }
    }
    return codes
  })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['INPUT_INVALID', 'NOT_PLAIN_DATA'])
})

test('C5 now, random and uuid replay the values that the first execution saw', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay')
  const seen: unknown[] = []
  const graph = flow([send.tool], async (ctx) => {
    const values = [await ctx.now(), await ctx.random(), await ctx.random(), await ctx.uuid()]
    seen.push(values)
    return (await ctx.call(send.tool, values)).id
  })
  await lab.process(graph, null, { killWhen: () => send.sent.length === 1 })
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.item()).reason).toBe('unknown')
  expect(seen).toHaveLength(2)
  expect(seen[1]).toEqual(seen[0])
  const [, one, two] = seen[0] as number[]
  expect(one).not.toBe(two)
})

test('C9 a log line is said once, however often the node is replayed', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay', { ms: 100 })
  const graph = flow([send.tool], async (ctx) => {
    ctx.log('before', { n: 1 })
    await ctx.call(send.tool, 1)
    ctx.log('after')
    await work(lab, 100)
    await ctx.call(send.tool, 2)
  })
  await lab.process(graph, null, { killWhen: () => send.sent.length === 1 })
  await lab.process(graph, null)
  await lab.decide({ outcome: 'happened', result: 1 })
  await lab.process(graph, null, { killWhen: () => send.sent.length === 2 })
  await lab.process(graph, null)
  await lab.decide({ outcome: 'happened', result: 2 })
  expect(await lab.process(graph, null)).toBe('ended')
  const lines = (await lab.events('log')).map((event) => event.data)
  expect(lines).toEqual([
    { message: 'before', data: { n: 1 } },
    { message: 'after', data: null },
  ])
})

test('C9 a log line says what was true at its line, though its object changes', async () => {
  const lab = new Lab()
  const graph = flow([], async (ctx) => {
    const data = { n: 1 }
    ctx.log('now', data)
    data.n = 2
    await work(lab, 100)
  })
  await lab.process(graph, null)
  expect((await lab.events('log'))[0]?.data).toEqual({ message: 'now', data: { n: 1 } })
})

test('C5 a step is a call like any other: recorded, replayed, in doubt', async () => {
  const lab = new Lab()
  let ran = 0
  const graph = flow([], (ctx) =>
    ctx.step({ name: 'post', replayClass: 'unsafe_on_replay', input: { a: 1 } }, async (input) => {
      ran++
      await work(lab, 100)
      return { got: input }
    }),
  )
  await lab.process(graph, null, { killWhen: () => ran === 1 })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(await lab.item()).toMatchObject({ reason: 'unknown', body: { input: { a: 1 } } })
  await lab.decide({ outcome: 'did_not_happen' })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual({ got: { a: 1 } })
  expect(ran).toBe(2)
})

test('A3 a keyed step is sent again with its recorded key', async () => {
  const lab = new Lab()
  const keys: (string | null)[] = []
  const rules = { replayClass: 'idempotent_with_key', keyTtlMs: Number.POSITIVE_INFINITY } as const
  const graph = flow([], (ctx) => {
    const idempotencyKey = () => `${ctx.runId}-${lab.clock.now() > 1_000_500 ? 'moved' : 'first'}`
    return ctx.step({ name: 'put', ...rules, idempotencyKey, input: 1 }, async (_input, call) => {
      keys.push(call.idempotencyKey)
      await work(lab, 100)
      return 'ok'
    })
  })
  await lab.process(graph, null, { killWhen: () => keys.length === 1 })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(keys).toEqual(['lab-first', 'lab-first'])
  expect(await lab.events('key_moved')).toHaveLength(1)
})

test('A1 a step without a class, or with the name of a tool, is refused', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'pure')
  const graph = flow([send.tool], async (ctx) => {
    const codes: string[] = []
    const specs = [
      { name: 'send', replayClass: 'pure' },
      { name: 'counterfoil.x', replayClass: 'pure' },
      { name: 'x' },
    ]
    for (const spec of specs) {
      try {
        await ctx.step(spec as { name: string; replayClass: 'pure' }, () => 1)
      } catch (error) {
        codes.push((error as { code: string }).code)
      }
    }
    return codes
  })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['TOOL_INVALID', 'TOOL_INVALID', 'TOOL_INVALID'])
  expect(await lab.records()).toEqual([])
})

test('A1 a tool that the graph does not declare is refused: it says what to add', async () => {
  const lab = new Lab()
  const stranger = fake(lab, 'stranger', 'unsafe_on_replay')
  const graph = flow([], (ctx) => ctx.call(stranger.tool, 1))
  await lab.process(graph, null)
  expect(await lab.error()).toMatchObject({ code: 'TOOL_UNDECLARED' })
  expect((await lab.error()).message).toMatch(/tools: \[stranger\]/)
  expect(stranger.sent).toEqual([])
})

test('D9 inputs and outputs that are not plain data are refused with their path', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay')
  const graph = flow([send.tool], async (ctx) => {
    const bad = [{ a: [1, new Map()] }, { b: () => 1 }, { c: { d: Number.NaN } }, [1, undefined]]
    const paths: string[] = []
    for (const input of bad) {
      await ctx.call(send.tool, input).catch((error) => paths.push(error.details.path))
    }
    ctx.log('paths', paths)
    return { nested: { when: new Date(0) } }
  })
  expect(await lab.process(graph, null)).toBe('ended')
  const paths = ['$.a[1]', '$.b', '$.c.d', '$[1]']
  expect(await lab.events('log')).toMatchObject([{ data: { data: paths } }])
  expect(await lab.state()).toBe('failed')
  expect(await lab.error()).toMatchObject({ code: 'NOT_PLAIN_DATA' })
  expect((await lab.error()).message).toMatch(/^\$\.nested\.when/)
  expect(send.sent).toEqual([])
})
