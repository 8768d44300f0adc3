// M3: what another namespace holds answers byte for byte as what nobody holds. Made from the table.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { open } from '../../src/index.ts'
import { createToken } from '../../src/server/auth/tokens.ts'
import type { Route } from '../../src/server/http/route.ts'
import { table } from '../../src/server/table.ts'
import { plain, type Schema } from './generate.ts'
import { type Bench, graphs, replyOf, startServer, until } from './harness.ts'

interface Ids {
  run: string
  item: string
  token: string
}

/** A run that waits, its item and a token, all in another namespace of the same store. */
async function fill({ cf }: Bench): Promise<Ids> {
  const store = cf.store.url
  const other = await open({ store, namespace: 'other', graphs, onWarning: () => {} })
  try {
    const worker = other.worker()
    await worker.start()
    await other.start(graphs[0] as never, { to: 'ana' } as never, { runId: 'secret-run' })
    const item = await until(async () => (await other.inbox.list()).items[0])
    await worker.stop()
    const about = { name: 'theirs', role: 'viewer', namespace: 'other', by: 'test' } as const
    const { row } = await createToken(cf.store, about)
    return { run: 'secret-run', item: item.itemId, token: row.id }
  } finally {
    await other.close()
  }
}

function targetOf(route: Route, ids: Ids): string {
  const known = ids as unknown as Record<string, string>
  const path = route.path.replace(/:(\w+)/g, (_, key) => known[key] ?? `unknown-${key}`)
  const query = route.path === '/v1/inbox' ? `?run=${ids.run}` : ''
  return route.path === '/v1/runs' ? `${path}?q=${ids.run}` : `${path}${query}`
}

function bodyOf(route: Route, ids: Ids): string | null {
  if (route.body === undefined) return null
  const schema = z.toJSONSchema(route.body, { io: 'input', unrepresentable: 'any' }) as Schema
  const body = JSON.stringify(plain(schema))
  return body.replaceAll('"item_id":"a"', `"item_id":"${ids.item}"`)
}

async function ask(bench: Bench, token: string, route: Route, ids: Ids) {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    // The same on both sides, so that answers can be compared byte for byte.
    'x-request-id': 'same',
  }
  const init = { method: route.method, headers, body: bodyOf(route, ids) }
  const url = `${bench.server.url}${targetOf(route, ids)}`
  const reply = await replyOf(await fetch(url, { ...init, redirect: 'manual' }))
  return { status: reply.status, text: reply.text }
}

test('M3 another namespace’s ids answer as ids that do not exist, on every route', async () => {
  const [full, empty] = [await startServer(), await startServer()]
  const ids = await fill(full)
  const mine = { name: 'me', role: 'admin', namespace: 'default', by: 'test' } as const
  const tokens = await Promise.all(
    [full, empty].map(async ({ cf }) => (await createToken(cf.store, mine)).token),
  )
  const about = table.filter(({ path, role }) => role !== 'none' && /:|runs$|inbox$/.test(path))
  expect(about.length).toBeGreaterThan(20)
  for (const route of about) {
    if (route.path === '/v1/runs' && route.method === 'POST') continue
    const there = await ask(full, tokens[0] ?? '', route, ids)
    const nowhere = await ask(empty, tokens[1] ?? '', route, ids)
    expect(there, `${route.method} ${route.path}`).toEqual(nowhere)
    if (route.path.includes(':')) expect(there.status, route.path).toBeGreaterThanOrEqual(400)
    expect(there.text).not.toContain('Send it?')
  }
  // The ids are real: in their own namespace they answer.
  const theirs = { ...mine, namespace: 'other' }
  const { token } = await createToken(full.cf.store, theirs)
  for (const path of ['/v1/runs/:run', '/v1/inbox/:item']) {
    const route = table.find((one) => one.path === path && one.method === 'GET') as Route
    expect((await ask(full, token, route, ids)).status).toBe(200)
  }
})

test('M3 a list, a stream, figures and tokens show one namespace only', async () => {
  const bench = await startServer()
  const ids = await fill(bench)
  const me = await bench.as('admin')
  for (const path of ['/v1/runs', '/v1/inbox', '/v1/tokens', '/v1/stats', '/v1/metrics']) {
    const reply = await me.get(path)
    expect(reply.status, path).toBe(200)
    expect(reply.text).not.toContain(ids.run)
    expect(reply.text).not.toContain('theirs')
    expect(reply.text).not.toMatch(/waiting_human"?[}:] ?"?1/)
  }
  expect((await me.get('/v1/stats')).json.totals.backlog).toBeNull()
  expect((await me.get('/v1/runs?namespace=other')).json.code).toBe('NAMESPACE_FORBIDDEN')
  const all = await bench.as('viewer', { namespace: '*' })
  const found = await all.get('/v1/runs?namespace=other')
  expect(found.json.items.map(({ run_id }: { run_id: string }) => run_id)).toEqual([ids.run])
  expect((await all.get('/v1/stats')).json.totals.backlog.open_items).toBe(1)
})
