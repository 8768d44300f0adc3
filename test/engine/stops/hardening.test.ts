// What an adversary found, each with its cause in its name.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../../src/clock.ts'
import { open, RefusedError, tool, workflow } from '../../../src/index.ts'
import type { Context } from '../../../src/model/graph/context.ts'
import type { Graph } from '../../../src/model/graph/graph.ts'
import { openSqlite } from '../../../src/store/sqlite/index.ts'
import { declareDead } from '../../../src/worker/liveness.ts'
import { fake, flow, Lab } from '../../lab.ts'

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = [value]
  return value
}

async function withSqlite(fn: (path: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'counterfoil-hard-'))
  try {
    await fn(join(dir, 'runs.db'))
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const boom = tool({
  name: 'boom',
  replayClass: 'unsafe_on_replay',
  input: z.unknown(),
  run: () => {
    throw Object.assign(new Error('x'), { message: 10n, name: Symbol('odd') })
  },
})

const poisons: Record<string, (ctx: Context) => Promise<unknown>> = {
  'an input nested too deep for JSON.stringify': (ctx) => ctx.call(boom, deep(20_000)),
  'a log line that is no text': async (ctx) => ctx.log(10n as unknown as string),
  'an error whose fields are no text': async () => {
    throw Object.assign(new Error('x'), { message: 10n, name: Symbol('odd') })
  },
}

for (const [name, poison] of Object.entries(poisons)) {
  test(`D2 one run cannot stop the others of its process: ${name}`, async () => {
    await withSqlite(async (path) => {
      const bad = workflow({
        id: 'bad@1.0.0',
        input: z.null(),
        tools: [boom],
        run: async (_, ctx) => void (await poison(ctx as unknown as Context)),
      })
      const good = workflow({
        id: 'good@1.0.0',
        input: z.null(),
        tools: [boom],
        run: async (_, ctx) => ctx.uuid(),
      })
      const cf = await open({ store: `sqlite:${path}`, graphs: [bad, good], onWarning: () => {} })
      await cf.worker().start()
      const first = await cf.start(bad, null)
      const second = await cf.start(good, null)
      expect(typeof (await second.result())).toBe('string')
      await first.until('completed', 'failed', 'waiting_human')
      await cf.close()
    })
  })
}

test('I11 a refusal before a grant is used ends the call: it is not sent again', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', 'unsafe_on_replay', {
    ms: 5_000,
    timeoutMs: 1_000,
    does: () => {
      throw new RefusedError('no')
    },
  })
  const graph = flow([t.tool], async (ctx) =>
    ctx.call(t.tool, 1).then(
      () => 'sent',
      () => 'refused',
    ),
  )
  expect(await lab.process(graph, null)).toBe('parked')
  await lab.decide({ outcome: 'did_not_happen' })
  await lab.pass(6_000)
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('refused')
  expect(t.sent).toHaveLength(1)
})

test('I5 an attempt whose row is gone is not one that never was', async () => {
  await withSqlite(async (path) => {
    const sent: number[] = []
    const send = tool({
      name: 'send',
      replayClass: 'unsafe_on_replay',
      input: z.number(),
      run: async (n) => {
        sent.push(n)
        throw new Error('nobody knows')
      },
    })
    const graph = workflow({
      id: 'w@1.0.0',
      input: z.null(),
      tools: [send],
      run: async (_, ctx) => ctx.call(send, 1),
    }) as Graph
    for (const attack of [
      'delete from tool_call_attempts',
      "update tool_call_attempts set outcome = 'not_sent', ended_at = 1",
    ]) {
      sent.length = 0
      const runId = attack
      const cf = await open({ store: `sqlite:${path}`, graphs: [graph], settleMs: 20 })
      await cf.worker().start()
      await (await cf.start(graph, null, { runId })).until('waiting_human')
      await cf.close()
      const db = new Database(path)
      const triggers = "select name from sqlite_master where type = 'trigger'"
      for (const name of db.prepare(triggers).pluck().all()) db.exec(`drop trigger ${name}`)
      db.exec(attack)
      db.prepare("update runs set state = 'pending' where run_id = ?").run(runId)
      db.close()
      const again = await open({ store: `sqlite:${path}`, graphs: [graph], settleMs: 20 })
      await again.worker().start()
      await again.run(runId).until('waiting_human')
      expect(sent).toEqual([1])
      await again.close()
    }
  })
})

test('B8 a row with unreadable JSON goes to a person as tampered', async () => {
  await withSqlite(async (path) => {
    const once = tool({
      name: 'once',
      replayClass: 'unsafe_on_replay',
      input: z.number(),
      run: () => 1,
    })
    const graph = workflow({
      id: 'w@1.0.0',
      input: z.null(),
      tools: [once],
      run: async (_, ctx) => {
        await ctx.call(once, 1)
        return ctx.ask({ title: 'go on?' })
      },
    }) as Graph
    const cf = await open({ store: `sqlite:${path}`, graphs: [graph], settleMs: 20 })
    await cf.worker().start()
    const run = await cf.start(graph, null, { runId: 'r' })
    await run.until('waiting_human')
    const [question] = (await cf.inbox.list()).items
    await cf.close()
    const db = new Database(path)
    db.exec('drop trigger tool_call_results_final')
    db.exec("update tool_call_results set result_json = '{oops' where tool_name = 'once'")
    db.close()
    const again = await open({ store: `sqlite:${path}`, graphs: [graph], settleMs: 20 })
    const said = { outcome: 'respond', result: 1, by: 'me', reason: 'yes' } as const
    await again.inbox.decide(question?.itemId ?? '', { ...said, version: question?.version ?? 0 })
    await again.worker().start()
    await again.run('r').until('waiting_human')
    expect((await again.inbox.list()).items.map((item) => item.reason)).toContain('tampered')
    await again.close()
  })
})

test('C2 another question is not answered with the answer to this one', async () => {
  const lab = new Lab()
  const asking = (title: string) => flow([], async (ctx) => (await ctx.ask({ title })).answer)
  expect(await lab.process(asking('Send 10 EUR?'), null)).toBe('parked')
  await lab.decide({ outcome: 'respond', result: 'yes' })
  expect(await lab.process(asking('Delete the database?'), null)).toBe('parked')
  expect((await lab.item()).reason).toBe('drift')
})

test('I7 a drained run with other work is given back, not parked on its question', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', 'unsafe_on_replay', { ms: 10 })
  const graph = flow([t.tool], async (ctx) => {
    const calls = async () => {
      for (let i = 0; i < 5; i++) await ctx.call(t.tool, i)
    }
    await Promise.all([ctx.ask({ title: 'go?' }), calls()])
  })
  let drained = false
  const end = await lab.process(graph, null, {
    killWhen: () => {
      if (t.sent.length === 2 && !drained) {
        drained = true
        lab.execution?.drain()
      }
      return false
    },
  })
  expect(end).toBe('released')
  expect(await lab.state()).toBe('pending')
})

test('C2 a record of another tool cannot answer a call', async () => {
  const lab = new Lab()
  const mail = fake(lab, 'mail', 'unsafe_on_replay')
  const charge = fake(lab, 'charge', 'unsafe_on_replay', { ms: 50 })
  const both = [mail.tool, charge.tool]
  const before = flow(both, async (ctx) => ctx.call(charge.tool, 1))
  const after = flow(both, async (ctx) => ctx.call(mail.tool, 1))
  await lab.process(before, null, { killWhen: () => charge.sent.length === 1 })
  expect(await lab.process(after, null)).toBe('parked')
  const said = lab.decide({ outcome: 'use_record', result: { id: 'x' } })
  await expect(said).rejects.toMatchObject({ code: 'DECISION_INVALID' })
})

test('I9 a path in a worker row is nobody’s promise: no other file is removed', async () => {
  await withSqlite(async (path) => {
    const victim = `${path}.victim`
    writeFileSync(victim, 'precious')
    const store = await openSqlite({ path, clock: systemClock })
    const row = { workerId: 'w_x', pid: 1, host: 'here', bootId: 'another', startedAt: 1 }
    await store.register({ ...row, socketPath: victim, socketInode: '1' }, 1_000)
    await declareDead(store, { workerId: null, bootId: 'this', host: 'here' })
    expect((await store.workers())[0]?.diedAt).not.toBeNull()
    writeFileSync(victim, 'still there', { flag: 'r+' })
    await store.close()
  })
})

test('C5 code that hops through process.nextTick replays in the same order', async () => {
  await withSqlite(async (path) => {
    const slow = tool({ name: 'slow', replayClass: 'pure', input: z.number(), run: (n) => n })
    const send = tool({
      name: 'send',
      replayClass: 'unsafe_on_replay',
      input: z.string(),
      run: (s) => s,
    })
    const hop = () => new Promise<void>((resolve) => process.nextTick(resolve))
    const graph = workflow({
      id: 'w@1.0.0',
      input: z.null(),
      tools: [slow, send],
      run: async (_, ctx) => {
        let seen = 'none'
        const other = (async () => {
          await ctx.call(slow, 1)
          for (let i = 0; i < 10; i++) await hop()
          seen = 'ten'
        })()
        await ctx.call(slow, 2)
        await ctx.call(slow, 3)
        const sent = await ctx.call(send, `total ${seen}`)
        await other
        await ctx.ask({ title: 'ok?' })
        return sent
      },
    }) as Graph
    const cf = await open({ store: `sqlite:${path}`, graphs: [graph], settleMs: 30 })
    await cf.worker().start()
    const run = await cf.start(graph, null, { runId: 'r' })
    await run.until('waiting_human')
    const [item] = (await cf.inbox.list()).items
    const said = { outcome: 'respond', result: 1, by: 'me', reason: 'yes' } as const
    await cf.inbox.decide(item?.itemId ?? '', { ...said, version: item?.version ?? 0 })
    expect(await run.result()).toBe('total ten')
    await cf.close()
  })
})
