// Damage that long runs of the proof (`--only inputs`) have found a way through, each once more.
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { idInSql } from '../../src/store/sql/first-attempt.ts'
import { Site, script } from './driver.ts'

const ledger = fileURLToPath(new URL('../replay/ledgers/0.1.0-002_server', import.meta.url))

const found: [cause: string, sql: string][] = [
  [
    'an outcome without an end was believed: a mail was sent twice',
    // Of a call that was sent once it is said in a row that is made for it.
    `insert into tool_call_attempts (namespace, workflow_id, attempt_id, attempt, fence, worker_id,
       outlives, quiet_ms, dispatched_at, outcome)
     select namespace, workflow_id, ${idInSql('t', (text, part) => `instr(${text}, ${part})`)}, 1,
       fence, worker_id, outlives, quiet_ms, dispatched_at, 'not_sent'
     from tool_call_results t
     where dispatched_at is not null and attempt = 1 and status = 'pending'`,
  ],
  [
    'an output that is no JSON was an error without a code',
    "update runs set output_json = '{' where output_json is not null",
  ],
  [
    'a table without one of its columns was one',
    'alter table tool_call_results drop column usage_json',
  ],
  [
    'an item without a member of its body was one',
    "update inbox_items set body_json = json_remove(body_json, '$.unmatched')",
  ],
]

test.each(found)('J3, B8 %s', async (_, sql) => {
  const site = await Site.open()
  const args = [ledger, '1', '1', site.port, sql]
  const { code, out, error } = await site.spawn(script('harm/corrupt.mjs'), args).exit
  expect([code, error]).toEqual([0, ''])
  const { where, faults } = JSON.parse(out)
  expect(faults).toEqual([])
  // Else nothing was damaged, and this test proves nothing.
  expect(where).toMatch(sql.startsWith('alter') ? /^0 by/ : /^[1-9]\d* by/)
  await site.close()
})
