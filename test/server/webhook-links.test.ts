// Links that decide once: looking decides nothing, using decides, and again is too late.
import { describe, expect, test } from 'vitest'
import { letter, replyOf, startServer, until } from './harness.ts'
import { startReceiver } from './receiving.ts'

async function bench() {
  const made = await startServer({ worker: true, webhooks: { pollMs: 20 } })
  const ana = await made.as('operator', { name: 'ana' })
  const admin = await made.as('admin', { namespace: '*' })
  const ask = async (runId: string) => {
    await (await made.cf.start(letter, { to: runId }, { runId })).until('waiting_human')
    const [item] = (await made.cf.inbox.list({ runId })).items
    if (!item) throw new Error('there is no item')
    return item
  }
  const link = async (itemId: string, more: object = {}) =>
    (await ana.post('/v1/links', { item_id: itemId, version: 1, ...more })).json.url as string
  const look = async (url: string) =>
    replyOf(await fetch(url, { headers: { accept: 'text/html' } }))
  const use = async (url: string, body = 'outcome=approve&reason=fine') =>
    replyOf(await fetch(url, { method: 'POST', body: new URLSearchParams(body) }))
  const decisions = (runId: string) => made.cf.store.listDecisions({ namespace: 'default', runId })
  return { ...made, ana, admin, ask, link, look, use, decisions }
}

describe('E5 links', () => {
  test('E5 looked at as often as scanners like, used once, by whom it is for', async () => {
    const { ask, link, look, use, decisions, cf } = await bench()
    const { itemId } = await ask('r1')
    const url = await link(itemId)
    for (let n = 0; n < 5; n++) {
      const page = await look(url)
      expect(page.status).toBe(200)
      expect(page.text).toContain('<form method="post">')
      expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    }
    expect((await fetch(url, { method: 'HEAD' })).status).toBeLessThan(500)
    expect(await decisions('r1')).toEqual([])
    const done = await use(url)
    expect(done.json.decision).toMatchObject({ outcome: 'approve', by: 'ana', reason: 'fine' })
    expect((await use(url)).json.code).toBe('LINK_USED')
    expect((await look(url)).status).toBe(410)
    expect(await cf.run('r1').result()).toEqual({ id: 'm-r1' })
  })

  test('E5 it ends with the token that it was made with', async () => {
    const { ask, look, use, decisions, as, admin } = await bench()
    const { itemId } = await ask('r1')
    const leaver = await as('operator', { name: 'leaver' })
    const { url } = (await leaver.post('/v1/links', { item_id: itemId, version: 1 })).json
    expect((await look(url as string)).status).toBe(200)
    const tokens = (await admin.get('/v1/tokens')).json.items as Record<string, string>[]
    const own = tokens.find(({ name }) => name === 'leaver')
    await admin.delete(`/v1/tokens/${own?.['token_id']}`)
    expect((await use(url as string)).json.code).toBe('LINK_NOT_FOUND')
    expect((await look(url as string)).status).toBe(404)
    expect(await decisions('r1')).toEqual([])
  })

  test('E5 two at once: one decides', async () => {
    const { ask, link, use, decisions } = await bench()
    const url = await link((await ask('r1')).itemId)
    const all = await Promise.all([use(url), use(url, 'outcome=reject'), use(url)])
    expect(all.map(({ status }) => status).sort()).toEqual([200, 410, 410])
    expect(await decisions('r1')).toHaveLength(1)
  })

  test('E5 bound to the item, its version, and what it may say', async () => {
    const { ask, link, use, decisions, cf } = await bench()
    const { itemId } = await ask('r1')
    const rejects = await link(itemId, { outcomes: ['reject'] })
    expect((await use(rejects)).json.code).toBe('REQUEST_INVALID')
    expect((await use(rejects, 'outcome=abandon')).json.code).toBe('REQUEST_INVALID')
    const stale = await link(itemId, { version: 2 })
    expect((await use(stale)).json.code).toBe('ITEM_CHANGED')
    expect(await decisions('r1')).toEqual([])
    await cf.inbox.decide(itemId, { outcome: 'approve', by: 'bo', reason: 'r', version: 1 })
    expect((await use(rejects, 'outcome=reject')).json.code).toBe('ITEM_CLOSED')
  })

  test('E5 it expires, cannot be guessed, and lies in the store as a hash', async () => {
    const { ask, link, look, cf } = await bench()
    const { itemId } = await ask('r1')
    const short = await link(itemId, { expires_in_ms: 6_000 })
    expect((await look(short)).status).toBe(200)
    await until(async () => (await look(short)).status === 404)
    const url = await link(itemId)
    const secret = url.split('_').at(-1) ?? ''
    expect(secret).toMatch(/^[0-9a-f]{64}$/)
    const { items } = await cf.store.listDocuments({ kind: 'link' })
    expect(JSON.stringify(items)).not.toContain(secret)
    const wrong = `${url.slice(0, -1)}${url.endsWith('0') ? '1' : '0'}`
    expect((await look(wrong)).status).toBe(404)
    expect((await look(`${url}x`)).status).toBe(404)
  })

  test('E5 E1 an operator makes links for themselves only; no more rights come of it', async () => {
    const { ask, ana, admin, as, use } = await bench()
    const { itemId } = await ask('r1')
    const body = { item_id: itemId, version: 1, by: 'cfo' }
    expect((await ana.post('/v1/links', body)).json.code).toBe('ROLE_FORBIDDEN')
    const viewer = await as('viewer')
    expect((await viewer.post('/v1/links', { item_id: itemId, version: 1 })).status).toBe(403)
    const made = await admin.post('/v1/links', body)
    const { decision } = (await use(made.json.url)).json
    expect(decision).toMatchObject({ by: 'cfo', evidence: 'by a link that admin made' })
  })

  test('E5 what a model wrote stays text on the page', async () => {
    const { cf, link, look } = await bench()
    const evil = '"><script>alert(1)</script>'
    await (await cf.start(letter, { to: evil }, { runId: 'r1' })).until('waiting_human')
    const [item] = (await cf.inbox.list({ runId: 'r1' })).items
    const page = await look(await link(item?.itemId ?? ''))
    expect(page.text).not.toContain('<script>')
    expect(page.text).toContain('&lt;script&gt;')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test('E5 a notification may bring its links; the token is in no row', async () => {
    const { ask, admin, use, cf } = await bench()
    const receiver = await startReceiver()
    const url = receiver.url
    await admin.post('/v1/webhooks', { url, allow_private: true, links_for: 'ana' })
    await ask('r1')
    const got = await until(async () => receiver.received[0])
    const { links } = JSON.parse(got.body).data
    const rows = await cf.store.listDocuments({ kind: 'delivery' })
    expect(JSON.stringify(rows)).not.toContain('cfl_')
    expect((await use(links.reject, 'reason=no')).json.decision).toMatchObject({
      ...{ outcome: 'reject', by: 'ana' },
    })
    expect((await use(links.approve)).json.code).toBe('ITEM_CLOSED')
  })
})
