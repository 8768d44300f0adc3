// Where a node would park, a scope's call rejects; a person decides in the same inbox, and the next
// scope with these ids goes on.
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  type Counterfoil,
  type DecideRequest,
  isCounterfoilError,
  type OpenOptions,
  OutcomeUnknownError,
  open,
  ReplayUnsafeError,
  type Scope,
  tool,
} from '../../src/index.ts'

const opened: Counterfoil[] = []

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
})

async function opens(options: Partial<OpenOptions> = {}): Promise<Counterfoil> {
  const cf = await open({ store: 'memory:', settleMs: 30, onWarning: () => {}, ...options })
  opened.push(cf)
  return cf
}

const ids = { workflowId: 'thread', nodeId: 'tools', checkpointId: 'c1' }

async function within<T>(
  cf: Counterfoil,
  work: (scope: Scope) => Promise<T>,
  at: Partial<typeof ids> = {},
): Promise<T> {
  const scope = await cf.scope({ ...ids, ...at })
  try {
    return await work(scope)
  } finally {
    await scope.close()
  }
}

const ended = (promise: Promise<unknown>) => promise.catch((error: unknown) => error)

/** A mail service that breaks off as long as it is down. */
function mailer() {
  const sent: unknown[] = []
  const state = { down: true }
  const mail = tool({
    name: 'mail',
    replayClass: 'unsafe_on_replay',
    input: z.string(),
    quietMs: 1,
    run: (to) => {
      sent.push(to)
      if (state.down) throw new Error('the connection broke off')
      return { id: `m${sent.length}` }
    },
  })
  return { sent, state, mail }
}

async function decide(
  cf: Counterfoil,
  said: Partial<DecideRequest> & Pick<DecideRequest, 'outcome'>,
  runId = ids.workflowId,
) {
  const [item] = (await cf.inbox.list({ runId })).items
  if (item === undefined) throw new Error('nothing waits for a person')
  const { itemId, version } = item
  const base = { by: 'ana', reason: 'looked', version, madeSure: true }
  await cf.inbox.decide(itemId, { ...base, ...said })
  return item
}

const status = (cf: Counterfoil) => cf.run(ids.workflowId).status()

describe('C2 an outcome that nobody knows', () => {
  test('call rejects with ReplayUnsafeError, and says what waits where', async () => {
    const cf = await opens()
    const { mail } = mailer()
    const scope = await cf.scope(ids)
    const error = await ended(scope.call(mail, 'ana', { callId: 'a' }))
    expect(error).toBeInstanceOf(ReplayUnsafeError)
    const [item] = (await cf.inbox.list({ kind: 'doubt' })).items
    expect(error).toMatchObject({ code: 'REPLAY_UNSAFE', retryable: false, itemId: item?.itemId })
    expect((error as ReplayUnsafeError).call).toMatchObject({
      ...{ runId: 'thread', node: 'tools', tool: 'mail', input: 'ana', attempt: 1 },
      replayClass: 'unsafe_on_replay',
    })
    expect(item?.body).toMatchObject({
      scope: { nodeId: 'tools', checkpointId: 'c1' },
      node: 'tools',
      input: 'ana',
    })
    await scope.close()
    expect(await status(cf)).toMatchObject({
      state: 'waiting_human',
      waitingFor: { kind: 'doubt', items: [item?.itemId] },
    })
  })

  test('the class in the error is the tool’s own', async () => {
    const cf = await opens()
    const charge = tool({
      name: 'charge',
      replayClass: 'idempotent_with_key',
      idempotencyKey: (to) => to,
      keyTtlMs: Number.POSITIVE_INFINITY,
      input: z.string(),
      retry: { attemptMax: 1 },
      run: (): string => {
        throw new Error('broke off')
      },
    })
    const error = await within(cf, (scope) => ended(scope.call(charge, 'ana')))
    expect((error as ReplayUnsafeError).call).toMatchObject({
      replayClass: 'idempotent_with_key',
      idempotencyKey: 'ana',
    })
  })

  test('siblings and later calls are refused alike; what was under way is recorded', async () => {
    const cf = await opens()
    const { mail } = mailer()
    let sent = 0
    let release = () => {}
    const slow = tool({
      name: 'slow',
      replayClass: 'unsafe_on_replay',
      input: z.null(),
      run: () =>
        new Promise<number>((resolve) => {
          sent++
          release = () => resolve(7)
        }),
    })
    const scope = await cf.scope(ids)
    const calls = [scope.call(slow, null), scope.call(mail, 'ana')]
    while ((await cf.inbox.list()).items.length === 0) await new Promise(setImmediate)
    const late = scope.call(mail, 'bob')
    release()
    const errors = await Promise.all([...calls, late].map(ended))
    expect(errors.every((error) => isCounterfoilError(error, 'REPLAY_UNSAFE'))).toBe(true)
    expect(new Set(errors.map((error) => (error as ReplayUnsafeError).itemId)).size).toBe(1)
    await scope.close()
    await decide(cf, { outcome: 'happened', result: { id: 'seen' } })
    const again = await within(cf, (next) =>
      Promise.all([next.call(slow, null), next.call(mail, 'ana')]),
    )
    expect(again).toEqual([7, { id: 'seen' }])
    expect(sent).toBe(1)
  })

  test('opened again undecided: the same item, and nothing is sent', async () => {
    const cf = await opens()
    const { mail, sent } = mailer()
    const errors = []
    for (let i = 0; i < 3; i++) {
      errors.push(await within(cf, (scope) => ended(scope.call(mail, 'ana'))))
    }
    expect(new Set(errors.map((error) => (error as ReplayUnsafeError).itemId)).size).toBe(1)
    expect((await cf.inbox.list()).items).toHaveLength(1)
    expect(sent).toHaveLength(1)
  })

  test('happened: the next scope gets the result that was stated', async () => {
    const cf = await opens()
    const { mail, sent } = mailer()
    await within(cf, (scope) => ended(scope.call(mail, 'ana')))
    await decide(cf, { outcome: 'happened', result: { id: 'x' } })
    for (let i = 0; i < 2; i++) {
      expect(await within(cf, (scope) => scope.call(mail, 'ana'))).toEqual({ id: 'x' })
    }
    expect(sent).toHaveLength(1)
  })

  test('did not happen: sent exactly once more', async () => {
    const cf = await opens()
    const { mail, sent, state } = mailer()
    await within(cf, (scope) => ended(scope.call(mail, 'ana')))
    await decide(cf, { outcome: 'did_not_happen' })
    state.down = false
    for (let i = 0; i < 2; i++) {
      expect(await within(cf, (scope) => scope.call(mail, 'ana'))).toEqual({ id: 'm2' })
    }
    expect(sent).toHaveLength(2)
  })

  test('fail: OutcomeUnknownError, and the same call at a later place asks a person', async () => {
    const cf = await opens()
    const { mail, sent, state } = mailer()
    await within(cf, (scope) => ended(scope.call(mail, 'ana')))
    await decide(cf, { outcome: 'fail' })
    state.down = false
    const failed = await within(cf, (scope) => ended(scope.call(mail, 'ana')))
    expect(failed).toBeInstanceOf(OutcomeUnknownError)
    const next = { checkpointId: 'c2' }
    const error = await within(cf, (scope) => ended(scope.call(mail, 'ana')), next)
    expect(error).toMatchObject({
      code: 'REPLAY_UNSAFE',
      details: { item: { reason: 'unresolved' } },
    })
    await decide(cf, { outcome: 'fail' })
    expect(await within(cf, (scope) => scope.call(mail, 'bob'), { checkpointId: 'c3' })).toEqual({
      id: 'm2',
    })
    expect(sent).toEqual(['ana', 'bob'])
  })

  test('decided while the scope is still open: nothing is lost by closing it', async () => {
    const cf = await opens()
    const { mail, sent } = mailer()
    const scope = await cf.scope(ids)
    await ended(scope.call(mail, 'ana'))
    await decide(cf, { outcome: 'happened', result: { id: 'x' } })
    await scope.close()
    expect(await status(cf)).toMatchObject({ state: 'waiting_tool', waitingFor: { kind: 'host' } })
    expect(await within(cf, (next) => next.call(mail, 'ana'))).toEqual({ id: 'x' })
    expect(sent).toHaveLength(1)
  })

  test('abandon: the workflow has failed, whether the scope was open or closed', async () => {
    const { mail } = mailer()
    for (const early of [true, false]) {
      const cf = await opens()
      const scope = await cf.scope(ids)
      const other = await cf.scope({ ...ids, checkpointId: 'c2' })
      await ended(scope.call(mail, 'ana'))
      await ended(other.call(mail, 'bob'))
      if (early) await decide(cf, { outcome: 'abandon' })
      await Promise.all([scope.close(), other.close()])
      if (!early) await decide(cf, { outcome: 'abandon' })
      await expect(cf.run(ids.workflowId).result()).rejects.toMatchObject({
        details: { failure: { code: 'RUN_ABANDONED' } },
      })
      await expect(cf.scope(ids)).rejects.toMatchObject({ code: 'RUN_ENDED' })
    }
  })

  test('D1 abandon in a workflow that goes on: the place has ended, others have not', async () => {
    for (const early of [true, false]) {
      const { mail, sent, state } = mailer()
      const cf = await opens()
      const at = (checkpointId: string) =>
        cf.scope({ ...ids, checkpointId, afterAbandon: 'go_on' } as const)
      const scope = await at('c1')
      await ended(scope.call(mail, 'ana'))
      state.down = false
      if (early) await decide(cf, { outcome: 'abandon' })
      await scope.close()
      if (!early) await decide(cf, { outcome: 'abandon' })
      expect((await status(cf)).state).toBe('failed')
      await expect(at('c1')).rejects.toMatchObject({ code: 'RUN_ABANDONED' })
      const next = await at('c2')
      // Whoever comes back for the abandoned place does not disturb the others.
      await expect(at('c1')).rejects.toMatchObject({ code: 'RUN_ABANDONED' })
      expect(await next.call(mail, 'bob')).toEqual({ id: 'm2' })
      await next.close()
      expect([(await status(cf)).state, sent]).toEqual(['waiting_tool', ['ana', 'bob']])
    }
  })

  test('a probe that knows spares the person', async () => {
    const cf = await opens()
    let landed: 'unknown' | 'yes' = 'unknown'
    let sent = 0
    const mail = tool({
      name: 'mail',
      replayClass: 'unsafe_on_replay',
      input: z.string(),
      run: (): string => {
        sent++
        throw new Error('broke off')
      },
      probe: () => (landed === 'yes' ? { landed, result: 'found' } : { landed }),
    })
    const error = await within(cf, (scope) => ended(scope.call(mail, 'x')))
    expect(error).toMatchObject({ code: 'REPLAY_UNSAFE' })
    landed = 'yes'
    // In doubt since: a person has been asked, and answers.
    await decide(cf, { outcome: 'happened', result: 'seen' })
    expect(await within(cf, (scope) => scope.call(mail, 'x'))).toBe('seen')
    const next = { checkpointId: 'c2' }
    expect(await within(cf, (scope) => scope.call(mail, 'y'), next)).toBe('found')
    expect(sent).toBe(2)
  })
})

describe('C2 a host that goes on after a doubt does not send the same call again', () => {
  test('at the next node', async () => {
    const cf = await opens()
    const { mail, sent, state } = mailer()
    await within(cf, (scope) => ended(scope.call(mail, 'ana')))
    state.down = false
    // The model was told of an error, and tries again with a tool_call_id of its own.
    const retry = (scope: Scope) => ended(scope.call(mail, 'ana', { callId: 'again' }))
    const error = await within(cf, retry, { checkpointId: 'c2' })
    expect(error).toMatchObject({
      code: 'REPLAY_UNSAFE',
      details: { item: { reason: 'unresolved' } },
    })
    expect(sent).toEqual(['ana'])
    // A decision for the first call does not stand for the second: that one has an item of its own.
    await decide(cf, { outcome: 'happened', result: { id: 'x' } })
    await decide(cf, { outcome: 'send' })
    expect(await within(cf, (scope) => scope.call(mail, 'ana'))).toEqual({ id: 'x' })
    expect(await within(cf, retry, { checkpointId: 'c2' })).toEqual({ id: 'm2' })
  })

  test('in a scope that was open meanwhile', async () => {
    const cf = await opens()
    const { mail, sent, state } = mailer()
    const [first, second] = [await cf.scope(ids), await cf.scope({ ...ids, checkpointId: 'c2' })]
    await ended(first.call(mail, 'ana'))
    state.down = false
    expect(await ended(second.call(mail, 'ana'))).toMatchObject({ code: 'REPLAY_UNSAFE' })
    await Promise.all([first.close(), second.close()])
    expect(sent).toEqual(['ana'])
  })

  test('once somebody has failed it blindly, and before its own scope is opened', async () => {
    const cf = await opens()
    const { mail, sent, state } = mailer()
    await within(cf, (scope) => ended(scope.call(mail, 'ana')))
    await decide(cf, { outcome: 'fail' })
    state.down = false
    const next = { checkpointId: 'c2' }
    const error = await within(cf, (scope) => ended(scope.call(mail, 'ana')), next)
    expect(error).toMatchObject({ code: 'REPLAY_UNSAFE' })
    expect(sent).toEqual(['ana'])
  })

  test('another workflow is not concerned', async () => {
    const cf = await opens()
    const { mail, state } = mailer()
    await within(cf, (scope) => ended(scope.call(mail, 'ana')))
    state.down = false
    const call = (scope: Scope) => scope.call(mail, 'ana')
    expect(await within(cf, call, { workflowId: 'other' })).toEqual({ id: 'm2' })
  })

  test('the workflow waits for a person until every item of its scopes is decided', async () => {
    const cf = await opens()
    const { mail, state } = mailer()
    await within(cf, (scope) => ended(scope.call(mail, 'ana')))
    state.down = false
    const look = tool({ name: 'look', replayClass: 'pure', input: z.string(), run: (q) => q })
    await within(cf, (scope) => scope.call(look, 'bob'), { checkpointId: 'c2' })
    expect(await status(cf)).toMatchObject({ state: 'waiting_human' })
  })
})

describe('C3 drift inside a scope', () => {
  test('a call with another input than the recorded one is a doubt, not a send', async () => {
    const cf = await opens()
    const { mail, sent, state } = mailer()
    state.down = false
    await within(cf, (scope) => scope.call(mail, 'ana', { callId: 'a' }))
    const moved = (scope: Scope) => ended(scope.call(mail, 'anna', { callId: 'a' }))
    const error = await within(cf, moved)
    expect(error).toMatchObject({ code: 'REPLAY_UNSAFE', details: { item: { reason: 'drift' } } })
    expect(sent).toEqual(['ana'])
    await decide(cf, { outcome: 'use_record' })
    expect(await within(cf, moved)).toEqual({ id: 'm1' })
    expect(sent).toEqual(['ana'])
  })

  test('send: the new one goes out once, and both replay from then on', async () => {
    const cf = await opens()
    const { mail, sent, state } = mailer()
    state.down = false
    await within(cf, (scope) => scope.call(mail, 'ana'))
    const other = (scope: Scope) => ended(scope.call(mail, 'bob'))
    await within(cf, other)
    await decide(cf, { outcome: 'send' })
    for (let i = 0; i < 2; i++) expect(await within(cf, other)).toEqual({ id: 'm2' })
    expect(sent).toEqual(['ana', 'bob'])
  })

  test('a scope that is closed with records left over is no doubt', async () => {
    const cf = await opens()
    const { mail, state } = mailer()
    state.down = false
    await within(cf, (scope) => scope.call(mail, 'ana'))
    await within(cf, async () => {})
    expect((await cf.inbox.list()).items).toEqual([])
    expect(await status(cf)).toMatchObject({ state: 'waiting_tool' })
  })
})

describe('E1 a call that the risk policy holds', () => {
  const gated = () => opens({ gate: ({ amount }) => (amount === null ? 'run' : { ask: true }) })

  test('rejects with the approval; approved, it is sent once by the next scope', async () => {
    const cf = await gated()
    const { mail, sent, state } = mailer()
    state.down = false
    const call = (scope: Scope) => ended(scope.call(mail, 'ana', { amount: 5 }))
    const error = await within(cf, call)
    expect(error).toMatchObject({
      ...{ code: 'REPLAY_UNSAFE', retryable: false },
      details: { item: { reason: 'approval' } },
    })
    expect(sent).toEqual([])
    expect(await status(cf)).toMatchObject({
      state: 'waiting_human',
      waitingFor: { kind: 'approval' },
    })
    await decide(cf, { outcome: 'approve' })
    for (let i = 0; i < 2; i++) expect(await within(cf, call)).toEqual({ id: 'm1' })
    expect(sent).toEqual(['ana'])
  })

  test('edited: what was put in its place is sent, and answers the original call', async () => {
    const cf = await gated()
    const { mail, sent, state } = mailer()
    state.down = false
    const call = (scope: Scope) => scope.call(mail, 'ana', { amount: 5, callId: 'a' })
    await within(cf, (scope) => ended(call(scope)))
    await decide(cf, { outcome: 'edit', result: 'bob' })
    for (let i = 0; i < 2; i++) expect(await within(cf, call)).toEqual({ id: 'm1' })
    expect(sent).toEqual(['bob'])
  })

  test('rejected: the call fails for certain', async () => {
    const cf = await gated()
    const { mail, sent } = mailer()
    const call = (scope: Scope) => ended(scope.call(mail, 'ana', { amount: 5 }))
    await within(cf, call)
    await decide(cf, { outcome: 'reject', reason: 'too much' })
    expect(await within(cf, call)).toMatchObject({ code: 'CALL_FAILED' })
    expect(sent).toEqual([])
  })

  test('a sibling that needs no approval is answered first', async () => {
    const cf = await gated()
    const { mail, sent, state } = mailer()
    state.down = false
    const scope = await cf.scope(ids)
    const held = ended(scope.call(mail, 'ana', { amount: 5 }))
    expect(await scope.call(mail, 'bob')).toEqual({ id: 'm1' })
    expect(await held).toMatchObject({ code: 'REPLAY_UNSAFE' })
    await scope.close()
    expect(sent).toEqual(['bob'])
  })
})
