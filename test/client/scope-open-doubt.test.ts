// While a doubt of a foreign workflow is open, no other call of it is sent that is not pure: in
// whichever scope, and whichever process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  type Counterfoil,
  type DecideRequest,
  type OpenOptions,
  open,
  type ReplayUnsafeError,
  type Scope,
  tool,
} from '../../src/index.ts'
import { describePostgres, key, postgresUrl } from '../postgres/bench.ts'

const opened: Counterfoil[] = []
const folders: string[] = []

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-open-doubt-'))
  folders.push(folder)
  return `sqlite:${join(folder, 'runs.db')}`
}

async function opens(store: string, options: Partial<OpenOptions> = {}): Promise<Counterfoil> {
  const cf = await open({ store, key, settleMs: 30, onWarning: () => {}, ...options })
  opened.push(cf)
  return cf
}

const at = (checkpointId: string) => ({ workflowId: 'thread', nodeId: 'tools', checkpointId })

async function within<T>(cf: Counterfoil, place: string, work: (scope: Scope) => Promise<T>) {
  const scope = await cf.scope(at(place))
  try {
    return await work(scope)
  } finally {
    await scope.close()
  }
}

/** An upstream that breaks off while it is down, and tools of each class that use it. */
function upstream() {
  const sent: string[] = []
  const state = { down: true }
  const run = (to: string) => {
    sent.push(to)
    if (state.down) throw new Error('the connection broke off')
    return `sent ${to}`
  }
  const input = z.string()
  const mail = tool({ name: 'mail', replayClass: 'unsafe_on_replay', input, quietMs: 1, run })
  const keyed = { idempotencyKey: (to: string) => to, keyTtlMs: 60_000 }
  const charge = tool({ name: 'charge', replayClass: 'idempotent_with_key', ...keyed, input, run })
  const look = tool({ name: 'look', replayClass: 'pure', input, run: (q) => `found ${q}` })
  return { sent, state, mail, charge, look }
}

const refusal = async (call: Promise<unknown>) => {
  const error = await call.catch((thrown: unknown) => thrown)
  return error as ReplayUnsafeError
}

async function decide(cf: Counterfoil, itemId: string, said: Pick<DecideRequest, 'outcome'>) {
  const { version } = await cf.inbox.get(itemId)
  const by = { by: 'ana', reason: 'looked', madeSure: true }
  await cf.inbox.decide(itemId, { result: undefined, ...said, ...by, version })
}

function cases(url: () => string) {
  test('C2 a doubt that the host swallowed: its next process sends nothing', async () => {
    const store = url()
    const first = await opens(store)
    const { mail, charge, look, sent, state } = upstream()
    const { itemId } = await refusal(within(first, 'c1', (scope) => scope.call(mail, 'ana')))
    await first.close()
    opened.splice(opened.indexOf(first), 1)
    state.down = false
    const next = await opens(store)
    for (const each of [mail, charge]) {
      const error = await refusal(within(next, 'c2', (scope) => scope.call(each, 'in other words')))
      expect(error).toMatchObject({ code: 'REPLAY_UNSAFE', itemId })
    }
    expect(await within(next, 'c2', (scope) => scope.call(look, 'x'))).toBe('found x')
    expect(sent).toEqual(['ana'])
    expect((await next.inbox.list()).items).toHaveLength(1)
    await decide(next, itemId ?? '', { outcome: 'did_not_happen' })
    expect(await within(next, 'c2', (scope) => scope.call(mail, 'bob'))).toBe('sent bob')
    expect(await within(next, 'c1', (scope) => scope.call(mail, 'ana'))).toBe('sent ana')
  })

  test('C2 a doubt in one branch stops the others; what was under way ends', async () => {
    const cf = await opens(url())
    const { mail, charge, sent } = upstream()
    let release = (_: string) => {}
    const slow = tool({
      name: 'slow',
      replayClass: 'unsafe_on_replay',
      input: z.string(),
      run: () => {
        sent.push('slow')
        return new Promise<string>((resolve) => {
          release = resolve
        })
      },
    })
    const [a, b] = [await cf.scope(at('a')), await cf.scope(at('b'))]
    const under = b.call(slow, 'x')
    while (sent.length === 0) await new Promise(setImmediate)
    const { itemId } = await refusal(a.call(mail, 'ana'))
    release('slow is done')
    expect(await under).toBe('slow is done')
    expect(await refusal(b.call(charge, 'bob'))).toMatchObject({ itemId })
    await Promise.all([a.close(), b.close()])
    expect(sent).toEqual(['slow', 'ana'])
    const run = await cf.run('thread').status()
    expect(run).toMatchObject({ state: 'waiting_human', waitingFor: { items: [itemId] } })
  })

  test('E1 an approved call waits until the doubt is decided, and then it is sent', async () => {
    const gate: OpenOptions['gate'] = ({ amount }) => (amount === null ? 'run' : { ask: true })
    const cf = await opens(url(), { gate })
    const { mail, sent, state } = upstream()
    const approved = (scope: Scope) => scope.call(mail, 'bob', { amount: 5 })
    const held = await refusal(within(cf, 'b', approved))
    const { itemId } = await refusal(within(cf, 'a', (scope) => scope.call(mail, 'ana')))
    await decide(cf, held.itemId ?? '', { outcome: 'approve' })
    state.down = false
    expect(await refusal(within(cf, 'b', approved))).toMatchObject({ itemId })
    expect(sent).toEqual(['ana'])
    await decide(cf, itemId ?? '', { outcome: 'did_not_happen' })
    expect(await within(cf, 'b', approved)).toBe('sent bob')
  })
}

describe('SQLite', () => cases(file))
describe('memory', () => {
  test('C2 another workflow goes on', async () => {
    const cf = await opens('memory:')
    const { mail, state } = upstream()
    await refusal(within(cf, 'c1', (scope) => scope.call(mail, 'ana')))
    state.down = false
    const other = await cf.scope({ ...at('c1'), workflowId: 'other' })
    expect(await other.call(mail, 'ana')).toBe('sent ana')
    await other.close()
  })
})
describePostgres('Postgres', () => cases(postgresUrl))
