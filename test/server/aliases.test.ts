// Names that probes, Prometheus and load balancers try by themselves; and clients that never end.
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startServer } from './harness.ts'

test('M1, M2 /metrics, /healthz, /readyz are the real ones, not the console', async () => {
  const bench = await startServer()
  const me = await bench.as('viewer')
  for (const [alias, real] of [
    ['/healthz', '/v1/health'],
    ['/readyz', '/v1/ready'],
  ] as const) {
    const reply = await fetch(`${bench.server.url}${alias}`)
    expect([reply.status, await reply.json()]).toEqual([200, { ok: true }])
    expect((await me.get(real)).json).toEqual({ ok: true })
  }
  const bare = await fetch(`${bench.server.url}/metrics`)
  expect([bare.status, bare.headers.get('content-type')]).toEqual([
    401,
    'application/problem+json; charset=utf-8',
  ])
  const read = await me.get('/metrics')
  expect([read.status, read.text.split('\n')[0]]).toEqual([
    200,
    '# HELP counterfoil_runs Runs by state.',
  ])
  expect(read.text).toContain('counterfoil_duplicate_effects_1h 0')
  const posted = await me.post('/metrics', {})
  expect([posted.status, posted.json.code]).toEqual([405, 'METHOD_NOT_ALLOWED'])
})

test('M1 headers that do not end are cut after 10 s: Node looks every second', async () => {
  const { server } = await startServer()
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const begun = performance.now()
  socket.write('GET /v1/health HTTP/1.1\r\nHost: ')
  let said = ''
  socket.on('data', (bytes) => {
    said += bytes
  })
  await once(socket, 'close')
  const seconds = (performance.now() - begun) / 1_000
  expect(said).toMatch(/^HTTP\/1\.1 408 /)
  expect(seconds).toBeGreaterThan(9)
  // Far from the 38 s that it took when Node looked twice a minute.
  expect(seconds).toBeLessThan(30)
}, 60_000)
