// Signed requests from outside: what is stale, replayed, altered or unsigned is refused.
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { sign, verify } from '../../src/server/webhooks/signature.ts'
import { letter, patient, replyOf, startServer } from './harness.ts'

async function bench(source: object = {}) {
  const made = await startServer({ worker: true, webhooks: false })
  const admin = await made.as('admin')
  const added = await admin.post('/v1/hooks/sources', { name: 'slackbot', ...source })
  expect(added.status).toBe(201)
  const { url, secret, source_id: id } = added.json as Record<string, string>
  const send = async (
    message: unknown,
    { id: hookId = 'msg_1', at = new Date(), with: key = secret ?? '', bytes = '', drop = '' } = {},
  ) => {
    const body = JSON.stringify(message)
    // Their library signs; ours verifies.
    const headers: Record<string, string> = {
      'webhook-id': hookId,
      'webhook-timestamp': `${Math.floor(at.getTime() / 1_000)}`,
      'webhook-signature': new Webhook(key).sign(hookId, at, body),
    }
    delete headers[drop]
    return replyOf(await fetch(url ?? '', { method: 'POST', headers, body: bytes || body }))
  }
  const ask = async (runId: string) => {
    await (await made.cf.start(letter, { to: runId }, { runId })).until('waiting_human')
    const [item] = (await made.cf.inbox.list({ runId })).items
    if (!item) throw new Error('there is no item')
    return item
  }
  return { ...made, admin, send, ask, secret: secret ?? '', id: id ?? '' }
}

const decision = (itemId: string, more: object = {}) => ({
  type: 'decision',
  data: { item_id: itemId, version: 1, outcome: 'approve', reason: 'by phone', ...more },
})

describe('E5 in', () => {
  test('E5 a decision, a signal; the run goes on, and who it was is on record', async () => {
    const { cf, send, ask } = await bench()
    const item = await ask('r1')
    const said = await send(decision(item.itemId, { by: 'mallory' }))
    expect(said.status).toBe(200)
    expect(said.json.decision).toMatchObject({ outcome: 'approve', by: 'hook:slackbot' })
    expect(said.json.decision.evidence).toBe('webhook msg_1 of slackbot, which names mallory')
    expect(await cf.run('r1').result()).toEqual({ id: 'm-r1' })
    const run = await cf.start(patient, null, { runId: 'p1' })
    const signal = { type: 'signal', data: { run_id: 'p1', name: 'go', data: { n: 1 } } }
    expect((await send(signal, { id: 'msg_2' })).json).toMatchObject({ created: true })
    expect(await run.result()).toMatchObject({ name: 'go', data: { n: 1 } })
  })

  test('E5 unsigned, altered, stale, early, by another secret: refused', async () => {
    const { cf, send, ask } = await bench()
    const { itemId } = await ask('r1')
    const good = decision(itemId)
    const old = new Date(Date.now() - 6 * 60_000)
    const early = new Date(Date.now() + 6 * 60_000)
    const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const bytes = JSON.stringify(good).replace('approve', 'reject')
    for (const how of [
      ...['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((drop) => ({ drop })),
      ...[{ bytes }, { at: old }, { at: early }, { with: other }],
      { bytes: `${JSON.stringify(good)} ` },
    ]) {
      const said = await send(good, how)
      expect([how, said.status, said.json.code]).toEqual([how, 401, 'SIGNATURE_INVALID'])
    }
    expect(await cf.store.listDecisions({ namespace: 'default', runId: 'r1' })).toEqual([])
    expect((await send(good)).status).toBe(200)
  })

  test('E5 the same again is refused; what failed may come again', async () => {
    const { send, ask } = await bench()
    const { itemId } = await ask('r1')
    expect((await send(decision(itemId, { version: 7 }))).json.code).toBe('ITEM_CHANGED')
    expect((await send(decision(itemId))).status).toBe(200)
    const again = await send(decision(itemId))
    expect([again.status, again.json.code]).toEqual([409, 'WEBHOOK_REPLAYED'])
    const both = await ask('r2')
    const two = [decision(both.itemId), decision(both.itemId)]
    const said = await Promise.all(two.map((one) => send(one, { id: 'msg_9' })))
    expect(said.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test('E5 a source sends what it may, and is believed where that was agreed on', async () => {
    const { send, ask, admin } = await bench({ acts: ['decision'], trusts_by: true })
    const signal = { type: 'signal', data: { run_id: 'p1', name: 'go' } }
    expect((await send(signal)).json.code).toBe('SOURCE_FORBIDDEN')
    const { itemId } = await ask('r1')
    expect((await send(decision(itemId, { by: 'ana' }))).json.decision.by).toBe('ana')
    for (const bad of [
      { type: 'delete' },
      { type: 'decision' },
      [],
      'x',
      { type: 'decision', data: {} },
    ]) {
      expect((await send(bad, { id: 'msg_3' })).json.code).toBe('REQUEST_INVALID')
    }
    const text = `{"type":"signal","type":"decision","data":{}}`
    expect((await send(null, { id: 'msg_4', bytes: text })).status).toBe(401)
    expect((await admin.get('/v1/hooks/sources')).json.items).toMatchObject([{ trusts_by: true }])
  })

  test('E5 a secret is replaced without a gap, and removed at once', async () => {
    const { send, admin, id, secret, ask } = await bench()
    const rotated = await admin.post(`/v1/hooks/sources/${id}/rotate`)
    const { secret: next } = rotated.json
    expect(next).not.toBe(secret)
    const [one, two] = [await ask('r1'), await ask('r2')]
    expect((await send(decision(one.itemId), { id: 'a' })).status).toBe(200)
    expect((await send(decision(two.itemId), { id: 'b', with: next })).status).toBe(200)
    await admin.post(`/v1/hooks/sources/${id}/rotate`)
    const three = await ask('r3')
    expect((await send(decision(three.itemId), { id: 'c' })).status).toBe(401)
    expect((await admin.delete(`/v1/hooks/sources/${id}`)).status).toBe(204)
    const gone = await send(decision(three.itemId), { id: 'd', with: next })
    expect([gone.status, gone.json.code]).toEqual([401, 'SIGNATURE_INVALID'])
  })

  test('M3 a source of one namespace reaches nothing of another', async () => {
    const { send, as, cf } = await bench()
    const other = await as('admin', { namespace: 'other' })
    expect((await other.get('/v1/hooks/sources')).json.items).toEqual([])
    const elsewhere = { type: 'signal', data: { run_id: 'p1', name: 'go' } }
    expect((await send(elsewhere)).json.code).toBe('RUN_NOT_FOUND')
    expect(await cf.store.getRun({ namespace: 'other', runId: 'p1' })).toBeNull()
  })
})

test('E5 our signature is theirs, byte for byte', () => {
  const secret = `whsec_${Buffer.alloc(24, 3).toString('base64')}`
  for (const body of ['', '{}', '{"text":"ä€😀"}', 'x'.repeat(70_000)]) {
    const at = new Date(1_700_000_000_000)
    const ours = sign(secret, { id: 'msg_1', timestamp: 1_700_000_000 }, body)
    expect(ours).toBe(new Webhook(secret).sign('msg_1', at, body))
    const headers = new Headers({
      'webhook-id': 'msg_1',
      'webhook-timestamp': '1700000000',
      'webhook-signature': `v1,AAAA v2,zzz ${ours}`,
    })
    expect(verify([secret], headers, Buffer.from(body), at.getTime())).toBe('msg_1')
    expect(() => verify([], headers, Buffer.from(body), at.getTime())).toThrow()
  }
})
