// A host is killed in the middle of a call of its scope, and never asks for that call again: a
// person is asked all the same, once, whoever finds it.
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CounterfoilSaver } from '../../src/adapters/langgraph/index.ts'
import { type CallInfo, type Counterfoil, type Scope, tool } from '../../src/index.ts'
import { describePostgres, postgresUrl } from '../postgres/bench.ts'
import { Site, script } from './driver.ts'

// Deaths on this machine can be proven on a server's store too.
process.env['COUNTERFOIL_MACHINE'] = 'crash-test'

const sites: Site[] = []

afterEach(async () => {
  for (const site of sites.splice(0)) await site.close()
})

const at = (checkpointId: string) => ({ workflowId: 't1', nodeId: 'tools', checkpointId })

/** Killed after its call was sent, before the answer was on record. */
async function killed(what: 'mail' | 'charge', store?: string): Promise<Site> {
  const site = await Site.open(1, store)
  sites.push(site)
  const args = [site.store, site.port, what, 'after send:1']
  const { signal, error } = await site.spawn(script('unasked.mjs'), args).exit
  expect({ signal, error }).toEqual({ signal: 'SIGKILL', error: '' })
  return site
}

/** The same tools in this process; what they send counts here. */
function tools() {
  const sent: unknown[] = []
  const run = (input: unknown, { idempotencyKey }: CallInfo) => {
    sent.push(idempotencyKey ?? input)
    return 'sent'
  }
  const input = z.any()
  const mail = tool({ name: 'mail', replayClass: 'unsafe_on_replay', input, run })
  const charge = tool({
    name: 'charge',
    replayClass: 'idempotent_with_key',
    idempotencyKey: (input) => JSON.stringify(input),
    keyTtlMs: Number.POSITIVE_INFINITY,
    input,
    run,
  })
  return { sent, mail, charge }
}

async function within<T>(cf: Counterfoil, place: string, work: (scope: Scope) => Promise<T>) {
  const scope = await cf.scope(at(place))
  try {
    return await work(scope)
  } finally {
    await scope.close()
  }
}

const refused = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: { itemId: string; code: string }) => error,
  )

async function firstItem(cf: Counterfoil) {
  for (;;) {
    const [item] = (await cf.inbox.list()).items
    if (item) return item
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const ref = { namespace: 'default', runId: 't1' }

async function statusOf(cf: Counterfoil): Promise<string[]> {
  const { items } = await cf.store.listRecords(ref, {})
  return items.map(({ tool: name, status }) => `${name} ${status}`)
}

function cases(store: () => string | undefined) {
  test('C2 a worker finds it; the host that asks later has the same item', async () => {
    const site = await killed('mail', store())
    await site.with(async (cf) => {
      await cf.worker().start()
      const item = await firstItem(cf)
      expect(item).toMatchObject({ runId: 't1', reason: 'unknown', title: 'mail: did it happen?' })
      await expect.poll(async () => (await cf.run('t1').status()).state).toBe('waiting_human')
      expect(await statusOf(cf)).toEqual(['mail in_doubt'])
      const { mail, sent } = tools()
      const ask = () => within(cf, 'c1', (scope) => scope.call(mail, { to: 't1' }, { callId: 'a' }))
      expect(await refused(ask())).toMatchObject({ itemId: item.itemId })
      expect((await cf.inbox.list()).items).toHaveLength(1)
      const { version } = await cf.inbox.get(item.itemId)
      const said = { by: 'ana', reason: 'looked', version }
      await cf.inbox.decide(item.itemId, { outcome: 'happened', result: 'm1', ...said })
      expect(await ask()).toBe('m1')
      expect(sent).toEqual([])
    })
  }, 60_000)

  test('C2 a process that only serves the inbox, or reads a thread, finds it', async () => {
    for (const begin of [
      (cf: Counterfoil) => cf.server({ port: 0 }),
      (cf: Counterfoil) =>
        new CounterfoilSaver(cf).getTuple({ configurable: { thread_id: 'another' } }),
    ]) {
      const site = await killed('mail', store())
      await site.with(async (cf) => {
        await begin(cf)
        expect(await firstItem(cf)).toMatchObject({ runId: 't1', reason: 'unknown' })
      })
    }
  }, 60_000)

  test('C2 two processes find it at once, and one dies of it: one item', async () => {
    const site = await killed('mail', store())
    const look = (dieAt: string) =>
      site.spawn(script('unasked.mjs'), [site.store, site.port, 'look', dieAt]).exit
    for (const dieAt of ['before commit:1', 'after commit:1']) {
      const ends = await Promise.all([look('-'), look(dieAt)])
      expect(ends[0]).toMatchObject({ code: 0, error: '' })
    }
    await site.with(async (cf) => {
      expect((await cf.inbox.list({ countMax: 500 })).items).toHaveLength(1)
      expect(await cf.run('t1').status()).toMatchObject({ state: 'waiting_human' })
      expect(await statusOf(cf)).toEqual(['mail in_doubt'])
    })
  }, 60_000)

  test('C2 the model words it anew: a person is asked before anything is sent', async () => {
    const site = await killed('mail', store())
    await site.with(async (cf) => {
      const { mail, charge, sent } = tools()
      for (const each of [mail, charge]) {
        const call = within(cf, 'c2', (scope) => scope.call(each, { to: 't1', words: 'others' }))
        expect(await refused(call)).toMatchObject({ code: 'REPLAY_UNSAFE' })
      }
      expect(sent).toEqual([])
      const { items } = await cf.inbox.list()
      expect(items.map(({ body }) => body.input)).toEqual([{ to: 't1' }])
      expect(await cf.run('t1').status()).toMatchObject({ state: 'waiting_human' })
    })
  }, 60_000)

  test('C2 a process that holds another workflow finds it as well', async () => {
    const site = await killed('mail', store())
    await site.with(async (cf) => {
      const other = await cf.scope({ ...at('c1'), workflowId: 'other' })
      expect(await firstItem(cf)).toMatchObject({ runId: 't1' })
      await other.close()
    })
  }, 60_000)

  test('G1 a keyed call is sent again when its host asks, and nobody is bothered', async () => {
    const site = await killed('charge', store())
    await site.with(async (cf) => {
      const { charge, sent } = tools()
      const worker = cf.worker()
      await worker.start()
      // Its dead holder is found, and what it has left is left to its host.
      await expect.poll(async () => (await cf.run('t1').status()).state).toBe('waiting_tool')
      const call = (scope: Scope) => scope.call(charge, { to: 't1' }, { callId: 'a' })
      expect(await within(cf, 'c1', call)).toBe('sent')
      expect(sent).toEqual(['{"to":"t1"}'])
      expect((await cf.inbox.list({ state: 'closed' })).items).toEqual([])
      expect((await cf.inbox.list()).items).toEqual([])
    })
  }, 60_000)

  test('C2 a keyed call in other words waits; the first one ends its own item', async () => {
    const site = await killed('charge', store())
    await site.with(async (cf) => {
      const { charge, sent } = tools()
      const anew = () => within(cf, 'c2', (scope) => scope.call(charge, { to: 'others' }))
      const error = await refused(anew())
      expect(error).toMatchObject({ code: 'REPLAY_UNSAFE' })
      expect(sent).toEqual([])
      const call = (scope: Scope) => scope.call(charge, { to: 't1' }, { callId: 'a' })
      expect(await within(cf, 'c1', call)).toBe('sent')
      const item = await cf.inbox.get(error?.itemId ?? '')
      expect(item).toMatchObject({ state: 'closed', closedBy: 'its call is settled' })
      expect(await anew()).toBe('sent')
      expect(sent).toEqual(['{"to":"t1"}', '{"to":"others"}'])
    })
  }, 60_000)

  test('G1 a tool that is at hand is probed first', async () => {
    const site = await killed('mail', store())
    await site.with(async (cf) => {
      const { mail, sent } = tools()
      const probe = () => ({ landed: 'yes' as const, result: 'found' })
      const run = () => {
        sent.push('again')
        return 'sent'
      }
      const rules = { name: mail.name, replayClass: 'unsafe_on_replay', input: z.any() } as const
      const probed = tool({ ...rules, run, probe })
      const call = within(cf, 'c2', (scope) => scope.call(probed, { to: 'others' }))
      expect(await call).toBe('sent')
      expect(await statusOf(cf)).toEqual(['mail committed', 'mail committed'])
      expect((await cf.inbox.list()).items).toEqual([])
    })
  }, 60_000)
}

describe('SQLite', () => cases(() => undefined))
describePostgres('Postgres', () => cases(postgresUrl))
