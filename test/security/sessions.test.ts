// Tokens and sessions: what is kept, how it is compared, and what another site can do with a
// browser that is signed in.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { matches, newSecret, parseSecret } from '../../src/server/auth/secret.ts'
import { type Bench, replyOf, startServer } from '../server/harness.ts'

const cookieOf = (response: Response) =>
  (response.headers.get('set-cookie') ?? '').split(';')[0] ?? ''

async function signIn({ server }: Bench, cookie = ''): Promise<{ cookie: string; csrf: string }> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(cookie === '' ? {} : { cookie }) },
    body: JSON.stringify({ token: await server.adminToken() }),
  }
  const response = await fetch(`${server.url}/v1/session`, init)
  expect(response.status).toBe(201)
  const { csrf } = (await response.json()) as { csrf: string }
  return { cookie: cookieOf(response), csrf }
}

test('M2 the store has hashes only: no token, session or ticket in plain text', async () => {
  const bench = await startServer()
  const token = await bench.server.adminToken()
  const entry = await bench.server.entryUrl()
  const { cookie, csrf } = await signIn(bench)
  const secrets = [token, entry, cookie].map((text) => text.slice(-64))
  const dir = dirname(bench.cf.store.url.slice('sqlite:'.length))
  const all = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => readFileSync(`${file.parentPath}/${file.name}`).toString('latin1'))
    .join('')
  expect(all).toContain('counterfoil serve')
  for (const secret of [...secrets, csrf]) expect(all.includes(secret)).toBe(false)
})

test('M2 a token is compared by its hash in constant time, known or not', () => {
  const { id, secret, hash } = newSecret()
  expect(matches(secret, hash)).toBe(true)
  expect(matches(`${secret.slice(0, -1)}x`, hash)).toBe(false)
  // An unknown id goes the same way, to the same answer.
  expect(matches(secret, null)).toBe(false)
  expect(parseSecret('cf', `cf_${id}_${secret}`)).toEqual({ id, secret })
  for (const off of [
    '',
    'cf_',
    `cf_${id}_${secret}0`,
    `cfs_${id}_${secret}`,
    `cf_${id}`,
    undefined,
  ]) {
    expect(parseSecret('cf', off)).toBeNull()
  }
  const source = readFileSync(new URL('../../src/server/auth/secret.ts', import.meta.url), 'utf8')
  expect(source).toMatch(/timingSafeEqual\(Buffer\.from\(hashOf\(secret\)\)/)
  expect(source).not.toMatch(/===? *(hash|secret)\b/)
})

test('M2 wrong, revoked and expired tokens are all told the same', async () => {
  const bench = await startServer()
  const me = await bench.as('viewer')
  const admin = await bench.as('admin', { namespace: '*' })
  expect((await me.get('/v1/runs')).status).toBe(200)
  const [, id = ''] = me.token.split('_')
  await admin.delete(`/v1/tokens/${id}`)
  const texts = new Set<string>()
  const wrong = `cf_${id}_${'0'.repeat(64)}`
  for (const token of [
    me.token,
    wrong,
    'cf_x',
    `cf_${'0'.repeat(16)}_${'0'.repeat(64)}`,
    'x'.repeat(190),
  ]) {
    const headers = { authorization: `Bearer ${token}`, 'x-request-id': 'same' }
    const reply = await replyOf(await fetch(`${bench.server.url}/v1/runs`, { headers }))
    expect(reply.status).toBe(401)
    expect(reply.headers.get('www-authenticate')).toContain('Bearer')
    texts.add(reply.text)
  }
  expect(texts.size).toBe(1)
})

test('M2 a printed URL signs in once; in the same browser it leads on', async () => {
  const bench = await startServer()
  const url = await bench.server.entryUrl()
  const enter = (headers: Record<string, string> = {}) =>
    fetch(url, { redirect: 'manual', headers })
  const all = await Promise.all([enter(), enter(), enter()])
  expect(all.map(({ status }) => status).sort()).toEqual([303, 401, 401])
  const cookie = cookieOf(all.find(({ status }) => status === 303) as Response)
  const again = await enter({ cookie })
  expect([again.status, again.headers.get('location'), again.headers.get('set-cookie')]).toEqual([
    303,
    '/',
    null,
  ])
  // Nobody chooses where it leads.
  const away = await fetch(`${url}&next=//evil.example`, {
    redirect: 'manual',
    headers: { cookie },
  })
  expect([away.status, away.headers.get('location')]).toEqual([400, null])
})

test('M2 a session is never one that the browser was given by somebody else', async () => {
  const bench = await startServer()
  const mine = await signIn(bench)
  const planted = `counterfoil=cfs_${'0'.repeat(16)}_${'0'.repeat(64)}`
  for (const before of [mine.cookie, planted]) {
    const { cookie } = await signIn(bench, before)
    expect(cookie).not.toBe(before)
    const old = await fetch(`${bench.server.url}/v1/session`, { headers: { cookie: before } })
    expect(old.status).toBe(401)
  }
})

test('M2 signing out, and revoking the token, end a session', async () => {
  const bench = await startServer()
  const { cookie, csrf } = await signIn(bench)
  const session = (headers: object) =>
    fetch(`${bench.server.url}/v1/session`, { headers: { cookie, ...headers } })
  expect((await session({})).status).toBe(200)
  const out = await fetch(`${bench.server.url}/v1/session`, {
    ...{ method: 'DELETE', headers: { cookie, 'x-csrf-token': csrf } },
  })
  expect(out.headers.get('set-cookie')).toContain('Max-Age=0')
  expect((await session({})).status).toBe(401)
  const other = await signIn(bench)
  const [, id = ''] = (await bench.server.adminToken()).split('_')
  const admin = await bench.as('admin', { namespace: '*' })
  await admin.delete(`/v1/tokens/${id}`)
  const reply = await fetch(`${bench.server.url}/v1/session`, { headers: { cookie: other.cookie } })
  expect(reply.status).toBe(401)
})

test('M2 a write by cookie needs the CSRF token, and comes from our own pages', async () => {
  const bench = await startServer()
  const { cookie, csrf } = await signIn(bench)
  const start = async (headers: Record<string, string>) => {
    const json = { cookie, 'content-type': 'application/json', ...headers }
    const body = JSON.stringify({ graph: 'quick', input: { n: 1 } })
    return (await fetch(`${bench.server.url}/v1/runs`, { method: 'POST', headers: json, body }))
      .status
  }
  expect(await start({})).toBe(403)
  expect(await start({ 'x-csrf-token': 'x'.repeat(csrf.length) })).toBe(403)
  expect(await start({ 'x-csrf-token': csrf, origin: 'https://evil.example' })).toBe(403)
  expect(await start({ 'x-csrf-token': csrf, origin: 'null' })).toBe(403)
  expect(await start({ 'x-csrf-token': csrf, 'sec-fetch-site': 'cross-site' })).toBe(403)
  const other = await signIn(bench)
  expect(await start({ 'x-csrf-token': other.csrf })).toBe(403)
  expect(await start({ 'x-csrf-token': csrf, origin: bench.server.url })).toBe(201)
})

test('M2 no frame, no foreign script, nothing kept: on every kind of answer', async () => {
  const bench = await startServer()
  for (const path of ['/', '/v1/health', '/v1/runs', '/errors/RUN_NOT_FOUND', '/nothing.js']) {
    const { headers } = await fetch(`${bench.server.url}${path}`)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy, path).toContain("frame-ancestors 'none'")
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect(headers.get('cache-control'), path).toMatch(/no-store|no-cache/)
  }
  const page = await (await fetch(`${bench.server.url}/`)).text()
  expect(page).not.toMatch(/<script(?![^>]*\bsrc=)[^>]*>|\son\w+=|javascript:/i)
})

test('M2 behind TLS the cookie is Secure and of this host; others get in by it alone', async () => {
  const { cf } = await startServer()
  await expect(cf.server({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'SERVER_OPTIONS' })
  const server = await cf.server({ publicUrl: 'https://cf.example.com/' })
  const token = await server.adminToken()
  const ask = (path: string, init: RequestInit = {}) =>
    server.app.fetch(new Request(`https://cf.example.com${path}`, init))
  const headers = { 'content-type': 'application/json' }
  const reply = await ask('/v1/session', {
    method: 'POST',
    headers,
    body: JSON.stringify({ token }),
  })
  expect(reply.headers.get('set-cookie')).toMatch(/^__Host-counterfoil=.*; Path=\/; .*; Secure$/)
  expect(reply.headers.get('strict-transport-security')).toContain('max-age')
  expect(await server.entryUrl()).toMatch(/^https:\/\/cf\.example\.com\/enter\?ticket=cft_/)
})
