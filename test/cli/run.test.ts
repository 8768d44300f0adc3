import { expect, test } from 'vitest'
import { openDesk, servedDesk } from './desk.ts'
import { json, misfits, run, start } from './harness.ts'

const stateOf = async (store: string, runId: string) =>
  (await json(['run', 'show', runId, '--store', store])).run

test('D4 a run that nobody holds is paused, resumed and cancelled at once', async () => {
  const { store } = await servedDesk(['ana'])
  const say = (...words: string[]) => run(['run', ...words, '--store', store])
  const paused = await say('pause', 'ana', '--by', 'bo', '--reason', 'she called')
  expect(paused).toMatchObject({ code: 0, stderr: '' })
  expect(paused.stdout).toMatch(/^Run ana is paused\. Let it go on with:\n.* run resume ana/)
  expect((await say('pause', 'ana')).stdout).toMatch(/is paused already; nothing was changed/)
  const { events } = await json(['run', 'events', 'ana', '--kind', 'state', '--store', store])
  expect(events.at(-1).data).toMatchObject({ to: 'paused', cause: 'paused by bo: she called' })

  const resumed = await json(['run', 'resume', 'ana', '--store', store])
  expect(resumed).toMatchObject({ asked: 'resume', changed: true, done: true })
  expect(resumed.run.state).toBe('pending')
  const nothing = await say('resume', 'ana')
  expect(nothing.stdout).toMatch(/^Run ana is pending: there is nothing to resume/)
  expect(nothing.stdout).toContain('No worker is on this store now')

  expect((await say('cancel', 'ana')).stdout).toBe(
    'Run ana is cancelled. What it committed stays.\n',
  )
  expect(await say('cancel', 'ana')).toMatchObject({ code: 0 })
  const late = await say('pause', 'ana')
  expect(late.code).toBe(1)
  expect(late.stderr).toMatch(/run ana is cancelled: .*RUN_ENDED/)
})

test('D4 I7 a pause with --wait comes back when the call under way is on record', async () => {
  const desk = await openDesk()
  const { store, world } = desk
  await desk.begin('slow')
  await expect.poll(() => world.sent).toEqual(['slow'])
  const asked = await run(['run', 'pause', 'slow', '--store', store])
  expect(asked.stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /^Asked: worker w_\w+ finishes what is under way, and then run slow is paused\. --wait/,
  )
  const waiting = start(['run', 'pause', 'slow', '--wait', '--json', '--store', store])
  expect(await Promise.race([waiting.ended, sleep(1_000)])).toBe('still waiting')
  world.release()
  const { code, stdout } = await waiting.ended
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ done: true, changed: false, run: { state: 'paused' } })
  const { calls } = await json(['run', 'show', 'slow', '--store', store])
  expect(calls.at(-1)).toMatchObject({ tool_name: 'send_email', status: 'committed', visit: 2 })

  const resumed = await json(['run', 'resume', 'slow', '--wait', '--store', store])
  expect(resumed.run.state).not.toBe('pending')
  await desk.until('slow', 'waiting_human')
  expect(world.sent).toEqual(['slow'])
})

test('D4 Ctrl-C ends the waiting and nothing else: the wish stands', async () => {
  const desk = await openDesk()
  await desk.begin('slow')
  await expect.poll(() => desk.world.sent).toEqual(['slow'])
  const words = ['run', 'cancel', 'slow', '--wait', '--by', 'ana', '--reason', 'twice']
  const waiting = start([...words, '--store', desk.store])
  await expect.poll(async () => (await desk.cf.run('slow').status()).stopping).toBe('cancelled')
  waiting.child.kill('SIGINT')
  const { code, stdout } = await waiting.ended
  expect(code).toBe(130)
  expect(stdout).toContain('The request stays')
  const { stop } = await stateOf(desk.store, 'slow')
  expect(stop).toMatchObject({ to: 'cancelled', by: 'ana', reason: 'twice' })
  desk.world.release()
  await expect.poll(async () => (await desk.cf.run('slow').status()).state).toBe('cancelled')
})

test('D4 a pause that somebody takes back ends the waiting, with exit code 1', async () => {
  const desk = await openDesk(undefined, { refusing: false })
  await desk.begin('slow')
  await expect.poll(() => desk.world.sent).toEqual(['slow'])
  const waiting = start(['run', 'pause', 'slow', '--wait', '--store', desk.store])
  await expect.poll(async () => (await desk.cf.run('slow').status()).stopping).toBe('paused')
  await desk.cf.run('slow').resume()
  const { code, stdout } = await waiting.ended
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: 'Run slow is running: somebody withdrew it.\n',
  })
})

test('C10 retry lists the failed calls with what to say; silence changes nothing', async () => {
  const { store } = await servedDesk(['refused'], { refusing: true })
  const words = ['run', 'retry', 'refused', '--reason', 'it has room again', '--store', store]
  const silent = await run(words)
  expect(silent.code).toBe(2)
  expect(silent.stdout).toMatch(/^1 call of run refused failed, at node send \(visit 2\):/)
  expect(silent.stdout).toContain('mailbox full')
  expect(silent.stdout).toMatch(/run retry refused --call 'send_email#0=send'/)
  expect(silent.stderr).toMatch(/say what to do with send_email#0.*RETRY_INVALID/)
  expect(misfits(silent.stdout).filter((line) => !line.includes('main.js'))).toEqual([])
  const asJson = await run([...words, '--json'])
  expect({ code: asJson.code, stdout: asJson.stdout }).toEqual({ code: 2, stdout: '' })
  expect(JSON.parse(asJson.stderr).error).toMatchObject({
    code: 'RETRY_INVALID',
    details: { calls: [{ name: 'send_email#0', unresolved: false }] },
  })
  expect((await stateOf(store, 'refused')).state).toBe('failed')
})

test.each([
  ['send_email=sned', /"sned" cannot be done with a call; did you mean send\?/],
  ['send_mail=send', /names no failed call of this run; those that failed: send_email#0/],
  ['send_email', /write --call 'send_email=send'/],
  ['send_email=happened', /needs its result: 'send_email=happened:/],
  ['send_email=happened:{a}', /--call 'send_email=happened:\{"id": "m1"\}'.*JSON_INVALID/],
])('C10 --call %s is refused with the way to say it', async (call, says) => {
  const { store } = await servedDesk(['refused'], { refusing: true })
  const { code, stderr } = await run([
    ...['run', 'retry', 'refused', '--reason', 'x', '--call', call, '--store', store],
  ])
  expect(code).toBe(2)
  expect(stderr).toMatch(says)
})

test('C10 a failed call is sent once more, kept or taken as done, as its person says', async () => {
  const fates = [
    ['send_email=send', ['refused'], 'waiting_human'],
    ['send_email#0=keep', [], 'failed'],
    ['send_email#0=happened:{"messageId":"m-9"}', [], 'waiting_human'],
  ] as const
  for (const [call, sent, state] of fates) {
    const { store, path } = await servedDesk(['refused'], { refusing: true })
    const words = ['run', 'retry', 'refused', '--reason', 'back', '--call', call, '--by', 'ana']
    const said = await json([...words, '--store', store])
    expect(said.run.state).toBe('pending')
    expect(said.calls[0].name).toBe('send_email#0')
    const desk = await openDesk(path)
    expect(await desk.until('refused', 'waiting_human', 'failed')).toBe(state)
    expect(desk.world.sent).toEqual(sent)
    await desk.leave()
  }
})

test('C10 a pure call that failed is made again without a word', async () => {
  const { store, path } = await servedDesk(['mute'], { refusing: true })
  const { stdout } = await run(['run', 'retry', 'mute', '--reason', 'up again', '--store', store])
  expect(stdout).toMatch(/^Run mute is retried from visit 1, .*draft#0: sent once more/)
  const desk = await openDesk(path)
  expect(await desk.until('mute', 'waiting_human', 'failed')).toBe('waiting_human')
  expect(await json(['ledger', 'verify', 'mute', '--store', store])).toMatchObject({ found: 0 })
})

test('C10 only a failed run is tried again, and only with a reason', async () => {
  const { store } = await servedDesk(['ana'])
  const live = await run(['run', 'retry', 'ana', '--reason', 'x', '--store', store])
  expect(live.code).toBe(1)
  expect(live.stderr).toContain('RUN_NOT_FAILED')
  const bare = await run(['run', 'retry', 'ana', '--store', store])
  expect(bare.code).toBe(2)
  expect(bare.stderr).toContain("needs --reason '<why>'")
})

test('C7 preview says what would become of a call under way', async () => {
  const desk = await openDesk()
  await desk.begin('slow')
  await expect.poll(() => desk.world.sent).toEqual(['slow'])
  const preview = await json(['run', 'preview', 'slow', '--store', desk.store])
  expect(preview.calls).toMatchObject([
    { tool_name: 'send_email', status: 'pending', action: 'park' },
  ])
  expect(preview).toMatchObject({ replay: 0, rerun: 0, park: 1 })
  const { stdout } = await run(['run', 'preview', 'slow', '--store', desk.store])
  expect(stdout).toContain('If its worker died now: 1 call for a person to decide.')
  expect(stdout).toMatch(/send_email#0 +unsafe_on_replay +pending +park +nobody knows/)
  expect(misfits(stdout)).toEqual([])
})

test('events are filtered and cut, and followed until the run has ended', async () => {
  const desk = await openDesk()
  await desk.start('ana')
  const { store } = desk
  const text = await run(['run', 'events', 'ana', '--limit', '2', '--store', store])
  expect(text.stdout).toMatch(/^AT +EVENT +DATA\n.* asked .*\n.* state +from running/)
  expect(text.stdout).toMatch(/\d earlier ones:\n.* run events ana --limit \d/)
  expect(misfits(text.stdout).filter((line) => !line.includes('main.js'))).toEqual([])
  const none = await run(['run', 'events', 'ana', '--kind', 'stat', '--store', store])
  expect(none).toMatchObject({ code: 0, stdout: 'No events like that; did you mean state?\n' })

  const follow = start([
    'run',
    'events',
    'ana',
    '-f',
    '--kind',
    'state',
    '--json',
    '--store',
    store,
  ])
  await follow.says('"waiting_human"')
  const { items } = await desk.cf.inbox.list({ runId: 'ana' })
  const decision = { outcome: 'approve', by: 'ana', reason: 'ok', version: 1 } as const
  await desk.cf.inbox.decide(items[0]?.itemId ?? '', decision)
  const { code, stdout } = await follow.ended
  expect(code).toBe(0)
  const lines = stdout.trim().split('\n')
  const states = lines.map((line) => JSON.parse(line).data.to)
  expect(states).toEqual(['waiting_human', 'pending', 'completed'])
})

test('D7 state and document show what a run knows, by visit', async () => {
  const { store } = await servedDesk(['ana'])
  const first = await json(['run', 'state', 'ana', '--visit', '1', '--store', store])
  expect(first).toEqual({
    ...{ run_id: 'ana', visit: 1, node: 'plan' },
    state: { customer: 'ana', draft: '', notes: [] },
  })
  const { stdout } = await run(['run', 'state', 'ana', '--store', store])
  expect(stdout).toMatch(/^# state of run ana at node ask, visit 3\n\{\n {2}"customer": "ana",/)
  expect(JSON.parse(stdout.slice(stdout.indexOf('\n'))).notes).toEqual(['drafted', 'm-ana'])
  const gone = await run(['run', 'state', 'ana', '--visit', '9', '--store', store])
  expect(gone.stderr).toContain('CHECKPOINT_NOT_FOUND')

  const document = await json(['run', 'document', 'ana', '--store', store])
  expect(document).toMatchObject({
    agent_version: 'desk@1.0.0',
    cursor: { node: 'ask', visit: 3 },
    budget: { tokens_in: 100, tokens_out: 20, usd: 0.002, calls: 2 },
    side_effects: [{ tool_name: 'send_email', evidence: { external_id: 'm-ana' } }],
  })
  const text = await run(['run', 'document', 'ana', '--store', store])
  expect(text.stdout).toMatch(/cost +2 calls, 100 tokens in, 20 out, 0\.0020 USD/)
  expect(misfits(text.stdout)).toEqual([])
})

test('B7 a large state is printed whole with --json, and cut for a terminal', async () => {
  const { store } = await servedDesk(['large'])
  const { state } = await json(['run', 'state', 'large', '--store', store])
  expect(state.draft).toHaveLength(100_005)
  const inspect = await run(['checkpoint', 'inspect', 'large', '--store', store])
  expect(inspect.stdout).toContain('(cut; --json shows all of it)')
  expect(misfits(inspect.stdout)).toEqual([])
})

function sleep(ms: number): Promise<string> {
  return new Promise((resolve) => {
    setTimeout(() => resolve('still waiting'), ms)
  })
}
