// Requests that are off: sizes, shapes, names, paths. Each is refused with a problem, never a 500.
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { type Bench, type Client, replyOf, startServer } from '../server/harness.ts'

const raw = async ({ server }: Bench, me: Client, body: string, path = '/v1/runs') => {
  const headers = { authorization: `Bearer ${me.token}`, 'content-type': 'application/json' }
  const reply = await replyOf(
    await fetch(`${server.url}${path}`, { method: 'POST', headers, body }),
  )
  return [reply.status, reply.json.code]
}

const run = (input: string) => `{"graph":"quick","input":${input}}`

test('M1 a body that is too large, too deep or too wide is refused', async () => {
  const bench = await startServer()
  const me = await bench.as('operator')
  const text = (length: number) => run(`"${'a'.repeat(length)}"`)
  expect(await raw(bench, me, text(1024 * 1024))).toEqual([413, 'BODY_TOO_LARGE'])
  expect(await raw(bench, me, text(1000))).toEqual([422, 'INPUT_INVALID'])
  const small = `{"reason":"${'a'.repeat(65_536)}"}`
  expect(await raw(bench, me, small, '/v1/runs/x/pause')).toEqual([413, 'BODY_TOO_LARGE'])
  const deep = (n: number) => run('['.repeat(n) + ']'.repeat(n))
  expect(await raw(bench, me, deep(100_000))).toEqual([400, 'JSON_INVALID'])
  expect(await raw(bench, me, deep(64))).toEqual([400, 'JSON_INVALID'])
  expect(await raw(bench, me, deep(63))).toEqual([422, 'INPUT_INVALID'])
  expect(await raw(bench, me, run(`[${'1,'.repeat(100_001)}1]`))).toEqual([400, 'JSON_INVALID'])
})

test('M1 a body without a length is counted as it comes', async () => {
  const bench = await startServer()
  const me = await bench.as('operator')
  let sent = 0
  const body = new ReadableStream({
    pull: (controller) => {
      sent += 65_536
      controller.enqueue(Buffer.alloc(65_536, 32))
      if (sent > 50 * 1024 * 1024) controller.close()
    },
  })
  const headers = { authorization: `Bearer ${me.token}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
  const status = await fetch(`${bench.server.url}/v1/runs`, init).then(
    (reply) => reply.status,
    () => 413,
  )
  expect(status).toBe(413)
  expect(sent).toBeLessThan(20 * 1024 * 1024)
})

test('M1 a key that occurs twice and __proto__ are refused, however they are written', async () => {
  const bench = await startServer()
  const me = await bench.as('operator')
  const off = [
    ...[run('{"n":1,"n":2}'), run('{"n":1,"\\u006e":2}'), '{"graph":"a","graph":"b"}'],
    ...[run('{"__proto__":{"n":1}}'), run('{"\\u005f_proto__":1}'), '{"__proto__":{}}'],
    ...['', '{', '{"a":}', 'nul', '"\\', '{"graph":"quick","input":{"n":1}}x'].slice(1),
  ]
  for (const body of off) expect(await raw(bench, me, body), body).toEqual([400, 'JSON_INVALID'])
  // A key in a string, or the same key at two places, is no such thing.
  expect(await raw(bench, me, run('{"n":1,"x":"\\"n\\":1,\\"n\\":2 __proto__"}'))).toEqual([
    201,
    undefined,
  ])
  expect(await raw(bench, me, run('{"n":2,"x":[{"n":1},{"n":1}]}'))).toEqual([201, undefined])
  expect(({} as Record<string, unknown>)['n']).toBeUndefined()
  const bytes = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])
  const headers = { authorization: `Bearer ${me.token}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: bytes }
  expect((await fetch(`${bench.server.url}/v1/runs`, init)).status).toBe(400)
})

test('M1 wrong types, unknown keys and other media types are refused, with the place', async () => {
  const bench = await startServer()
  const me = await bench.as('operator')
  const wrong = await me.post('/v1/runs', { graph: 7, input: 1, more: true })
  expect([wrong.status, wrong.json.code]).toEqual([400, 'REQUEST_INVALID'])
  expect(wrong.json.details.issues.length).toBe(2)
  for (const path of [
    '/v1/runs?state=odd',
    '/v1/runs?x=1',
    '/v1/runs?limit=1&limit=2',
    '/v1/runs?limit=-1',
  ]) {
    expect((await me.get(path)).json.code, path).toBe('REQUEST_INVALID')
  }
  expect((await me.get('/v1/runs?cursor=abc')).json.code).toBe('CURSOR_INVALID')
  expect((await me.get(`/v1/runs?q=${'a'.repeat(2_000)}`)).status).toBe(400)
  expect((await me.get(`/v1/runs?q=${'a'.repeat(9_000)}`)).status).toBe(414)
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
  ]) {
    const reply = await me.post('/v1/runs', { graph: 'quick' }, { 'content-type': type })
    expect(reply.json.code, type).toBe('MEDIA_TYPE_UNSUPPORTED')
  }
  const put = await fetch(`${bench.server.url}/v1/runs`, { method: 'PUT' })
  expect(put.status).toBe(405)
  expect((await me.get('/v1/nothing')).json).toMatchObject({ code: 'ROUTE_NOT_FOUND', status: 404 })
})

test('M1 a problem is RFC 9457: its type is a page that is there', async () => {
  const bench = await startServer()
  const me = await bench.as('viewer')
  const { headers, json } = await me.get('/v1/runs/nope', { 'x-request-id': 'my-id' })
  expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  expect(headers.get('x-request-id')).toBe('my-id')
  expect(json).toEqual({
    ...{ type: '/errors/RUN_NOT_FOUND', title: 'Run not found', status: 404 },
    ...{ detail: 'there is no run nope', code: 'RUN_NOT_FOUND', request_id: 'my-id' },
    ...{ retryable: false, details: { runId: 'nope' } },
  })
  const page = await fetch(`${bench.server.url}${json.type}`)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(await page.text()).toContain('<h2>What to do</h2>')
  const markdown = await fetch(`${bench.server.url}${json.type}`, {
    headers: { accept: 'text/markdown' },
  })
  expect(await markdown.text()).toContain('## What to do')
})

/** As it is written: clients tidy paths and headers before they send them. */
function send({ server }: Bench, lines: string[]): Promise<string> {
  const { hostname, port } = new URL(server.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  })
}

test('M1 no path leads out of the console and the error pages', async () => {
  const bench = await startServer()
  const host = `Host: ${new URL(bench.server.url).host}`
  const paths = [
    ...[
      '/../package.json',
      '/..%2fpackage.json',
      '/%2e%2e/%2e%2e/package.json',
      '/assets/../../cli/main.js',
    ],
    ...[
      '/errors/../README',
      '/errors/..%2f..%2fREADME',
      '/errors/README',
      '/errors/%2e%2e',
      '//etc/passwd',
    ],
    ...[
      '/errors/RUN_NOT_FOUND.md',
      '/errors/RUN_NOT_FOUND%00',
      '/assets/%00',
      '/.env',
      '/assets/..%5c..',
    ],
  ]
  for (const path of paths) {
    const text = await send(bench, [`GET ${path} HTTP/1.1`, host, 'Connection: close'])
    expect(text, path).not.toContain('"name": "counterfoil"')
    expect(text, path).not.toMatch(/root:|What happened|## /)
    expect(text, path).not.toMatch(/^HTTP\/1.1 5/)
  }
  const me = await bench.as('viewer')
  for (const id of ['..%2f..%2fetc%2fpasswd', '%2e%2e', 'a%00b', '%ff', '%zz']) {
    for (const part of ['', '/state', '/ledger']) {
      const reply = await me.get(`/v1/runs/${id}${part}`)
      expect([400, 404], `${id}${part}`).toContain(reply.status)
    }
  }
})

test('M1 names that are not ours, and headers that are too large, are refused', async () => {
  const bench = await startServer()
  const get = (...headers: string[]) =>
    send(bench, ['GET /v1/health HTTP/1.1', ...headers, 'Connection: close'])
  const host = `Host: ${new URL(bench.server.url).host}`
  expect(await get(host)).toMatch(/^HTTP\/1.1 200/)
  expect(await get('Host: evil.example')).toMatch(/^HTTP\/1.1 421/)
  expect(await get(host, `X-Long: ${'a'.repeat(20_000)}`)).toMatch(/^HTTP\/1.1 431/)
  expect(await send(bench, ['GARBAGE'])).toMatch(/^HTTP\/1.1 400/)
})

test('M1 what a request says never becomes a header of the answer', async () => {
  const bench = await startServer()
  const me = await bench.as('viewer')
  const odd = await me.get('/v1/runs/a%0d%0aSet-Cookie:%20x=y', { 'x-request-id': 'a b;c' })
  expect(odd.headers.get('set-cookie')).toBeNull()
  expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  const entry = await fetch(`${bench.server.url}/enter?ticket=x%0d%0aLocation:%20//evil`, {
    redirect: 'manual',
  })
  expect([entry.status, entry.headers.get('location')]).toEqual([401, null])
})
