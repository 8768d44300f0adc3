// Scopes: the calls of a foreign runtime pass the same gate and ledger as a node's.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  CallFailedError,
  type CallInfo,
  type Counterfoil,
  NotSentError,
  type OpenOptions,
  open,
  RefusedError,
  type Scope,
  tool,
  workflow,
} from '../../src/index.ts'

const opened: Counterfoil[] = []
const folders: string[] = []

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-scope-'))
  folders.push(folder)
  return `sqlite:${join(folder, 'runs.db')}`
}

async function opens(store: string, options: Partial<OpenOptions> = {}): Promise<Counterfoil> {
  const cf = await open({ store, settleMs: 30, onWarning: () => {}, ...options })
  opened.push(cf)
  return cf
}

// Ids as hosts have them: of any form.
const ids = { workflowId: 'thread-7', nodeId: 'tools', checkpointId: 'v1#0#12' }

async function within<T>(cf: Counterfoil, work: (scope: Scope) => Promise<T>): Promise<T> {
  const scope = await cf.scope(ids)
  try {
    return await work(scope)
  } finally {
    await scope.close()
  }
}

interface Sent {
  input: unknown
  key: string | null
  attempt: number
}

/** Tools whose upstream remembers what was sent. */
function upstream() {
  const sent: Sent[] = []
  const note = (input: unknown, { idempotencyKey: key, attempt }: CallInfo) => {
    sent.push({ input, key, attempt })
    return { id: `m${sent.length}` }
  }
  const input = z.object({ to: z.string() })
  const mail = tool({ name: 'mail', replayClass: 'unsafe_on_replay', input, run: note })
  const look = tool({ name: 'look', replayClass: 'pure', input, run: note })
  const charge = tool({
    name: 'charge',
    replayClass: 'idempotent_with_key',
    idempotencyKey: ({ to }, call) => `${call.runId}:${to}`,
    keyTtlMs: Number.POSITIVE_INFINITY,
    input,
    run: note,
  })
  return { sent, mail, look, charge }
}

describe.each(['memory', 'sqlite'] as const)('on %s', (kind) => {
  const url = () => (kind === 'memory' ? 'memory:' : file())

  test.each(['mail', 'look', 'charge'] as const)(
    'C2 a second scope with the same ids replays %s and sends nothing',
    async (name) => {
      const cf = await opens(url())
      const { sent, [name]: called } = upstream()
      const first = await within(cf, (scope) => scope.call(called, { to: 'ana' }))
      const again = await within(cf, async (scope) => {
        const call = scope.call(called, { to: 'ana' })
        return [await call, call.replayed]
      })
      expect(first).toEqual({ id: 'm1' })
      expect(again).toEqual([{ id: 'm1' }, true])
      expect(sent).toHaveLength(1)
      expect(sent[0]?.key).toBe(name === 'charge' ? 'thread-7:ana' : null)
    },
  )

  test('C2 without callId, calls with the same input count in their order', async () => {
    const cf = await opens(url())
    const { sent, mail } = upstream()
    const both = async (scope: Scope) => [
      await scope.call(mail, { to: 'ana' }),
      await scope.call(mail, { to: 'ana' }),
    ]
    expect(await within(cf, both)).toEqual([{ id: 'm1' }, { id: 'm2' }])
    expect(await within(cf, both)).toEqual([{ id: 'm1' }, { id: 'm2' }])
    expect(sent).toHaveLength(2)
  })

  test('C2 callId stands for the occurrence, in whatever order the calls come', async () => {
    const cf = await opens(url())
    const { sent, mail } = upstream()
    const all = (scope: Scope, callIds: string[]) =>
      Promise.all(callIds.map((callId) => scope.call(mail, { to: 'ana' }, { callId })))
    const [a, b, c] = await within(cf, (scope) => all(scope, ['a', 'b', 'c']))
    expect(new Set([a?.id, b?.id, c?.id]).size).toBe(3)
    expect(await within(cf, (scope) => all(scope, ['c', 'a', 'b']))).toEqual([c, a, b])
    expect(sent).toHaveLength(3)
  })

  test('K1 a call that stands for others says so once, with its intent', async () => {
    const cf = await opens(url())
    const { sent, mail } = upstream()
    const options = { callId: 'a', standsFor: ['b', 'c'] }
    const one = (scope: Scope) => scope.call(mail, { to: 'ana' }, options)
    expect(await within(cf, one)).toEqual(await within(cf, one))
    const { items } = await cf.store.listEvents({ namespace: 'default', runId: ids.workflowId }, {})
    const said = items.filter(({ kind }) => kind === 'collapsed').map(({ data }) => data)
    expect(said).toEqual([{ tool: 'mail', ...options }])
    expect(sent).toHaveLength(1)
  })

  test.each(['b', [''], [7], [Number.NaN]])(
    'A3 ids that no call can stand for are refused: %j',
    async (wrong) => {
      const cf = await opens(url())
      const { sent, mail } = upstream()
      const options = { standsFor: wrong as never }
      const call = within(cf, (scope) => scope.call(mail, { to: 'ana' }, options))
      await expect(call).rejects.toThrow('`standsFor`')
      expect(sent).toHaveLength(0)
    },
  )

  test('C2 a host that comes back for some of its calls finds those', async () => {
    const cf = await opens(url())
    const { sent, mail } = upstream()
    const one = (callId: string) => (scope: Scope) => scope.call(mail, { to: 'ana' }, { callId })
    await within(cf, (scope) => Promise.all([one('a')(scope), one('b')(scope)]))
    expect(await within(cf, one('b'))).toEqual({ id: 'm2' })
    expect(await within(cf, one('a'))).toEqual({ id: 'm1' })
    expect(sent).toHaveLength(2)
  })

  test('C2 another node or checkpoint of the workflow is another visit', async () => {
    const cf = await opens(url())
    const { sent, mail } = upstream()
    const places = [ids, { ...ids, nodeId: 'other' }, { ...ids, checkpointId: 'v1#0#13' }]
    for (const place of [...places, ...places]) {
      const scope = await cf.scope(place)
      await scope.call(mail, { to: 'ana' }, { callId: 'a' })
      await scope.close()
    }
    expect(sent).toHaveLength(3)
  })

  test('G2 a refusal is thrown again by the replay, and nothing is sent again', async () => {
    const cf = await opens(url())
    let sent = 0
    const mail = tool({
      name: 'mail',
      replayClass: 'unsafe_on_replay',
      input: z.string(),
      run: (): string => {
        sent++
        throw new RefusedError('no such address')
      },
    })
    for (let i = 0; i < 2; i++) {
      const error = await within(cf, (scope) => scope.call(mail, 'x').catch((thrown) => thrown))
      expect(error).toBeInstanceOf(CallFailedError)
      expect(error).toMatchObject({ code: 'CALL_FAILED', retryable: false })
    }
    expect(sent).toBe(1)
  })

  test('G2 what was certainly not sent is tried again, also an unsafe call', async () => {
    const cf = await opens(url())
    const attempts: number[] = []
    const mail = tool({
      name: 'mail',
      replayClass: 'unsafe_on_replay',
      input: z.string(),
      retry: { backoffMs: 1 },
      run: (_, { attempt }) => {
        attempts.push(attempt)
        if (attempt < 3) throw new NotSentError('the connection was refused')
        return 'sent'
      },
    })
    expect(await within(cf, (scope) => scope.call(mail, 'x'))).toBe('sent')
    expect(attempts).toEqual([1, 2, 3])
  })

  test('C2 oncePerVisit: the second identical call of a scope gets the first one’s', async () => {
    const cf = await opens(url())
    let sent = 0
    const mail = tool({
      name: 'mail',
      replayClass: 'unsafe_on_replay',
      oncePerVisit: true,
      input: z.string(),
      run: () => ++sent,
    })
    const twice = (scope: Scope) =>
      Promise.all(['a', 'b'].map((callId) => scope.call(mail, 'x', { callId })))
    expect(await within(cf, twice)).toEqual([1, 1])
    expect(await within(cf, twice)).toEqual([1, 1])
    expect(sent).toBe(1)
  })

  test('A3 an input that does not fit is refused before anything is recorded', async () => {
    const cf = await opens(url())
    const { sent, mail } = upstream()
    await within(cf, async (scope) => {
      const wrong = scope.call(mail, { to: 7 } as never)
      await expect(wrong).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    })
    const ref = { namespace: 'default', runId: ids.workflowId }
    expect((await cf.store.listRecords(ref, {})).items).toEqual([])
    expect(sent).toEqual([])
  })

  test('A3 what is no tool, or no callId, is refused', async () => {
    const cf = await opens(url())
    const { sent, mail } = upstream()
    await within(cf, async (scope) => {
      const noTool = scope.call({ name: 'mail' } as never, {} as never)
      await expect(noTool).rejects.toMatchObject({ code: 'TOOL_INVALID' })
      for (const callId of ['', 7 as never]) {
        const noId = scope.call(mail, { to: 'ana' }, { callId })
        await expect(noId).rejects.toMatchObject({ code: 'INPUT_INVALID' })
      }
    })
    expect(sent).toEqual([])
  })

  test('C8 scopes and graph runs keep apart: an id belongs to one of them', async () => {
    const graph = workflow({ id: 'w@1.0.0', input: z.null(), run: async () => 1 })
    const cf = await opens(url(), { graphs: [graph] })
    await cf.start(graph, null, { runId: 'mine' })
    const taken = cf.scope({ ...ids, workflowId: 'mine' })
    await expect(taken).rejects.toMatchObject({ code: 'SCOPE_INVALID' })
    await within(cf, async () => {})
    const started = cf.start(graph, null, { runId: ids.workflowId })
    await expect(started).rejects.toMatchObject({ code: 'RUN_EXISTS' })
    // The refusals have left nothing behind that would be in the way of the run.
    await cf.worker().start()
    expect(await cf.run('mine').result()).toBe(1)
  })
})

test.each([
  ['', 'nothing'],
  ['x'.repeat(257), 'a long one'],
  ['a\nb', 'a control character'],
  ['\ud800', 'half a character'],
  [7, 'a number'],
  [undefined, 'none'],
])('A3 %j as an id of a scope is refused (%s)', async (bad, _) => {
  const cf = await opens('memory:')
  for (const key of ['workflowId', 'nodeId', 'checkpointId']) {
    const wrong = cf.scope({ ...ids, [key]: bad } as never)
    await expect(wrong).rejects.toMatchObject({ code: 'SCOPE_INVALID' })
    await expect(wrong).rejects.toThrow(key)
  }
  await expect(cf.scope(undefined as never)).rejects.toMatchObject({ code: 'SCOPE_INVALID' })
})

test('A3 an id that a host may have, whatever it looks like', async () => {
  const cf = await opens(file())
  const { sent, mail } = upstream()
  const odd = ['plain', '#', '1ef-4c#', 'a/b:c', '日本 ☃', 'x'.repeat(256), '%_', '$']
  for (let round = 0; round < 2; round++) {
    for (const id of odd) {
      const scope = await cf.scope({
        workflowId: `w ${id}`.slice(0, 256),
        nodeId: id,
        checkpointId: id,
      })
      await scope.call(mail, { to: id }, { callId: id })
      await scope.close()
    }
  }
  expect(sent).toHaveLength(odd.length)
})

test('C8 a namespace has workflows of its own', async () => {
  const store = file()
  const [cf, other] = [await opens(store), await opens(store, { namespace: 'other' })]
  const { sent, mail } = upstream()
  const held = await cf.scope(ids)
  await held.call(mail, { to: 'ana' })
  await within(other, (scope) => scope.call(mail, { to: 'ana' }))
  expect(sent).toHaveLength(2)
})

test('B7 a result too large for a row comes back whole from its blob', async () => {
  const cf = await opens(file())
  let sent = 0
  const read = tool({
    name: 'read',
    replayClass: 'unsafe_on_replay',
    input: z.string(),
    run: () => String(++sent).repeat(200_000),
  })
  const first = await within(cf, (scope) => scope.call(read, 'x'))
  expect(await within(cf, (scope) => scope.call(read, 'x'))).toBe(first)
  expect(first).toHaveLength(200_000)
  const ref = { namespace: 'default', runId: ids.workflowId }
  const loaded = await cf.store.listRecords(ref, {})
  expect(loaded.items.map((row) => row.resultDigest)).toEqual([
    expect.stringMatching(/^[0-9a-f]{64}$/),
  ])
})

test('D2 what a scope has recorded is signed by its holder, and verifies', async () => {
  const { verifyLedger } = await import('../../src/client/ledger/verify.ts')
  const cf = await opens(file())
  const { mail, charge, look } = upstream()
  for (const checkpointId of ['one', 'two']) {
    const scope = await cf.scope({ ...ids, checkpointId })
    const input = { to: checkpointId }
    await Promise.all([mail, charge, look].map((each) => scope.call(each, input)))
    await scope.close()
  }
  const { findings, counts } = await verifyLedger(cf.store, { namespace: 'default' })
  expect(findings).toEqual([])
  expect(counts).toMatchObject({ runs: 1, calls: 6, attempts: 4 })
})

test('K2 what the host gives along reaches the tool as it is, and no record', async () => {
  const cf = await opens(file())
  const seen: unknown[] = []
  const look = tool({
    name: 'look',
    replayClass: 'unsafe_on_replay',
    input: z.string(),
    run: (_, call) => void seen.push(call.live),
  })
  const live = { listen: () => 'not plain data' }
  for (let i = 0; i < 2; i++) {
    await within(cf, async (scope) => {
      await scope.call(look, 'x', { live })
      await scope.call(look, 'y')
    })
  }
  expect(seen).toEqual([live, undefined])
  expect(seen[0]).toBe(live)
})
