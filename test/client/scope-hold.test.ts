// Who holds a foreign workflow: openers beside each other, closing, and this process's own end.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, open, ScopeHeldError, tool } from '../../src/index.ts'

const opened: Counterfoil[] = []
let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'counterfoil-scope-'))
})

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  rmSync(folder, { recursive: true })
})

/** As another process would: with a connection and a worker of its own. */
async function opens(): Promise<Counterfoil> {
  const store = `sqlite:${join(folder, 'runs.db')}`
  const cf = await open({ store, settleMs: 30, onWarning: () => {} })
  opened.push(cf)
  return cf
}

const ids = { workflowId: 'thread', nodeId: 'tools', checkpointId: 'c1' }
const at = (checkpointId: string) => ({ ...ids, checkpointId })
const ended = (promise: Promise<unknown>) => promise.catch((error: unknown) => error)
const status = (cf: Counterfoil) => cf.run(ids.workflowId).status()
const rowOf = (cf: Counterfoil) => cf.store.getRun({ namespace: 'default', runId: ids.workflowId })

const echo = tool({ name: 'echo', replayClass: 'pure', input: z.string(), run: (text) => text })

/** An unsafe tool that answers when it is told to. */
function slow() {
  const sent: string[] = []
  const answers: (() => void)[] = []
  const send = tool({
    name: 'send',
    replayClass: 'unsafe_on_replay',
    input: z.string(),
    run: (text) =>
      new Promise<string>((resolve) => {
        sent.push(text)
        answers.push(() => resolve(`sent ${text}`))
      }),
  })
  const until = async (count: number) => {
    while (sent.length < count) await sleep(1)
  }
  const answer = () => {
    for (const each of answers.splice(0)) each()
  }
  return { sent, send, until, answer }
}

describe('D2 one opener at a time', () => {
  test('a second opener of a scope is told that it is held', async () => {
    const cf = await opens()
    const scope = await cf.scope(ids)
    const second = await ended(cf.scope(ids))
    expect(second).toBeInstanceOf(ScopeHeldError)
    expect(second).toMatchObject({ code: 'SCOPE_HELD', retryable: true, details: ids })
    // The first one is none the worse for it.
    expect(await scope.call(echo, 'hello')).toBe('hello')
    await scope.close()
    await (await cf.scope(ids)).close()
  })

  test('of ten at once one wins', async () => {
    const cf = await opens()
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => cf.scope(ids)))
    expect(all.filter((each) => each.status === 'fulfilled')).toHaveLength(1)
    for (const each of all) {
      if (each.status === 'rejected') expect(each.reason).toBeInstanceOf(ScopeHeldError)
    }
  })

  test('a workflow is held by one process, whichever of its scopes is wanted', async () => {
    const [here, there] = [await opens(), await opens()]
    const scope = await here.scope(ids)
    for (const wanted of [ids, at('c2')]) {
      expect(await ended(there.scope(wanted))).toBeInstanceOf(ScopeHeldError)
    }
    await scope.close()
    const next = await there.scope(ids)
    expect(await ended(here.scope(ids))).toBeInstanceOf(ScopeHeldError)
    await next.close()
  })

  test('scopes of one workflow are open side by side in one process', async () => {
    const [cf, there] = [await opens(), await opens()]
    const { send, answer, until } = slow()
    const scopes = await Promise.all(['c1', 'c2', 'c3'].map((id) => cf.scope(at(id))))
    const calls = scopes.map((scope) => scope.call(send, scope.checkpointId))
    await until(3)
    answer()
    expect(await Promise.all(calls)).toEqual(['sent c1', 'sent c2', 'sent c3'])
    await scopes[0]?.close()
    await scopes[2]?.close()
    expect(await ended(there.scope(ids))).toBeInstanceOf(ScopeHeldError)
    expect(await status(cf)).toMatchObject({ state: 'running' })
    await scopes[1]?.close()
    expect(await status(cf)).toMatchObject({ state: 'waiting_tool', waitingFor: { kind: 'host' } })
    expect((await rowOf(cf))?.workerId).toBeNull()
    await (await there.scope(ids)).close()
  })

  test('opened while the last scope is being closed: the hold is kept or taken anew', async () => {
    const cf = await opens()
    for (let i = 0; i < 20; i++) {
      const first = await cf.scope(at('a'))
      const closing = first.close()
      for (let turns = 0; turns < i % 5; turns++) await null
      const second = await cf.scope(at('b'))
      await closing
      expect(await second.call(echo, String(i))).toBe(String(i))
      await second.close()
    }
  })

  test('closed twice at once, it is given back once', async () => {
    const cf = await opens()
    const scope = await cf.scope(ids)
    await Promise.all([scope.close(), scope.close()])
    const next = await cf.scope(ids)
    await scope.close()
    // The hold of the second is its own: the first one's end has not touched it.
    expect(await ended(cf.scope(ids))).toBeInstanceOf(ScopeHeldError)
    expect(await next.call(echo, 'x')).toBe('x')
    await next.close()
  })
})

describe('D2 an opening that fails leaves nothing held', () => {
  test('the records cannot be read', async () => {
    const [cf, there] = [await opens(), await opens()]
    const { load } = cf.store
    cf.store.load = async () => {
      throw new Error('the disk failed')
    }
    await expect(cf.scope(ids)).rejects.toThrow('the disk failed')
    await (await there.scope(ids)).close()
    cf.store.load = load
    await (await cf.scope(ids)).close()
  })

  test('the process cannot be registered', async () => {
    const cf = await opens()
    const { register } = cf.store
    cf.store.register = async () => {
      throw new Error('the disk failed')
    }
    await expect(cf.scope(ids)).rejects.toThrow('the disk failed')
    cf.store.register = register
    await (await cf.scope(ids)).close()
  })
})

describe('I7 close', () => {
  test('waits for what is in flight, which gets its answer', async () => {
    const cf = await opens()
    const { sent, send, answer, until } = slow()
    const scope = await cf.scope(ids)
    const call = scope.call(send, 'x')
    await until(1)
    let closed = false
    const closing = scope.close().then(() => {
      closed = true
    })
    await sleep(20)
    expect(closed).toBe(false)
    expect((await rowOf(cf))?.workerId).not.toBeNull()
    answer()
    await closing
    expect(await call).toBe('sent x')
    expect(sent).toEqual(['x'])
  })

  test('a call after it is refused', async () => {
    const cf = await opens()
    const scope = await cf.scope(ids)
    const { send, sent, until, answer } = slow()
    const call = scope.call(send, 'x')
    await until(1)
    const closing = scope.close()
    expect(await ended(scope.call(send, 'y'))).toMatchObject({ code: 'SCOPE_CLOSED' })
    answer()
    await closing
    expect(await ended(scope.call(send, 'z'))).toMatchObject({ code: 'SCOPE_CLOSED' })
    expect(await call).toBe('sent x')
    expect(sent).toEqual(['x'])
  })

  test('cf.close() records what is in flight, and gives everything back', async () => {
    const [cf, there] = [await opens(), await opens()]
    const { send, sent, answer, until } = slow()
    const scopes = [await cf.scope(ids), await cf.scope({ ...ids, workflowId: 'other' })]
    const calls = scopes.map((scope) => scope.call(send, scope.workflowId))
    await until(2)
    const closing = cf.close()
    await sleep(1)
    expect(await ended(scopes[0]?.call(send, 'late') ?? closing)).toMatchObject({
      code: 'SCOPE_CLOSED',
    })
    answer()
    await closing
    expect(await Promise.all(calls.map(ended))).toMatchObject([
      { code: 'SCOPE_CLOSED' },
      { code: 'SCOPE_CLOSED' },
    ])
    await Promise.all(scopes.map((scope) => scope.close()))
    expect(await ended(cf.scope(ids))).toMatchObject({ code: 'STORE_CLOSED' })
    const next = await there.scope(ids)
    expect(await next.call(send, 'thread')).toBe('sent thread')
    expect(sent).toEqual(['thread', 'other'])
  })

  test('I5 a function that runs on keeps the proof of its process’s end', async () => {
    const [cf, there] = [await opens(), await opens()]
    const stuck = tool({
      name: 'stuck',
      replayClass: 'unsafe_on_replay',
      input: z.null(),
      timeoutMs: 20,
      run: () => new Promise<string>(() => {}),
    })
    const scope = await cf.scope(ids)
    expect(await ended(scope.call(stuck, null))).toMatchObject({ code: 'REPLAY_UNSAFE' })
    await scope.close()
    await cf.close()
    const [worker] = await there.store.workers()
    expect(worker).toMatchObject({ stoppedAt: expect.any(Number), diedAt: null })
    expect(worker?.socketPath).not.toBeNull()
    const [item] = (await there.inbox.list()).items
    const tooEarly = there.inbox.decide(item?.itemId ?? '', {
      ...{ outcome: 'did_not_happen', by: 'ana', reason: 'looked', version: 1 },
    })
    await expect(tooEarly).rejects.toMatchObject({ code: 'DECISION_TOO_EARLY' })
  })
})

test('D2 a workflow between its scopes costs its process no renewals', async () => {
  const cf = await opens()
  let stops = 0
  const { stops: look } = cf.store
  cf.store.stops = async (workerId) => {
    stops++
    return look(workerId)
  }
  const scope = await cf.scope(ids)
  while (stops === 0) await sleep(10)
  await scope.close()
  await sleep(20)
  const before = stops
  await sleep(250)
  expect(stops).toBe(before)
  const again = await cf.scope(ids)
  while (stops === before) await sleep(10)
  await again.close()
})
