import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDesk, servedDesk } from './desk.ts'
import { folder, json, misfits, openItem, prepare, run } from './harness.ts'

test('E1 the inbox shows queue, deadline and who may decide; what is late says so', async () => {
  const { store } = await servedDesk(['ana', 'late', 'lost'])
  const { stdout } = await run(['inbox', '--store', store])
  expect(stdout).toMatch(/^ITEM +RUN +WHAT +QUEUE +FOR +DUE\n/)
  expect(stdout).toMatch(/item_\w{20} +ana +Charge ana\? +sales +ana, bo +in \d+ (min|h)\n/)
  expect(stdout).toMatch(/item_\w{20} +late +Charge late\? +sales +ana, bo +\d+ s late\n/)
  expect(stdout).toMatch(/item_\w{20} +lost +send_email: d.* +doubts +anybody/)
  expect(misfits(stdout).filter((line) => !line.includes('main.js'))).toEqual([])
  const { items } = await json(['inbox', '--kind', 'approval', '--store', store])
  expect(items).toHaveLength(2)
  expect(items[0]).toMatchObject({ queue: 'sales', deciders: ['ana', 'bo'] })
  expect(Date.parse(items[0].due_at)).toBeGreaterThan(Date.parse(items[0].created_at))
})

test('E1 inbox show has all of an approval: data, schema, deciders, the commands', async () => {
  const { store } = await servedDesk(['ana'])
  const item = await openItem(store, 'ana')
  const { stdout } = await run(['inbox', 'show', item, '--store', store])
  expect(stdout).toMatch(/queue +sales\ndue +\S+Z \(in .*\)\nfor +ana, bo\n/)
  expect(stdout).toMatch(/shown +\{"amount":40,"letter":"Dear ana"\}\nedits fit +\{/)
  const flat = stdout.replaceAll(/[\s\\]+/g, ' ')
  for (const words of [
    `approve ${item} --version 1 --by ana`,
    `approve ${item} --edit '{…}' --version 1 --by ana`,
    `reject ${item} --version 1 --by ana --reason '…'`,
    `respond ${item} '{…}' --version 1`,
    `decide ${item} abandon --version 1`,
  ]) {
    expect(flat).toContain(words)
  }
  const view = await json(['inbox', 'show', item, '--store', store])
  expect(view).toMatchObject({
    data: { amount: 40, letter: 'Dear ana' },
    approval: { deciders: ['ana', 'bo'], schema: { type: 'object' }, why: null },
    damage: null,
  })
})

test('E1 approve lets a run go on; only those who may, and only what was seen', async () => {
  const { store, path } = await servedDesk(['ana'])
  const item = await openItem(store, 'ana')
  const say = (...words: string[]) => run(['approve', item, ...words, '--store', store])
  const unseen = await say()
  expect(unseen.code).toBe(2)
  expect(unseen.stderr).toContain(`counterfoil inbox show ${item}`)
  const stranger = await say('--version', '1', '--by', 'eve')
  expect(stranger.code).toBe(1)
  expect(stranger.stderr).toMatch(/eve may not decide .*for ana, bo.*--by.*DECISION_FORBIDDEN/)
  const old = await say('--version', '4', '--by', 'ana')
  expect(old.stderr).toContain('ITEM_CHANGED')
  const { decision } = await json([
    ...['approve', item, '--version', '1', '--by', 'ana', '--store', store],
  ])
  expect(decision).toMatchObject({ outcome: 'approve', reason: 'approved on the command line' })
  const desk = await openDesk(path)
  expect(await desk.until('ana', 'completed')).toBe('completed')
  expect(desk.world.charged).toEqual([40])
})

test('E1 an edit from a file takes the place of what was shown', async () => {
  const { store, path } = await servedDesk(['ana'])
  const item = await openItem(store, 'ana')
  const file = join(folder(), 'edit.json')
  writeFileSync(file, '{"amount": 20, "letter": "Hi"}')
  const words = ['approve', item, '--version', '1', '--by', 'bo', '--store', store]
  const none = await run([...words, '--edit', `@${file}.not`])
  expect(none.code).toBe(2)
  expect(none.stderr).toMatch(/there is no such file; @ means: the JSON in this file/)
  writeFileSync(`${file}.bad`, '{"amount"')
  expect((await run([...words, '--edit', `@${file}.bad`])).stderr).toMatch(/It was read from /)
  const { decision } = await json([...words, '--edit', `@${file}`])
  expect(decision).toMatchObject({ outcome: 'edit', result: { amount: 20 } })
  const desk = await openDesk(path)
  await desk.until('ana', 'completed')
  expect(desk.world.charged).toEqual([20])
})

test('E1 an edit that does not fit is asked for again, and the new item says why', async () => {
  const { store, path } = await servedDesk(['ana'])
  const item = await openItem(store, 'ana')
  const edit = ['approve', item, '--version', '1', '--by', 'bo', '--store', store, '--edit']
  // What the item's own schema says is told at once; the rest is the program's to see.
  const wrong = await run([...edit, '{"amount": "much"}'])
  expect(wrong.code).toBe(1)
  expect(wrong.stderr).toMatch(/the edit is not valid: letter is missing; amount must be number/)
  await json([...edit, '{"amount": 40, "letter": "Pay!!"}'])
  const desk = await openDesk(path)
  await desk.until('ana', 'waiting_human')
  await desk.leave()
  const again = await openItem(store, 'ana')
  expect(again).not.toBe(item)
  const { stdout } = await run(['inbox', 'show', again, '--store', store])
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(/again an answer did not fit: .*be polite/)
})

test('E3 reject wants a reason, and the run is told it', async () => {
  const { store, path } = await servedDesk(['ana'])
  const item = await openItem(store, 'ana')
  const words = ['reject', item, '--version', '1', '--by', 'ana', '--store', store]
  const silent = await run(words)
  expect(silent.code).toBe(2)
  expect(silent.stderr).toContain("needs --reason '<why>'")
  await json([...words, '--reason', 'too dear'])
  const desk = await openDesk(path)
  expect(await desk.until('ana', 'failed')).toBe('failed')
  const { run: failed } = await json(['run', 'show', 'ana', '--store', store])
  expect(failed.error.message).toContain('too dear')
})

test('A6 a call that the policy held shows why, and is sent when it is approved', async () => {
  const { store, path } = await servedDesk(['rich'])
  const first = await openItem(store, 'rich')
  await json(['approve', first, '--version', '1', '--by', 'ana', '--store', store])
  const desk = await openDesk(path)
  await expect.poll(async () => (await desk.cf.run('rich').status()).visit).toBe(4)
  await desk.until('rich', 'waiting_human')
  await desk.leave()
  expect(desk.world.charged).toEqual([])
  const held = await openItem(store, 'rich')
  const { stdout } = await run(['inbox', 'show', held, '--store', store])
  expect(stdout).toMatch(/held call +charge_card \(idempotent_with_key\), call 1/)
  expect(stdout).toMatch(/because +more than 1000\nshown +\{"input":\{"amount":5000\}\}/)
  expect(stdout).not.toContain(`respond ${held}`)
  await json(['approve', held, '--version', '1', '--by', 'cfo', '--store', store])
  const after = await openDesk(path)
  await after.until('rich', 'completed')
  expect(after.world.charged).toEqual([5_000])
})

test('respond answers a question in one word', async () => {
  const { store } = await prepare()
  const item = await openItem(store, 'ana')
  const shown = await run(['inbox', 'show', item, '--store', store])
  expect(shown.stdout.replaceAll(/[\s\\]+/g, ' ')).toContain(`respond ${item} '{…}' --version 1`)
  const bare = await run(['respond', item, 'yes', '--version', '1', '--store', store])
  expect(bare.code).toBe(2)
  expect(bare.stderr).toMatch(/needs quotes of its own: '"yes"'.*respond item_/)
  const words = ['respond', item, '{"ok": true}', '--version', '1', '--store', store]
  expect((await json(words)).decision).toMatchObject({ outcome: 'respond', result: { ok: true } })
  const doubt = await openItem(store, 'lost')
  const wrong = await run(['approve', doubt, '--yes', '--store', store])
  expect(wrong.code).toBe(1)
  expect(wrong.stderr).toMatch(
    /"approve" is not an outcome of item .*a doubt \(unknown\); choose happened.*DECISION_INVALID/,
  )
})

test('D4 a decision about a paused run is kept, and it is told how it will count', async () => {
  const { store } = await servedDesk(['ana'])
  const item = await openItem(store, 'ana')
  await json(['run', 'pause', 'ana', '--store', store])
  const words = ['approve', item, '--version', '1', '--by', 'ana', '--store', store]
  const { stdout } = await run(words)
  expect(stdout).toMatch(
    /Run ana is paused\.\nIt counts when the run is resumed:\n.* run resume ana/,
  )
})
