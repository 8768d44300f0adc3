import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openDesk, servedDesk } from './desk.ts'
import { json, misfits, openItem, run } from './harness.ts'

test('ledger show has every call with its attempts and decisions, by visit', async () => {
  const { store, path } = await servedDesk(['lost'])
  const item = await openItem(store, 'lost')
  await json([
    ...['decide', item, 'happened', '--result', '{"messageId":"m-7"}', '--version', '1'],
    ...['--reason', 'in their log', '--evidence', 'line 12', '--by', 'ana', '--store', store],
  ])
  const desk = await openDesk(path)
  await desk.until('lost', 'waiting_human')
  await desk.leave()
  const { calls, other_decisions } = await json(['ledger', 'show', 'lost', '--store', store])
  expect(calls.map((row: { tool_name: string }) => row.tool_name)).toEqual([
    ...['draft', 'send_email', 'counterfoil.approval'],
  ])
  expect(calls[1]).toMatchObject({
    ...{ visit: 2, node_id: 'send', status: 'committed', attempt_count: 1, verifies: true },
    attempts: [{ attempt: 1, outcome: 'unknown', verifies: true }],
    decisions: [{ outcome: 'happened', by: 'ana', evidence: 'line 12', verifies: true }],
  })
  expect(other_decisions).toEqual([])

  const { stdout } = await run(['ledger', 'show', 'lost', '--store', store])
  const flat = stdout.replaceAll(/\s+/g, ' ')
  expect(stdout).toMatch(/^visit 1, node plan\n {2}draft#0 {2}committed {2}pure\n/)
  expect(flat).toMatch(/attempt 1 unknown after \d+ ms; sent \S+Z by w_\w+/)
  expect(flat).toMatch(/decision happened, by ana .*: in their log \(line 12\)/)
  expect(misfits(stdout)).toEqual([])
  const full = await run(['ledger', 'show', 'lost', '--visit', '2', '--full', '--store', store])
  expect(full.stdout).toMatch(/input +\{"body":"Dear lost","to":"lost"\}\n +result +\{"messageId"/)
  expect(full.stdout).not.toContain('draft#0')
})

test('ledger show is narrowed by tool, visit and count; what is not there is told', async () => {
  const { store } = await servedDesk(['ana'])
  const show = (...words: string[]) => run(['ledger', 'show', 'ana', ...words, '--store', store])
  const { stdout } = await show('--tool', 'send_email')
  expect(stdout).toMatch(/^visit 2, node send\n {2}send_email#0 {2}committed {2}unsafe_on_replay/)
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(/attempt 1 answered after \d+ ms/)
  const last = await show('--limit', '1')
  expect(last.stdout).toMatch(/^visit 3.*\n.*approval#0.*\n\n2 earlier ones:\n.* --limit 3/)
  expect((await show('--tool', 'send_mail')).stdout).toBe(
    'No calls like that; did you mean send_email?\n',
  )
  expect((await show('--visit', '7')).stdout).toContain('there are calls of visits 1, 2, 3')
  const missing = await run(['ledger', 'show', 'nobody', '--store', store])
  expect(missing.stderr).toContain('RUN_NOT_FOUND')
})

test('B7 a result that lies in a blob is shown whole', async () => {
  const { store } = await servedDesk(['large'])
  const { calls } = await json(['ledger', 'show', 'large', '--tool', 'draft', '--store', store])
  expect(calls[0].result).toHaveLength(100_005)
})

test('B8 verify finds nothing in an honest store, and says what it cannot show', async () => {
  const { store } = await servedDesk(['ana', 'lost'])
  const report = await json(['ledger', 'verify', '--store', store])
  expect(report).toMatchObject({ ok: true, found: 0, findings: [] })
  expect(report.counts).toMatchObject({ runs: 2, calls: 5, attempts: 2 })
  const { stdout, code } = await run(['ledger', 'verify', 'ana', '--store', store])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Looked at 1 run, 3 calls, 1 attempt, /)
  expect(stdout).toContain('What this cannot show')
  expect(misfits(stdout)).toEqual([])
})

test('B8 a row that was altered is a finding, and exit code 1', async () => {
  const { store, path } = await servedDesk(['ana'])
  const db = new Database(path)
  db.exec('drop trigger tool_call_results_final')
  db.exec(`update tool_call_results set result_json = '{"messageId":"m-0"}'
    where tool_name = 'send_email'`)
  db.close()
  const text = await run(['ledger', 'verify', '--store', store])
  expect(text.code).toBe(1)
  expect(text.stdout).toMatch(/1 finding:\n {2}mac {2}ana {2}0#2\/send_email/)
  const asJson = await run(['ledger', 'verify', '--json', '--store', store])
  expect({ code: asJson.code, stderr: asJson.stderr }).toEqual({ code: 1, stderr: '' })
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    ok: false,
    findings: [{ run_id: 'ana', kind: 'mac' }],
  })
  const show = await run(['ledger', 'show', 'ana', '--visit', '2', '--store', store])
  expect(show.stdout).toMatch(/send_email#0 {2}committed, altered/)
  const missing = await run(['ledger', 'verify', 'nobody', '--store', store])
  expect(missing).toMatchObject({ code: 1, stdout: '' })
})
