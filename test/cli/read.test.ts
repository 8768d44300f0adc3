import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { folder, json, misfits, openItem, prepare, run } from './harness.ts'

test('L1 runs lists what a store holds, and fits into 80 columns when piped', async () => {
  const { store } = await prepare()
  const { stdout, code } = await run(['runs', '--store', store])
  expect(code).toBe(0)
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
    ['RUN', 'GRAPH', 'STATE'],
    ['broken', 'failing@2.1.0', 'failed'],
    ['bob', 'outreach@1.0.0', 'waiting_human'],
    ['ana', 'outreach@1.0.0', 'waiting_human'],
    ['lost', 'outreach@1.0.0', 'waiting_human'],
    [''],
  ])
  expect(stdout).toContain('send_email: did it happen?')
  expect(misfits(stdout)).toEqual([])
})

test('what strangers wrote cannot move the cursor', async () => {
  const { store } = await prepare()
  const pages = await Promise.all(
    [['runs'], ['run', 'show', 'broken', '--events'], ['inbox']].map((args) =>
      run([...args, '--store', store]),
    ),
  )
  const text = pages.map(({ stdout }) => stdout).join('')
  expect(text).toContain('no luck\\u001b[2J')
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u)
})

test('runs filters by state and graph, and pages by cursor', async () => {
  const { store } = await prepare()
  const ids = async (...args: string[]) =>
    (await json(['runs', ...args, '--store', store])).runs.map(
      (row: { run_id: string }) => row.run_id,
    )
  expect(await ids('--state', 'failed')).toEqual(['broken'])
  expect(await ids('--graph', 'outreach')).toEqual(['bob', 'ana', 'lost'])
  const first = await json(['runs', '--limit', '3', '--store', store])
  expect(first.runs).toHaveLength(3)
  expect(await ids('--cursor', first.next)).toEqual(['lost'])
  const text = await run(['runs', '--limit', '3', '--store', store])
  expect(text.stdout).toContain(`--cursor ${first.next}`)
  const none = await run(['runs', '--state', 'paused', '--store', store])
  expect(none).toMatchObject({ code: 0, stdout: 'No runs like that.\n' })
})

test('run show tells what a run waits for, and shows its ledger', async () => {
  const { store } = await prepare()
  const { stdout } = await run(['run', 'show', 'lost', '--events', '--store', store])
  expect(stdout).toMatch(/^lost {2}waiting_human, for /)
  expect(stdout).toMatch(/waits for send_email: did it happen\?/)
  expect(stdout).toMatch(/inbox show item_\w{20}/)
  expect(stdout).toMatch(/send_email +unsafe_on_replay +in_doubt +1/)
  expect(stdout).toMatch(/Z +state +from running, to waiting_human/)
  expect(misfits(stdout)).toEqual([])

  const shown = await json(['run', 'show', 'ana', '--store', store])
  expect(shown.run).toMatchObject({ run_id: 'ana', state: 'waiting_human' })
  expect(shown.run.created_at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
  const [call] = shown.calls
  expect(call).toMatchObject({
    tool_name: 'send_email',
    replay_class: 'unsafe_on_replay',
    status: 'committed',
    attempts: 1,
    external_id: 'm-ana',
    result: { messageId: 'm-ana' },
  })
  expect(shown).not.toHaveProperty('events')
})

test('G1, A10 inbox show has all that is needed to decide a call nobody knows about', async () => {
  const { store } = await prepare()
  const list = await run(['inbox', '--store', store])
  expect(list.stdout).toMatch(/item_\w{20} +lost +send_email: did it happen\?/)
  expect(misfits(list.stdout)).toEqual([])

  const item = await openItem(store, 'lost')
  const { stdout } = await run(['inbox', 'show', item, '--store', store])
  const [title, first] = stdout.split('\n')
  expect([title, first]).toEqual([
    'send_email: did it happen?',
    'look at    Search the mail log. https://mail.test/?q=lost',
  ])
  const flat = stdout.replaceAll(/\s+/g, ' ')
  expect(flat).toContain('example {"messageId":"m-1"}')
  expect(flat).toContain('call send_email (unsafe_on_replay)')
  expect(flat).toContain('input {"body":"first","to":"lost"}')
  expect(flat).toMatch(/attempt 1 sent .* by worker w_\w+, pid \d+ on .*It ended .*: unknown\./)
  expect(flat).toMatch(/"It did not happen" can be said from \d{4}-.*Z \(in (?:\d+ s|1 min)\)/)
  for (const outcome of ['happened', 'did_not_happen', 'fail', 'abandon']) {
    expect(flat).toContain(`decide ${item} ${outcome}`)
  }
  expect(flat).toContain('--version 1')
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])

  const shown = await json(['inbox', 'show', item, '--store', store])
  expect(shown).toMatchObject({
    kind: 'doubt',
    reason: 'unknown',
    version: 1,
    call: { input: { to: 'lost' }, attempts: [{ attempt: 1, pid: process.pid }] },
    did_not_happen: { may_still_run: false },
  })
  expect(Date.parse(shown.did_not_happen.from)).toBeGreaterThan(Date.now())
})

test('a store that is not there is named, and not made', async () => {
  const path = `${folder()}/none.db`
  const commands = [
    ['runs'],
    ['run', 'show', 'x'],
    ['inbox'],
    ['inbox', 'show', 'x'],
    ['decide', 'x', 'abandon', '--reason', 'y', '--yes'],
    ['store', 'adopt', '--reason', 'y'],
    ['store', 'status'],
    ['store', 'collect'],
    ['store', 'rotate-key'],
    ['run', 'pause', 'x'],
    ['run', 'retry', 'x', '--reason', 'y'],
    ['run', 'events', 'x', '--follow'],
    ['checkpoint', 'list', 'x'],
    ['ledger', 'verify'],
    ['worker', 'list'],
    ['approve', 'x', '--yes'],
  ]
  const store = ['--store', `sqlite:${path}`]
  const ends = await Promise.all(commands.map((args) => run([...args, ...store])))
  for (const { code, stderr, stdout } of ends) {
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^error: there is no store at .*none\.db; .*STORE_NOT_FOUND/)
  }
  expect(readdirSync(path.replace('/none.db', ''))).toEqual([])
})
