// Requests made from the OpenAPI document: never a 500, never a hang. Most without a socket, a
// share over real ones. The seed is printed by fast-check when it fails.

import { expect, test } from 'vitest'
import { fc } from '../seed.ts'
import { fuzz, nastyText, type Schema } from '../server/generate.ts'
import { type Bench, startServer } from '../server/harness.ts'

interface Operation {
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}

interface Made {
  method: string
  path: string
  headers: Record<string, string>
  body: string | null
}

async function operations({ server }: Bench): Promise<[string, string, Operation][]> {
  const reply = await server.app.fetch(new Request(`${server.url}/v1/openapi.json`))
  const { paths } = (await reply.json()) as { paths: Record<string, Record<string, Operation>> }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, string, Operation] => [
      method.toUpperCase(),
      path,
      operation,
    ]),
  )
}

const text = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** A value that a header can carry at all. */
const visible = (value: string) => value.replace(/[^\x20-\x7e]/g, '?').trim()

function requests(method: string, path: string, operation: Operation, ids: string[]) {
  const { parameters, requestBody } = operation
  const shape = requestBody?.content['application/json']?.schema
  const value = (schema: Schema) => fc.option(fuzz(schema), { nil: undefined })
  const given = fc.record(
    Object.fromEntries(
      parameters.map(({ name, in: where, schema }) => [
        `${where}:${name}`,
        where === 'path' ? fc.oneof(fc.constantFrom(...ids), nastyText) : value(schema),
      ]),
    ),
  )
  const body = shape ? fuzz(shape) : fc.constant(undefined)
  const extra = fc.option(fc.tuple(nastyText, nastyText), { freq: 10 })
  return fc
    .record({ given, body, extra })
    .map(({ given: values, body: said, extra: more }): Made => {
      const known = values as Record<string, unknown>
      const filled = path.replace(
        /\{(\w+)\}/g,
        (_, name) => encode(text(known[`path:${name}`])) || 'x',
      )
      const query = new URLSearchParams()
      const headers: Record<string, string> = { 'content-type': 'application/json' }
      for (const [key, one] of Object.entries(known)) {
        const [where = '', name = ''] = [
          key.slice(0, key.indexOf(':')),
          key.slice(key.indexOf(':') + 1),
        ]
        if (one === undefined) continue
        if (where === 'query') query.append(name, text(one))
        if (where === 'header' && visible(text(one)) !== '') headers[name] = visible(text(one))
      }
      if (more) query.append(...more)
      const json = said === undefined ? null : (JSON.stringify(said) ?? null)
      return { method, path: `${filled}?${query}`, headers, body: method === 'POST' ? json : null }
    })
}

function encode(value: string): string {
  return encodeURIComponent(value.replace(/\p{Cs}/gu, '?'))
}

const secondsMax = 10

async function answered(ask: () => Promise<Response>, made: Made): Promise<void> {
  const late = new Promise<never>((_, reject) =>
    setTimeout(() => reject(new Error(`no answer: ${JSON.stringify(made)}`)), secondsMax * 1_000),
  )
  const reply = await Promise.race([ask(), late])
  const isStream = reply.headers.get('content-type') === 'text/event-stream'
  if (isStream) await reply.body?.cancel()
  const said = isStream ? '' : await reply.text()
  if (reply.status >= 500) throw new Error(`${reply.status} ${said}: ${JSON.stringify(made)}`)
  if (reply.status >= 400) {
    const { code, request_id: id } = JSON.parse(said)
    expect([typeof code, typeof id]).toEqual(['string', 'string'])
  }
}

async function bombard(bench: Bench, count: number, over: 'app' | 'socket'): Promise<number> {
  const { server } = bench
  const all = await operations(bench)
  const admin = await bench.as('admin', { namespace: '*' })
  await admin.post('/v1/runs', { graph: 'quick', input: { n: 1 }, run_id: 'r1' })
  const each = Math.ceil(count / all.length)
  let sent = 0
  for (const [method, path, operation] of all) {
    const property = fc.asyncProperty(
      requests(method, path, operation, ['r1', 'x']),
      async (made) => {
        const headers = { ...made.headers, authorization: `Bearer ${admin.token}` }
        const init = { method, headers, body: made.body, redirect: 'manual' } as const
        const url = `${server.url}${made.path}`
        sent++
        if (url.length > 20_000) return
        const ask = () =>
          over === 'app' ? server.app.fetch(new Request(url, init)) : fetch(url, init)
        await answered(ask, made)
      },
    )
    await fc.assert(property, { numRuns: each, endOnFailure: true })
  }
  return sent
}

const inProcess = Number(process.env['FUZZ'] ?? 50_000)

test('M1 50,000 requests made from the OpenAPI document: never a 500, never a hang', {
  timeout: 600_000,
}, async () => {
  const bench = await startServer({ store: 'memory:' })
  const started = Date.now()
  const sent = await bombard(bench, inProcess, 'app')
  expect(sent).toBeGreaterThanOrEqual(inProcess)
  console.log(`${sent} requests in ${Math.round((Date.now() - started) / 1_000)} s`)
  const health = await fetch(`${bench.server.url}/v1/health`)
  expect(health.status).toBe(200)
})

test('M1 a share of them over real sockets, on SQLite', { timeout: 300_000 }, async () => {
  const bench = await startServer()
  expect(await bombard(bench, 1_500, 'socket')).toBeGreaterThanOrEqual(1_500)
})
