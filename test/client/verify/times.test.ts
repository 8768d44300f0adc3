// B8: spans and times of real runs against their events. A run that was taken over, asked a person
// and had a child has no findings; each alteration of its file has its own.
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { verifyLedger } from '../../../src/client/ledger/verify.ts'
import { type Counterfoil, open, tool, workflow } from '../../../src/index.ts'
import { newPath } from '../../store/bench.ts'

const send = tool({
  name: 'send',
  replayClass: 'unsafe_on_replay',
  input: z.number(),
  run: async (n) => ({ n }),
})
const look = tool({ name: 'look', replayClass: 'pure', input: z.number(), run: async (n) => n })

const child = workflow({
  id: 'child@1.0.0',
  input: z.number(),
  tools: [send],
  run: async (n, ctx) => ctx.call(send, n),
})
const flow = workflow({
  id: 'flow@1.0.0',
  input: z.null(),
  tools: [send, look],
  run: async (_, ctx) => {
    await Promise.all([ctx.call(look, 1), ctx.call(look, 2)])
    await ctx.call(send, 1)
    const { approved } = await ctx.approval({ title: 'Go on?', data: null })
    await ctx.call(send, 2)
    await ctx.spawn(child, 3)
    return approved
  },
})

/** Done by two workers, the second of which found the first dead. */
async function lived(): Promise<{ cf: Counterfoil; path: string }> {
  const path = newPath()
  const cf = await open({ store: `sqlite:${path}`, graphs: [flow, child], onWarning: () => {} })
  const first = cf.worker({ pollMs: 5 })
  await first.start()
  const run = await cf.start(flow, null, { runId: 'r1' })
  await run.until('waiting_human')
  await first.stop()
  const [item] = (await cf.inbox.list()).items
  const said = {
    outcome: 'approve',
    by: 'ana',
    reason: 'fine',
    version: item?.version ?? 0,
  } as const
  await cf.inbox.decide(item?.itemId ?? '', said)
  const asked = { graphs: [{ name: 'flow', version: '1.0.0' }], countMax: 1 }
  await cf.store.register(
    { ...{ workerId: 'w_gone', pid: 1, host: 'here', bootId: 'unknown', startedAt: 1 }, ...none },
    60_000,
  )
  expect(await cf.store.claim({ workerId: 'w_gone', ...asked })).toHaveLength(1)
  await cf.store.declareDead('w_gone', 'it was seen to die')
  await cf.worker({ pollMs: 5 }).start()
  expect(await run.result()).toBe(true)
  return { cf, path }
}

const none = { socketPath: null, socketInode: null }

async function found(cf: Counterfoil): Promise<string[]> {
  const { findings } = await verifyLedger(cf.store, { namespace: 'default' })
  return findings.map(
    ({ kind, subject }) => `${kind} ${subject.replace(/[/~][0-9a-z]{20,}.*/, '')}`,
  )
}

function alter(path: string, sql: string): void {
  const db = new Database(path)
  const names = db.prepare("select name from sqlite_master where type = 'trigger'").pluck()
  for (const name of names.all()) db.exec(`drop trigger ${name}`)
  db.exec(sql)
  db.close()
}

const sends = "workflow_id = 'r1' and tool_name = 'send'"
const cases: [name: string, sql: string, found: string[]][] = [
  [
    'the spans of two calls are swapped',
    `create temp table spans as select rowid as id, span_id from tool_call_results where ${sends};
     update tool_call_results set span_id = (
       select o.span_id from spans o where o.id <> tool_call_results.rowid)
     where ${sends}`,
    ['span', 'span', 'mac', 'mac'].map((kind) => `${kind} 0#1/send`),
  ],
  [
    'a call is given the span of another',
    `update tool_call_results set span_id = (
       select o.span_id from tool_call_results o
       where o.workflow_id = 'r1' and o.tool_name = 'send' limit 1)
     where workflow_id = 'r1' and tool_name = 'look' and nth = 1`,
    ['mac 0#1/look', 'span 0#1/send'],
  ],
  [
    'an attempt that has not reported is moved behind the takeover',
    `update tool_call_results set dispatched_at = dispatched_at + 3600000
     where rowid = (select min(rowid) from tool_call_results
       where workflow_id = 'r1' and tool_name = 'send' and fence = 1
         and dispatched_at is not null)`,
    ['time 0#1/send', 'time 0#1/send'],
  ],
  [
    'the event of the decision is moved',
    "update events set at = at - 3600000 where run_id = 'r1' and kind = 'decided'",
    ['time item_'],
  ],
]

test.each(cases)('B8 found by the events of a real run: %s', async (_name, sql, expected) => {
  const { cf, path } = await lived()
  expect(await found(cf)).toEqual([])
  alter(path, sql)
  const all = (await found(cf)).map((each) => each.replace(/item_.*/, 'item_'))
  expect(all.sort()).toEqual([...expected].sort())
  await cf.close()
})

test('B8 rows that are older than the claim they were written under are found', async () => {
  const { cf, path } = await lived()
  const claim = "run_id = 'r1' and kind = 'claimed' and json_extract(data_json, '$.fence') = 1"
  alter(path, `update events set at = at + 3600000 where ${claim}`)
  const kinds = await found(cf)
  expect(new Set(kinds)).toEqual(
    new Set(['time 0#1/look', 'time 0#1/send', 'time 0#1/counterfoil.approval']),
  )
  await cf.close()
})
