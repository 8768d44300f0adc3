import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { carryOn, json, openItem, prepare, run } from './harness.ts'

const reason = ['--reason', 'seen in the log']

test('C2 "happened" answers the call; nothing is sent again, and the run goes on', async () => {
  const { store } = await prepare()
  const item = await openItem(store, 'lost')
  const result = '{"messageId": "m-7"}'
  const words = ['decide', item, 'happened', '--result', result, '--version', '1', ...reason]
  const { decision, run: after } = await json([...words, '--by', 'ana', '--store', store])
  expect(decision).toMatchObject({ outcome: 'happened', by: 'ana', reason: 'seen in the log' })
  expect(decision.result).toEqual({ messageId: 'm-7' })
  expect(after).toMatchObject({ run_id: 'lost', state: 'pending' })

  expect(await carryOn(store, 'lost', { until: 'waiting_human' })).toEqual([])
  const question = await openItem(store, 'lost')
  const answer = ['decide', question, 'respond', '--result', '"yes"', '--yes', '--reason', 'ok']
  const said = await run([...answer, '--store', store])
  expect(said.stdout).toMatch(/^Decided: respond, by .+\. Run lost is pending\.\nNo worker is on/)
  expect(await carryOn(store, 'lost', { until: 'completed' })).toEqual([])
  const { run: done } = await json(['run', 'show', 'lost', '--store', store])
  expect(done.output).toEqual({ answer: 'yes', mail: { messageId: 'm-7' } })
})

test('I5 "did not happen" said too early is refused, and the message says until when', async () => {
  const { store } = await prepare()
  const item = await openItem(store, 'lost')
  const { did_not_happen: may } = await json(['inbox', 'show', item, '--store', store])
  const words = ['decide', item, 'did-not-happen', '--version', '1', ...reason, '--store', store]
  const early = await run(words)
  expect(early.code).toBe(1)
  expect(early.stderr).toContain(may.from)
  expect(early.stderr).toContain('--made-sure')
  expect(early.stderr).toContain('DECISION_TOO_EARLY')
  const asJson = await run([...words, '--json'])
  expect(JSON.parse(asJson.stderr).error).toMatchObject({
    code: 'DECISION_TOO_EARLY',
    docs: 'docs/errors/DECISION_TOO_EARLY.md',
    details: { until: may.from },
  })
  const sure = await json([...words, '--made-sure'])
  expect(sure.decision).toMatchObject({ outcome: 'did_not_happen', made_sure: true })
})

test('a decision about an old version is refused', async () => {
  const { store } = await prepare()
  const item = await openItem(store, 'lost')
  const words = ['decide', item, 'abandon', ...reason, '--store', store]
  const old = await run([...words, '--version', '7'])
  expect(old.code).toBe(1)
  expect(old.stderr).toMatch(/is at version 1, and you looked at 7.*ITEM_CHANGED/)
  const done = await run([...words, '--version', '1'])
  expect(done.stdout).toMatch(
    /^Decided: abandon, by .+\. Run lost is failed\.\n\nNext: Go on with ana\?/,
  )
  const again = await run([...words, '--version', '2'])
  expect(again.stderr).toContain('ITEM_CLOSED')
})

test('C3 a call without its record is decided by naming one, its hash shortened', async () => {
  const { store } = await prepare()
  const question = await openItem(store, 'ana')
  const answer = ['decide', question, 'respond', '--result', 'true', '--yes', '--reason', 'ok']
  await json([...answer, '--store', store])
  const moved = { body: 'changed', until: 'waiting_human' } as const
  expect(await carryOn(store, 'ana', moved)).toEqual([])
  const item = await openItem(store, 'ana')
  const shown = await run(['inbox', 'show', item, '--store', store])
  const name = /use_record \\\n {4}--record (send_email\/\w{12}\/0)/.exec(shown.stdout)?.[1] ?? ''
  expect(name).not.toBe('')

  const words = ['decide', item, 'use_record', '--version', '1', ...reason, '--store', store]
  const wrong = await run([...words, '--record', 'send_email/ffffffffffff/0'])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain(name)
  await json([...words, '--record', name])
  expect(await carryOn(store, 'ana', { body: 'changed', until: 'completed' })).toEqual([])
})

test('without a terminal and a version the item is shown, with the exact command', async () => {
  const { store } = await prepare()
  const item = await openItem(store, 'lost')
  const words = ['decide', item, 'happened', '--result', '{"messageId": "it\'s"}', ...reason]
  const unseen = await run([...words, '--by', 'ana', '--store', store])
  expect(unseen.code).toBe(2)
  expect(unseen.stdout).toContain('send_email: did it happen?')
  expect(unseen.stderr).toContain(`counterfoil inbox show ${item}`)
  const [, command = ''] = /To decide exactly that: (.+) \[CLI_USAGE/.exec(unseen.stderr) ?? []
  expect(command).toContain('--version 1')
  const { stdout } = await promisify(execFile)('sh', ['-c', command])
  expect(stdout).toMatch(/^Decided: happened, by ana\./)

  const silent = await run(['decide', item, 'abandon', '--yes', '--store', store])
  expect(silent.code).toBe(2)
  expect(silent.stderr).toContain('--reason')
})

test.each([
  ['{messageId: m1}', /removed the double quotes.*--result '\{"id": "m1"\}'/],
  ['yes', /A plain text needs quotes of its own: '"yes"'/],
  ['{"a": 1', /not valid JSON/],
])('JSON that is none (%s) is answered with how to quote it', async (text, says) => {
  const { code, stderr } = await run(['decide', 'x', 'happened', '--result', text, ...reason])
  expect(code).toBe(2)
  expect(stderr).toMatch(says)
  expect(stderr).toContain('JSON_INVALID')
  expect(stderr.trimEnd()).not.toContain('\n')
})

test('E8 after a decision the next item is named with its command, or none', async () => {
  const { store } = await prepare()
  const lost = await openItem(store, 'lost')
  const decide = (item: string, ...words: string[]) =>
    run(['decide', item, ...words, '--version', '1', '--by', 'ana', ...reason, '--store', store])
  const first = await decide(lost, 'abandon')
  const ana = await openItem(store, 'ana')
  const [, title, command = ''] =
    /\n\nNext: (.+)\n {2}([\s\S]+ inbox show [\s\S]+)\n$/.exec(first.stdout) ?? []
  expect([title, command.includes(ana)]).toEqual(['Go on with ana? (run ana)', true])
  const { stdout: shown } = await promisify(execFile)('sh', ['-c', command])
  expect(shown).toContain('Go on with ana?')
  const bob = await openItem(store, 'bob')
  const many = ['inbox', 'decide', 'abandon', `${ana}@1`, ...reason, '--store', store]
  expect((await run(many)).stdout).toContain(`Next: Go on with bob? (run bob)\n`)
  const last = await decide(bob, 'abandon')
  expect(last.stdout).toMatch(/\n\nNothing else waits for ana\.\n$/)
})

test('E2 a result that does not fit the shown schema is refused at once', async () => {
  const { store } = await prepare()
  const item = await openItem(store, 'lost')
  const words = ['decide', item, 'happened', '--version', '1', ...reason, '--store', store]
  const wrong = await run([...words, '--result', '{"messageId": 7}'])
  expect(wrong.code).toBe(1)
  expect(wrong.stderr).toMatch(/result of send_email is not valid: messageId must be string/)
  const silent = await run(words)
  expect(silent.stderr).toMatch(/"happened" needs `result`: .* for example \{"messageId":"m-1"\}/)
})

test('E2 who comes second is told who decided; a run given for an item is named', async () => {
  const { store } = await prepare()
  const item = await openItem(store, 'lost')
  const abandon = ['abandon', '--version', '1', ...reason, '--store', store]
  await json(['decide', item, ...abandon, '--by', 'ana'])
  const second = await run(['decide', item, ...abandon, '--by', 'bo'])
  expect(second.stderr).toMatch(/was decided "abandon" by ana; nothing is left.*ITEM_CLOSED/)
  const named = await run(['decide', 'bob', ...abandon])
  expect(named.stderr).toMatch(
    /no item bob; that is the id of a run.*`counterfoil inbox --run bob`/,
  )
})
