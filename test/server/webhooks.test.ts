// Outgoing webhooks against receivers in processes of their own.
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { letter, startServer, until } from './harness.ts'
import { startReceiver } from './receiving.ts'

// A receiver that is slow to answer is not to be told twice.
const fast = { pollMs: 20, backoffMs: 20, backoffMaxMs: 60, timeoutMs: 30_000 }

async function bench(webhooks: object = {}) {
  const made = await startServer({ worker: true, webhooks: { ...fast, ...webhooks } })
  const admin = await made.as('admin', { namespace: '*' })
  const add = async (url: string, more: object = {}) => {
    const said = await admin.post('/v1/webhooks', { url, allow_private: true, ...more })
    expect(said.status).toBe(201)
    return said.json as { webhook_id: string; secret: string }
  }
  const ask = async (to: string) => {
    const run = await made.cf.start(letter, { to }, { runId: `run-${to}` })
    await run.until('waiting_human')
    const [item] = (await made.cf.inbox.list({ runId: `run-${to}` })).items
    if (!item) throw new Error('there is no item')
    return item
  }
  const deliveries = async (state?: string) => {
    const query = state === undefined ? '' : `?state=${state}`
    return (await admin.get(`/v1/webhooks/deliveries${query}`)).json.items
  }
  return { ...made, admin, add, ask, deliveries }
}

describe('E5 out', () => {
  test('E5 signed as Standard Webhooks says, with a deep link and none of the data', async () => {
    const { add, ask, deliveries, server } = await bench()
    const receiver = await startReceiver()
    const { secret } = await add(receiver.url)
    const item = await ask('ana')
    const got = await until(async () => receiver.received[0])
    // Their library, not ours.
    const message = new Webhook(secret).verify(got.body, got.headers) as Record<string, unknown>
    expect(message).toMatchObject({
      type: 'counterfoil.waiting_human',
      data: {
        ...{ run_id: 'run-ana', item_id: item.itemId, title: 'Send it?', queue: 'sales' },
        url: `${server.url}/inbox/${item.itemId}`,
      },
    })
    expect(got.body).not.toContain('ana"}')
    const [one] = await until(async () => {
      const done = await deliveries('delivered')
      return done.length > 0 && done
    })
    expect(one).toMatchObject({ attempts: 1, last: '204', delivery_id: got.headers['webhook-id'] })
    expect(receiver.received).toHaveLength(1)
  })

  test('E5 only what was asked for: by kind, by queue, by namespace', async () => {
    const { add, admin, ask } = await bench()
    const receiver = await startReceiver()
    await add(`${receiver.url}/failed`, { kinds: ['run_failed'] })
    await add(`${receiver.url}/finance`, { queues: ['finance'] })
    await add(`${receiver.url}/sales`, { queues: ['sales'] })
    await admin.post('/v1/webhooks?namespace=other', {
      ...{ url: `${receiver.url}/other`, allow_private: true },
    })
    const item = await ask('bo')
    const path = `/v1/inbox/${item.itemId}/decision`
    await admin.post(path, { outcome: 'reject', reason: 'no', version: 1 })
    await until(async () => receiver.received.some(({ url }) => url.endsWith('/failed')))
    for (const path of ['/sales', '/finance']) {
      await until(async () => receiver.received.some(({ url }) => url.endsWith(path)))
    }
    const told = receiver.received.map(({ url }) => url.split('/').at(-1))
    // The failure has no queue: whoever wants a queue is told of it too.
    expect(new Set(told)).toEqual(new Set(['failed', 'sales', 'finance']))
    const failed = receiver.received.find(({ url }) => url.endsWith('/failed'))
    expect(JSON.parse(failed?.body ?? '')).toMatchObject({ type: 'counterfoil.run_failed' })
    const finance = receiver.received.filter(({ url }) => url.endsWith('/finance'))
    expect(finance.map(({ body }) => JSON.parse(body).type)).toEqual(['counterfoil.run_failed'])
  })

  test('E5 Slack: a text, blocks, and buttons; what a model wrote is no mention', async () => {
    const { add, cf, server } = await bench()
    const receiver = await startReceiver()
    await add(receiver.url, { format: 'slack' })
    const { noticeOfFailure } = await import('../../src/model/decisions/notice.ts')
    const run = await cf.start(letter, { to: 'cy' }, { runId: 'run-cy' })
    await run.until('waiting_human')
    const about = { namespace: 'default', runId: 'run-cy', graph: 'g', version: '1.0.0' }
    const error = JSON.stringify({ message: '<!channel> <https://evil|click> & *x*' })
    const notice = noticeOfFailure(about, error, cf.store.clock.now(), 'test')
    const ref = { namespace: 'default', runId: 'run-cy' }
    await cf.store.amend(ref, 'client', () => ({ changes: { notices: [notice] }, value: null }))
    const two = await until(async () => receiver.received.length === 2 && receiver.received)
    const bodies = two.map(({ body }) => JSON.parse(body))
    const asked = bodies.find(({ text }) => text.includes('Waits'))
    expect(asked.text).toBe('Waits for a person: Send it?')
    const actions = asked.blocks.at(-1)
    expect(actions.elements[0].url).toMatch(new RegExp(`^${server.url}/inbox/item_`))
    const failed = JSON.stringify(bodies.find(({ text }) => text.includes('failed')))
    expect(failed).toContain('&lt;!channel&gt;')
    expect(failed).not.toContain('<!channel>')
  })

  test('E5 a receiver that is down gets it later, under one id', async () => {
    const { add, ask, deliveries } = await bench({ attemptMax: 1_000, timeoutMs: 3_000 })
    const first = await startReceiver(['500', '503', 'hang', '500'])
    await add(first.url)
    await ask('dee')
    await until(async () => first.received.length >= 4)
    await first.kill()
    await until(async () => (await deliveries())[0]?.last?.includes('ECONNREFUSED'))
    const second = await startReceiver(['204'], first.port)
    const got = await until(async () => second.received[0])
    const all = [...first.received, got]
    expect(new Set(all.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    await until(async () => (await deliveries('delivered')).length === 1)
    expect((await deliveries('delivered'))[0].attempts).toBeGreaterThanOrEqual(5)
  })

  test('E5 given up after so many, and seen; a person has it sent again', async () => {
    const { add, ask, admin, deliveries } = await bench({ attemptMax: 3 })
    const plan = ['500', 'redirect', 'large', '204']
    const receiver = await startReceiver(plan)
    await add(receiver.url)
    await ask('eve')
    const [failed] = await until(async () => {
      const some = await deliveries('failed')
      return some.length > 0 && some
    })
    expect(failed).toMatchObject({ attempts: 3, state: 'failed', next_at: null })
    expect(failed.last).toMatch(/^500 x+$/)
    expect(failed.last.length).toBeLessThan(300)
    // A redirect is an answer, and is not followed.
    const urls = () => receiver.received.map(({ url }) => url)
    await expect.poll(urls).toEqual(['/hook', '/hook', '/hook'])
    const path = `/v1/webhooks/deliveries/${failed.delivery_id}/retry`
    expect((await admin.post(path)).status).toBe(200)
    await until(async () => (await deliveries('delivered')).length === 1)
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids)).toEqual(new Set([failed.delivery_id]))
  })

  test('E5 D6 several processes send each delivery once', async () => {
    const { add, ask, cf } = await bench()
    for (let n = 0; n < 3; n++) await cf.server({ port: 0, webhooks: fast })
    const receiver = await startReceiver()
    await add(receiver.url)
    for (let n = 0; n < 8; n++) await ask(`p${n}`)
    await until(async () => receiver.received.length >= 8)
    await new Promise((resolve) => setTimeout(resolve, 300))
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids).toHaveLength(8)
    expect(new Set(ids).size).toBe(8)
  })

  test('E5 a webhook that was removed is told no more', async () => {
    const { add, ask, admin, deliveries } = await bench()
    const receiver = await startReceiver(['500'])
    const { webhook_id: id } = await add(receiver.url)
    await ask('flo')
    await until(async () => receiver.received.length > 0)
    expect((await admin.delete(`/v1/webhooks/${id}`)).status).toBe(204)
    expect((await admin.delete(`/v1/webhooks/${id}`)).status).toBe(404)
    const [given] = await until(async () => {
      const some = await deliveries('failed')
      return some.length > 0 && some
    })
    expect(given.last).toBe('the webhook was removed')
  })

  test('M2 the secret is shown once, and lies nowhere as it is', async () => {
    const { add, admin, cf, as } = await bench()
    const { secret } = await add('https://example.com/hook')
    expect((await admin.get('/v1/webhooks')).text).not.toContain(secret.slice(6))
    const { items } = await cf.store.listDocuments({ kind: 'webhook' })
    expect(items).toHaveLength(1)
    expect(items[0]?.bodyJson).not.toContain(secret.slice(6))
    for (const role of ['viewer', 'operator'] as const) {
      const client = await as(role)
      expect((await client.get('/v1/webhooks')).status).toBe(403)
      const body = { url: 'https://example.com' }
      expect((await client.post('/v1/webhooks', body)).status).toBe(403)
    }
  })
})
