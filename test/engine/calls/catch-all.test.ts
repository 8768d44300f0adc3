// User code that catches everything, goes on after a park, or leaves branches alone.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { open, tool, workflow } from '../../../src/index.ts'
import { library } from '../../cli/module.ts'
import { fake, flow, Lab, work } from '../../lab.ts'

const boom = (message: string) => () => {
  throw new Error(message)
}

test('I7 C2 `while (true) try`: an engine that throws at a park would loop for ever', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay', { does: boom('connection reset') })
  let caught = 0
  let rounds = 0
  const graph = flow([send.tool], async (ctx) => {
    while (true) {
      rounds++
      try {
        return await ctx.call(send.tool, 1)
      } catch {
        if (++caught > 20) throw new Error('caught too often')
      }
    }
  })
  expect(await lab.process(graph, null)).toBe('parked')
  await lab.pass(10_000)
  expect([send.sent.length, caught, rounds]).toEqual([1, 0, 1])
  expect(await lab.item()).toMatchObject({ reason: 'unknown' })
  expect((await lab.item()).body.error?.code).toBe('REPLAY_UNSAFE')
  await lab.decide({ outcome: 'happened', result: 'yes' })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('yes')
  expect([send.sent.length, caught]).toEqual([1, 0])
})

test('I7 a finally block and the code after a parked call send nothing', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay', { does: boom('reset') })
  const clean = fake(lab, 'clean', 'unsafe_on_replay')
  const graph = flow([send.tool, clean.tool], async (ctx) => {
    try {
      await ctx.call(send.tool, 1)
    } catch {
      await ctx.call(clean.tool, 'caught')
    } finally {
      await ctx.call(clean.tool, 'finally')
    }
    return 'over'
  })
  expect(await lab.process(graph, null)).toBe('parked')
  await lab.pass(10_000)
  expect(clean.sent).toEqual([])
  await lab.decide({ outcome: 'happened', result: 1 })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(clean.sent.map((each) => each.input)).toEqual(['finally'])
  expect(send.sent).toHaveLength(1)
})

test('I7 while parking: what is out is recorded, nothing new is, its end is dropped', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay', { ms: 10, does: boom('reset') })
  const slow = fake(lab, 'slow', 'unsafe_on_replay', { ms: 500 })
  const late = fake(lab, 'late', 'unsafe_on_replay')
  const key = fake(lab, 'key', 'idempotent_with_key')
  const read = fake(lab, 'read', 'pure')
  const tools = [send.tool, slow.tool, late.tool, key.tool, read.tool]
  let patience = true
  const graph = flow(tools, async (ctx) => {
    const both = Promise.all([ctx.call(send.tool, 1), ctx.call(slow.tool, 1)])
    if (patience) await Promise.race([both, work(lab, 100)])
    else await both
    void ctx.call(late.tool, 1)
    void ctx.call(key.tool, 1)
    void ctx.call(read.tool, 1)
    return 'early'
  })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(await lab.state()).toBe('waiting_human')
  expect([late.sent, key.sent, read.sent]).toEqual([[], [], []])
  const rows = await lab.records()
  expect(rows.map((row) => [row.tool, row.status])).toEqual([
    ['send', 'in_doubt'],
    ['slow', 'committed'],
  ])
  await lab.pass(1_000)
  expect(await lab.state()).toBe('waiting_human')
  patience = false
  await lab.decide({ outcome: 'happened', result: 1 })
  expect(await lab.process(graph, null)).toBe('ended')
  expect([slow.sent.length, late.sent.length, key.sent.length, read.sent.length]).toEqual([
    1, 1, 1, 1,
  ])
})

test('I7 after the park: a branch that wakes later issues and changes nothing', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay', { ms: 10, does: boom('reset') })
  const late = fake(lab, 'late', 'unsafe_on_replay')
  let went = false
  const graph = flow([send.tool, late.tool], async (ctx) => {
    void ctx.call(send.tool, 1)
    await work(lab, 300)
    went = true
    void ctx.call(late.tool, 1)
    throw new Error('thrown by a parked visit')
  })
  expect(await lab.process(graph, null)).toBe('parked')
  await lab.pass(1_000)
  expect(went).toBe(true)
  expect(late.sent).toEqual([])
  expect(await lab.state()).toBe('waiting_human')
  expect(await lab.records()).toHaveLength(1)
})

test('I7 a pure call that waits for its next try does not keep a visit from parking', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay', { ms: 10, does: boom('reset') })
  const read = fake(lab, 'read', 'pure', { ms: 20, does: boom('unreachable') })
  const graph = flow([send.tool, read.tool], async (ctx) => {
    await Promise.all([ctx.call(send.tool, 1), ctx.call(read.tool, 1)])
  })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(await lab.state()).toBe('waiting_human')
})

test('I7 draining: what is out is recorded, nothing begins, the run is given back', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay', { ms: 100 })
  const b = fake(lab, 'b', 'unsafe_on_replay')
  const graph = flow([a.tool, b.tool], async (ctx) => {
    await ctx.call(a.tool, 1)
    return (await ctx.call(b.tool, 1)).id
  })
  expect(await lab.process(graph, null, { leaveWhen: () => a.sent.length === 1 })).toBe('left')
  lab.execution?.drain()
  await lab.pass(1_000)
  expect(await lab.state()).toBe('pending')
  expect(b.sent).toEqual([])
  expect(await lab.process(graph, null)).toBe('ended')
  expect([a.sent.length, b.sent.length]).toEqual([1, 1])
  expect(await lab.events('doubt')).toEqual([])
})

test('I7 a call after the end of its node is refused, with an event, and never sent', async () => {
  const lab = new Lab()
  const late = fake(lab, 'late', 'unsafe_on_replay')
  let refusal: { code?: string } = {}
  const graph = flow([late.tool], async (ctx) => {
    void work(lab, 100)
      .then(() => ctx.call(late.tool, 1))
      .catch((error) => {
        refusal = error
      })
    return 'done'
  })
  expect(await lab.process(graph, null)).toBe('ended')
  await lab.pass(1_000)
  expect(refusal.code).toBe('NODE_ENDED')
  expect(late.sent).toEqual([])
  expect(await lab.events('call_refused')).toMatchObject([{ data: { tool: 'late' } }])
  expect(await lab.state()).toBe('completed')
})

test('I7 a node ends only when the calls that nobody awaits have ended', async () => {
  const lab = new Lab()
  const alone = fake(lab, 'alone', 'unsafe_on_replay', { ms: 500 })
  const then = fake(lab, 'then', 'unsafe_on_replay', { ms: 500 })
  const graph = flow([alone.tool, then.tool], async (ctx) => {
    void ctx.call(alone.tool, 1).then(() => ctx.call(then.tool, 1))
    return 'returned'
  })
  expect(await lab.process(graph, null)).toBe('ended')
  const rows = await lab.records()
  expect(rows.map((row) => row.status)).toEqual(['committed', 'committed'])
})

test('I7 refusing bad input in a loop that catches all leaves a turn to the others', async () => {
  const lab = new Lab()
  const strict = tool({
    name: 'strict',
    replayClass: 'pure',
    input: z.object({ n: z.number() }),
    run: () => 1,
  })
  let turns = 0
  const graph = flow([strict], async (ctx) => {
    const before = lab.clock.events
    for (let i = 0; i < 50; i++) {
      await ctx.call(strict, { n: 'no number' } as unknown as { n: number }).catch(() => {})
    }
    turns = lab.clock.events - before
  })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(turns).toBeGreaterThanOrEqual(50)
})

/** A run of one branch that nobody awaits, on the real worker; answers how it ended. */
async function abandonedBranch(handledAfterMs: number | null) {
  const refuse = tool({
    name: 'refuse',
    replayClass: 'pure',
    input: z.null(),
    retry: { attemptMax: 1 },
    run: boom('nobody looks'),
  })
  const wait = tool({
    name: 'wait',
    replayClass: 'pure',
    input: z.null(),
    run: () => new Promise((resolve) => setTimeout(resolve, 100)),
  })
  const w = workflow({
    id: 'w@1.0.0',
    input: z.null(),
    tools: [refuse, wait],
    run: async (_, ctx) => {
      const branch = (async () => {
        await ctx.call(refuse, null)
      })()
      if (handledAfterMs !== null) setTimeout(() => branch.catch(() => {}), handledAfterMs)
      await ctx.call(wait, null)
      return 'fine'
    },
  })
  const other = workflow({
    id: 'other@1.0.0',
    input: z.null(),
    tools: [wait],
    run: async (_, ctx) => {
      await ctx.call(wait, null)
      return 'untouched'
    },
  })
  const cf = await open({ store: 'memory:', graphs: [w, other], onWarning: () => {} })
  await cf.worker().start()
  const runs = [await cf.start(w, null), await cf.start(other, null)]
  const ends = await Promise.allSettled(runs.map((run) => run.result()))
  await cf.close()
  return ends
}

test('I7 a rejection nobody awaits fails its run, not the process nor its neighbours', async () => {
  const [mine, other] = await abandonedBranch(null)
  expect(mine).toMatchObject({ status: 'rejected', reason: { code: 'RUN_FAILED' } })
  expect((mine as PromiseRejectedResult).reason.message).toMatch(/nobody looks/)
  expect(other).toEqual({ status: 'fulfilled', value: 'untouched' })
})

test('I7 a branch whose rejection is handled later does not fail its run', async () => {
  const [mine] = await abandonedBranch(30)
  expect(mine).toEqual({ status: 'fulfilled', value: 'fine' })
})

const out = mkdtempSync(join(tmpdir(), 'counterfoil-rejections-'))
afterAll(() => rmSync(out, { recursive: true, force: true }))

/** A program in a clean process, in which no test runner listens for rejections. */
function alone(program: string) {
  const head = `
    import { open, workflow } from '${library}'
    const input = { '~standard': { version: 1, vendor: 't', validate: (value) => ({ value }) } }
    const run = async () => {
      void Promise.reject(new Error('inside a run'))
      await new Promise((resolve) => setTimeout(resolve, 50))
      return 'fine'
    }
    const w = workflow({ id: 'w@1.0.0', input, run })
    const cf = await open({ store: 'memory:', graphs: [w], onWarning: () => {} })
    await cf.worker().start()
  `
  writeFileSync(join(out, 'program.mjs'), head + program)
  return spawnSync(process.execPath, [join(out, 'program.mjs')], { encoding: 'utf8' })
}

const outside = `
  Promise.reject(new Error('outside any run'))
  setTimeout(async () => { await cf.close(); console.log('survived') }, 100)
`

test('I7 a rejection outside any run keeps the meaning of Node: the process ends', () => {
  const { status, stdout, stderr } = alone(outside)
  expect(stderr).toMatch(/outside any run/)
  expect([status, stdout]).toEqual([1, ''])
})

test('I7 a program that listens for rejections itself keeps its own meaning', () => {
  const { status, stdout } = alone(`
    process.on('unhandledRejection', (error) => console.log('mine: ' + error.message))
    ${outside}
  `)
  expect([status, stdout]).toEqual([0, 'mine: outside any run\nsurvived\n'])
})

test('I7 in a clean process a rejection in a run fails that run and nothing else', () => {
  const { status, stdout } = alone(`
    const handle = await cf.start(w, null)
    await handle.result().catch((error) => console.log(error.message.replace(handle.runId, 'x')))
    await cf.close()
    console.log('survived')
  `)
  expect([status, stdout]).toEqual([0, 'run x failed: inside a run\nsurvived\n'])
})
