// What a hostile look at the kernel found, each with its cause.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, open, tool, workflow } from '../../../src/index.ts'
import { fake, flow, Lab } from '../../lab.ts'

describe('edits of held calls', () => {
  const ask = () => ({ ask: true as const })

  test('E1 a schema that transforms made something else of an edit: it is not sent', async () => {
    const lab = new Lab()
    const input = z.object({ usd: z.number().transform((usd) => usd * 100) })
    const pay = fake(lab, 'pay', 'unsafe_on_replay', { input })
    const pays = flow([pay.tool], (ctx) => ctx.call(pay.tool, { usd: 80 } as never))
    await lab.process(pays, {}, { policy: ask })
    await lab.decide({ outcome: 'edit', result: { usd: 6_000 } })
    await lab.process(pays, {}, { policy: ask })
    expect(pay.sent).toEqual([])
    expect((await lab.events('decision_unusable')).length).toBe(1)
    await lab.decide({ outcome: 'approve' })
    await lab.process(pays, {}, { policy: ask })
    expect(pay.sent.map((one) => one.input)).toEqual([{ usd: 8_000 }])
  })

  test('C3 the key of an edited call stood for what was asked, not sent', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'idempotent_with_key', { idempotencyKey: () => 'order-1' })
    const policy = () => (pay.sent.length === 0 ? ask() : ('run' as const))
    const pays = flow([pay.tool], async (ctx) => {
      await ctx.call(pay.tool, { amount: 80 })
      return ctx.call(pay.tool, { amount: 80 })
    })
    await lab.process(pays, {}, { policy })
    await lab.decide({ outcome: 'edit', result: { amount: 60 } })
    await lab.process(pays, {}, { policy })
    expect(pay.sent.map((one) => one.input)).toEqual([{ amount: 60 }])
    expect(await lab.item()).toMatchObject({ reason: 'key_conflict' })
  })
})

test('C10 a retry kept a failed pure call failed, and said nothing', async () => {
  const lab = new Lab()
  const model = fake(lab, 'model', 'pure', {
    retry: { attemptMax: 1 },
    does: (n) => {
      if (n === 1) throw new Error('503')
      return 'fine'
    },
  })
  const asks = flow([model.tool], (ctx) => ctx.call(model.tool, {}))
  await lab.process(asks, {})
  expect(await lab.state()).toBe('failed')
  const { retryRun } = await import('../../../src/client/run/retry.ts')
  const ref = { namespace: 'default', runId: 'lab' }
  await retryRun(lab.store, lab.clock, ref, { by: 'ana', reason: 'it is back' })
  await lab.process(asks, {})
  expect(await lab.output()).toBe('fine')
})

describe('on SQLite', () => {
  const dirs: string[] = []
  const opened: Counterfoil[] = []
  afterEach(async () => {
    for (const cf of opened.splice(0)) await cf.close()
    for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true })
  })

  const fine = workflow({ id: 'fine@1.0.0', input: z.string(), run: async (text) => text })

  async function store() {
    const dir = mkdtempSync(join(tmpdir(), 'counterfoil-hostile-'))
    dirs.push(dir)
    const path = join(dir, 'runs.db')
    const cf = await open({ store: `sqlite:${path}`, graphs: [fine], settleMs: 30 })
    opened.push(cf)
    return { cf, path }
  }

  test('D1 one row that cannot be read kept every run from being claimed', async () => {
    const { cf, path } = await store()
    await cf.start(fine, 'bad', { runId: 'bad' })
    const good = await cf.start(fine, 'good', { runId: 'good' })
    const db = new Database(path)
    db.prepare("update runs set waiting_for = '{' where run_id = 'bad'").run()
    db.close()
    await cf.worker().start()
    expect(await good.result()).toBe('good')
    const listed = await cf.store.listRuns({ namespace: 'default' })
    expect(listed.items.map((run) => run.runId)).toEqual(['bad', 'good'])
  })

  test('C2 a call that a dead holder sent in one scope was sent again in another', async () => {
    const { cf, path } = await store()
    const sent: string[] = []
    const send = tool({
      name: 'send',
      replayClass: 'unsafe_on_replay',
      input: z.string(),
      timeoutMs: 50,
      run: (text) => new Promise<string>(() => sent.push(text)),
    })
    const at = (checkpointId: string) => ({ workflowId: 'wf', nodeId: 'tools', checkpointId })
    const first = await cf.scope(at('one'))
    await first.call(send, 'hello').catch(() => {})
    await first.close()
    const db = new Database(path)
    // As a kill leaves it: an intent, and nobody asked yet.
    db.exec("delete from inbox_items; update runs set state = 'pending' where run_id = 'wf'")
    db.close()
    const second = await cf.scope(at('two'))
    await expect(second.call(send, 'hello')).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    await second.close()
    expect(sent).toEqual(['hello'])
  })

  test('E6 a misspelt option left the gate open without a word', async () => {
    const gate = () => ({ refuse: 'no' })
    const options = { store: 'memory:', gaet: gate } as never
    await expect(open(options)).rejects.toMatchObject({
      code: 'OPEN_INVALID',
      message: expect.stringContaining('there is no option `gaet`'),
    })
  })
})
