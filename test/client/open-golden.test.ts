// Stores of earlier releases (D8, J5): a file that a released Counterfoil has written opens in this
// one, is migrated, verifies, and its runs go on where they were.
//
// ledgers/v1 was made by 0.1.0 before graphs: six runs of a workflow that looks a customer up,
// charges, mails and asks a person; cut off at different points, one by a kill in mid-mail, one by
// a kill in mid-charge, one with a late answer and one with a decision that nobody had read yet.
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { verifyLedger } from '../../src/client/verify.ts'
import { type Counterfoil, open, tool, workflow } from '../../src/index.ts'

const golden = join(import.meta.dirname, '..', 'replay', 'ledgers', 'v1', 'runs.sqlite')
const opened: Counterfoil[] = []
const folders: string[] = []

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

/** A copy, which the store takes for what it is: a file that was moved (I12). */
function copied(): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-golden-'))
  folders.push(folder)
  const path = join(folder, 'runs.db')
  copyFileSync(golden, path)
  copyFileSync(`${golden}.key`, `${path}.key`)
  chmodSync(`${path}.key`, 0o600)
  return path
}

function makeGraphs() {
  const sent: { tool: string; input: string; key: string | null }[] = []
  const lookup = tool({
    name: 'lookup',
    replayClass: 'pure',
    input: z.object({ id: z.string() }),
    run: async ({ id }) => {
      sent.push({ tool: 'lookup', input: id, key: null })
      return { name: `somebody else ${id}` }
    },
  })
  const charge = tool({
    name: 'charge',
    replayClass: 'idempotent_with_key',
    idempotencyKey: (input, call) => `${call.runId}:${input.invoice}`,
    keyTtlMs: Number.POSITIVE_INFINITY,
    input: z.object({ invoice: z.string() }),
    run: async ({ invoice }, call) => {
      sent.push({ tool: 'charge', input: invoice, key: call.idempotencyKey })
      return { charged: invoice }
    },
  })
  const mail = tool({
    name: 'mail',
    replayClass: 'unsafe_on_replay',
    input: z.object({ to: z.string() }),
    timeoutMs: 200,
    run: async ({ to }) => {
      sent.push({ tool: 'mail', input: to, key: null })
      return { messageId: `m-${to}` }
    },
  })
  const make = (id: string) =>
    workflow({
      id,
      input: z.object({ customer: z.string() }),
      tools: [lookup, charge, mail],
      run: async ({ customer }, ctx) => {
        const { name } = await ctx.call(lookup, { id: customer })
        const paid = await ctx.call(charge, { invoice: customer })
        const mailed = await ctx.call(mail, { to: customer })
        const { answer, by } = await ctx.ask({ title: `Call ${name} too?`, data: { customer } })
        ctx.log('asked', { answer })
        return { name, paid, sent: mailed, answer, by }
      },
    })
  return { graphs: [make('outreach@1.0.0'), make('billing@1.0.0')], sent }
}

async function opens(path: string) {
  const made = makeGraphs()
  const cf = await open({ store: `sqlite:${path}`, graphs: made.graphs, onWarning: () => {} })
  opened.push(cf)
  return { cf, ...made }
}

const runIds = ['doubt', 'cut', 'asked', 'answered', 'done', 'late'].map((name) => `run-${name}`)
const ref = (runId: string) => ({ namespace: 'default', runId })
const by = { by: 'bob', reason: 'the golden file says so' }

/** What `outreach` gives for this customer, whoever has answered. */
const outputOf = (customer: string, who: string) => ({
  name: `customer ${customer}`,
  paid: { charged: customer },
  sent: { messageId: `m-${customer}` },
  answer: 'yes',
  by: who,
})

describe('J5 D8 a store of the first release', () => {
  test('D8 B8 opens, is migrated, and every row of it verifies', async () => {
    const path = copied()
    const { cf } = await opens(path)
    for (const runId of runIds) {
      const { items } = await cf.store.listRecords(ref(runId), {})
      const attempts = await cf.store.listAttempts(ref(runId))
      const decisions = await cf.store.listDecisions(ref(runId))
      const evidence = await cf.store.listEvidence(ref(runId))
      for (const row of [...items, ...attempts, ...decisions, ...evidence]) {
        expect(row.verifies, `${runId}: ${JSON.stringify(row)}`).toBe(true)
      }
      expect(items.length).toBeGreaterThan(0)
      const [checkpoint] = await cf.store.listCheckpoints(ref(runId))
      expect(checkpoint).toMatchObject({ schemaVersion: 1, kind: 'base', visit: 1, baseVisit: 1 })
      expect(await cf.run(runId).state()).toEqual({ customer: runId.slice('run-'.length) })
      const { runId: id, completed } = await cf.run(runId).document()
      expect([id, completed.length > 0]).toEqual([runId, true])
    }
    const report = await verifyLedger(cf.store, { namespace: 'default' })
    expect(report.findings).toEqual([])
    const db = new Database(path, { readonly: true })
    const names = db.prepare('select name from schema_migrations order by id').pluck().all()
    db.close()
    expect(names.slice(0, 2)).toEqual(['001_init.sql', '002_kernel.sql'])
  })

  test('I12 is a copy: nothing of it is worked on before somebody adopts it', async () => {
    const { cf, sent } = await opens(copied())
    expect(await cf.store.moved()).toMatch(/./)
    await cf.worker().start()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(sent).toEqual([])
    expect((await cf.run('run-answered').status()).state).toBe('pending')
  })

  test('J5 its runs go on: receipts answer, a key is kept, a doubt is decided', async () => {
    const { cf, sent } = await opens(copied())
    await cf.store.adopt('bob', 'a copy of the golden file')
    await cf.worker().start()
    // The decision that nobody had read.
    expect(await cf.run('run-answered').result()).toEqual(outputOf('answered', 'ana'))
    // The mail that answered late: its run waits for a person now, and the mail is not sent again.
    for (const name of ['cut', 'late']) await cf.run(`run-${name}`).until('waiting_human')
    expect(sent).toEqual([
      { tool: 'charge', input: 'cut', key: 'run-cut:cut' },
      { tool: 'mail', input: 'cut', key: null },
    ])
    const find = async (runId: string) => {
      const [item] = (await cf.inbox.list({ runId })).items
      return item ?? expect.fail(`nothing waits in ${runId}`)
    }
    const doubt = await find('run-doubt')
    expect(doubt).toMatchObject({ kind: 'doubt', reason: 'unknown', body: { attempt: 1 } })
    const result = { messageId: 'm-doubt' }
    await cf.inbox.decide(doubt.itemId, { outcome: 'happened', result, version: 1, ...by })
    for (const name of ['doubt', 'asked', 'late', 'cut']) {
      const run = cf.run(`run-${name}`)
      const isAsked = async () => (await find(run.runId)).kind === 'question'
      while (!(await isAsked().catch(() => false))) await new Promise((r) => setTimeout(r, 10))
      const { itemId, version } = await find(run.runId)
      await cf.inbox.decide(itemId, { outcome: 'respond', result: 'yes', version, ...by })
      expect(await run.result()).toEqual(outputOf(name, 'bob'))
    }
    expect(await cf.run('run-done').result()).toEqual(outputOf('done', 'ana'))
    expect(sent.length).toBe(2)
    expect((await verifyLedger(cf.store, { namespace: 'default' })).findings).toEqual([])
  })

  test('D8 a run of it that is started again attaches to it', async () => {
    const { cf, graphs } = await opens(copied())
    const [outreach] = graphs
    if (outreach === undefined) throw new Error('no graph')
    const run = await cf.start(outreach, { customer: 'done' }, { runId: 'run-done' })
    expect(await run.result()).toEqual(outputOf('done', 'ana'))
    const other = cf.start(outreach, { customer: 'other' }, { runId: 'run-done' })
    await expect(other).rejects.toMatchObject({ code: 'RUN_EXISTS' })
  })
})
