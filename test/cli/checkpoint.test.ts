import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openDesk, servedDesk } from './desk.ts'
import { json, misfits, openItem, run } from './harness.ts'

/** What a failing disk, or a stranger with an editor, may do. */
function damage(path: string, runId: string, visit: number): void {
  const db = new Database(path)
  const sql = `update checkpoints set body_json = replace(body_json, 'Dear', 'Deer')
    where run_id = ? and visit = ?`
  expect(db.prepare(sql).run(runId, visit).changes).toBe(1)
  db.close()
}

test('D10 list and inspect show each row, its kind and size, and that it verifies', async () => {
  const { store } = await servedDesk(['ana'])
  const { visit, checkpoints } = await json(['checkpoint', 'list', 'ana', '--store', store])
  expect(visit).toBe(3)
  const rows = checkpoints.map((row: { visit: number; node: string; kind: string }) => [
    ...[row.visit, row.node, row.kind],
  ])
  expect(rows).toEqual([
    [1, 'plan', 'base'],
    [2, 'send', 'delta'],
    [3, 'ask', 'delta'],
  ])
  expect(checkpoints[0]).not.toHaveProperty('verifies')
  const text = await run(['checkpoint', 'list', 'ana', '--verify', '--store', store])
  expect(text.stdout).toMatch(/^VISIT +NODE +KIND +SIZE +DIGEST +WRITTEN +VERIFIES\n1 +plan +base/)
  expect(text.stdout).toMatch(/\n3 \* +ask +delta +\d+ B +\S{12} .* yes\n/)
  expect(misfits(text.stdout)).toEqual([])

  const look = await json(['checkpoint', 'inspect', 'ana', '--visit', '2', '--store', store])
  expect(look).toMatchObject({
    checkpoint: { visit: 2, node: 'send', kind: 'delta', base_visit: 1 },
    chain: [{ visit: 1 }, { visit: 2 }],
    verifies: true,
    why: null,
    state: { customer: 'ana', draft: 'Dear ana' },
  })
  expect(look.checkpoint.bytes).toBeGreaterThan(0)
})

test('D10 diff names the paths that are new, gone or other', async () => {
  const { store } = await servedDesk(['ana'])
  const { changes } = await json(['checkpoint', 'diff', 'ana', '2', '3', '--store', store])
  expect(changes).toEqual([
    { path: 'notes[1]', kind: 'added', after: 'm-ana' },
    { path: 'plan', kind: 'removed', before: ['send', 'ask'] },
  ])
  const { stdout } = await run(['checkpoint', 'diff', 'ana', '1', '2', '--store', store])
  expect(stdout.split('\n')).toEqual([
    '3 changes from visit 1 to 2',
    '~ draft  … "Dear ana"',
    '+ notes[0]  "drafted"',
    '+ plan  ["send","ask"]',
    '',
  ])
  const same = await run(['checkpoint', 'diff', 'ana', '2', '2', '--store', store])
  expect(same.stdout).toBe('The state is the same at visits 2 and 2.\n')
})

test('D11 a damaged checkpoint is told with what is good; pinned, nothing is resent', async () => {
  const { store, path } = await servedDesk(['ana'])
  damage(path, 'ana', 2)
  await json(['run', 'pause', 'ana', '--store', store])
  await json(['run', 'resume', 'ana', '--store', store])
  const broken = await openDesk(path)
  await expect
    .poll(async () => (await broken.cf.inbox.list()).items.at(-1)?.reason)
    .toBe('checkpoint')
  await broken.leave()

  const list = await json(['inbox', '--run', 'ana', '--kind', 'doubt', '--store', store])
  const shown = await run(['inbox', 'show', list.items[0].item_id, '--store', store])
  expect(shown.stdout).toMatch(/damage +checkpoint of visit 2: its digest does not fit/)
  expect(shown.stdout).toMatch(/can be believed: 1\n/)
  expect(shown.stdout).toMatch(/checkpoint pin ana 1/)
  expect(shown.stdout).not.toMatch(/decide \S+ pin/)

  const look = await run(['checkpoint', 'inspect', 'ana', '--store', store])
  expect(look.code).toBe(1)
  expect(look.stdout).toMatch(/verifies +no\nwhy +checkpoint of visit 2/)
  const asJson = await run(['checkpoint', 'inspect', 'ana', '--json', '--store', store])
  expect(asJson.code).toBe(1)
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    verifies: false,
    good_visits: [1],
    state: null,
  })
  const verified = await json(['checkpoint', 'list', 'ana', '--verify', '--store', store])
  const verifies = verified.checkpoints.map((row: { verifies: boolean }) => row.verifies)
  expect(verifies).toEqual([true, false, false])
  const state = await run(['run', 'state', 'ana', '--store', store])
  expect(state.stderr).toMatch(/counterfoil checkpoint inspect.*CHECKPOINT_DAMAGED/)

  const pin = ['checkpoint', 'pin', 'ana', '1', '--by', 'bo', '--reason', 'disk', '--store', store]
  const pinned = await json([...pin, '--yes'])
  expect(pinned).toMatchObject({ pinned: 1, from: 3, run: { state: 'pending', node: 'plan' } })
  const kept = pinned.kept.map((row: { tool_name: string; visit: number }) => [
    ...[row.tool_name, row.visit],
  ])
  expect(kept).toEqual([
    ['send_email', 2],
    ['counterfoil.approval', 3],
  ])
  const after = await openDesk(path)
  await expect.poll(async () => (await after.cf.run('ana').status()).visit).toBe(3)
  expect(after.world.sent).toEqual([])
})

test('D11 pin shows what was done since, and asks: without a terminal it wants --yes', async () => {
  const { store } = await servedDesk(['ana'])
  const pin = ['checkpoint', 'pin', 'ana', '2', '--store', store]
  const unsaid = await run(pin)
  expect(unsaid.code).toBe(2)
  expect(unsaid.stderr).toContain("needs --reason '<why>'")
  const unasked = await run([...pin, '--reason', 'x'])
  expect(unasked.code).toBe(2)
  expect(unasked.stdout).toMatch(/2 +send +send_email +committed +m-ana/)
  expect(unasked.stdout.replaceAll(/\s+/g, ' ')).toContain('2 calls that stay')
  expect(unasked.stderr).toContain('--yes')
  expect((await json(['run', 'show', 'ana', '--store', store])).run.visit).toBe(3)
})

test('D11 what cannot be pinned is refused with the way to it', async () => {
  const { store } = await servedDesk(['ana'])
  const pin = (visit: string) =>
    run(['checkpoint', 'pin', 'ana', visit, '--reason', 'x', '--yes', '--store', store])
  expect((await pin('9')).stderr).toMatch(/it has those of 1, 2, 3.*CHECKPOINT_NOT_FOUND/)
  expect((await pin('two')).stderr).toMatch(/the visit takes a whole number.*CLI_USAGE/)
  await json(['checkpoint', 'pin', 'ana', '2', '--reason', 'x', '--yes', '--store', store])
  const pending = await pin('1')
  expect(pending.code).toBe(1)
  expect(pending.stderr).toMatch(/it is pending; first: counterfoil run pause ana --wait/)
  await json(['run', 'cancel', 'ana', '--store', store])
  expect((await pin('1')).stderr).toMatch(/it is cancelled, for good.*PIN_REFUSED/)
})

test('a decision to pin leads to the command that does', async () => {
  const { store } = await servedDesk(['ana'])
  const item = await openItem(store, 'ana')
  const said = await run(['decide', item, 'pin', '--yes', '--reason', 'x', '--store', store])
  expect(said.code).toBe(2)
  expect(said.stderr).toContain('counterfoil checkpoint pin <run> <visit>')
})
