// Every route once as it should be used, its answer against its own schema; and who may use it.
import { describe, expect, test } from 'vitest'
import { roles } from '../../src/server/auth/principal.ts'
import { table } from '../../src/server/table.ts'
import { describePostgres, dropSchema, key, postgresUrl } from '../postgres/bench.ts'
import { type Bench, type Client, graphs, type Reply, startServer, until } from './harness.ts'

const seen = new Set<string>()

/** The route that a request came to, and its answer as it describes it. */
function checked(method: string, path: string, reply: Reply, status = 200): Reply {
  const [bare = ''] = path.split('?')
  const route = table.find(
    (one) =>
      one.method === method && new RegExp(`^${one.path.replace(/:\w+/g, '[^/]+')}$`).test(bare),
  )
  expect(route, `${method} ${bare}`).toBeDefined()
  expect([reply.status, path, reply.status >= 400 ? reply.text : '']).toEqual([status, path, ''])
  seen.add(`${method} ${route?.path}`)
  if (route?.answer) route.answer.parse(reply.json)
  return reply
}

async function everything(bench: Bench): Promise<void> {
  const me = await bench.as('admin', { name: 'ana', namespace: '*' })
  const get = async (path: string) => checked('GET', path, await me.get(path))
  const post = async (path: string, body: unknown, status = 200) =>
    checked('POST', path, await me.post(path, body), status)
  for (const path of ['health', 'ready', 'openapi.json', 'stats', 'session', 'versions']) {
    await get(`/v1/${path}`)
  }
  await post('/v1/runs', { graph: 'letter@1.0.0', input: { to: 'bo' }, run_id: 'r1' }, 201)
  const item = await until(async () => (await get('/v1/inbox')).json.items[0])
  await get('/v1/runs?state=waiting_human&graph=letter&q=r&order=oldest')
  await get(`/v1/inbox/${item.item_id}`)
  const said = { outcome: 'approve', reason: 'yes', version: item.version }
  await post(`/v1/inbox/${item.item_id}/decision`, said, 201)
  await until(async () => (await get('/v1/runs/r1')).json.state === 'completed')
  const of = 'state ledger attempts checkpoints events decisions children preview document graph'
  for (const part of [...of.split(' '), 'failed-calls']) await get(`/v1/runs/r1/${part}`)
  await acts(bench, me)
  expect((await get('/v1/tools')).json.items[0]).toMatchObject({ recovery: 'put before a person' })
  const [worker] = (await get('/v1/workers')).json.items
  const refused = await me.post(`/v1/workers/${worker.worker_id}/dead`, { proof: 'I say so' })
  expect([refused.status, refused.json.code]).toEqual([409, 'WORKER_ALIVE'])
  const made = await post('/v1/tokens', { name: 'ci', role: 'viewer', expires_in_ms: 60_000 }, 201)
  expect((await get('/v1/tokens')).text).not.toContain(made.json.token)
  const gone = await me.delete(`/v1/tokens/${made.json.token_id}`)
  checked('DELETE', '/v1/tokens/x', gone, 204)
  const metrics = (await get('/v1/metrics')).text
  expect(metrics).toContain('counterfoil_runs{state="completed"} ')
  expect(metrics).toMatch(
    /counterfoil_calls_1h\{replay_class="unsafe_on_replay",outcome="executed"\} \d/,
  )
}

async function acts({ cf }: Bench, me: Client): Promise<void> {
  const post = async (path: string, body: unknown, status = 200) =>
    checked('POST', path, await me.post(path, body), status)
  await cf.start(graphs[2] as never, null as never, { runId: 'p1', by: 'bo' })
  const state = async (wanted: string) =>
    until(async () => (await cf.run('p1').status()).state === wanted)
  await state('waiting_tool')
  await post('/v1/runs/p1/pause', { reason: 'lunch' }, 202)
  await state('paused')
  await post('/v1/runs/p1/resume', {}, 202)
  await state('waiting_tool')
  const sent = await post('/v1/runs/p1/signal', { name: 'other', data: { n: 1 }, signal_id: 's1' })
  expect(sent.json).toEqual({ signal_id: 's1', created: true })
  await post('/v1/runs/p1/cancel', { reason: 'enough' }, 202)
  await state('cancelled')
  const retry = await me.post('/v1/runs/p1/retry', { reason: 'again' })
  expect([retry.status, retry.json.code]).toEqual([409, 'RUN_NOT_FAILED'])
  const pin = await me.post('/v1/runs/p1/pin', { visit: 1, reason: 'back' })
  expect([pin.status, pin.json.code]).toEqual([409, 'PIN_REFUSED'])
  const late = await me.post('/v1/callbacks', { token: 'nobody', result: 1 })
  expect([late.status, late.json.code]).toEqual([404, 'CALLBACK_UNKNOWN'])
}

describe('every route', () => {
  test('M1, D4 answers as it says', { timeout: 120_000 }, async () => {
    await everything(await startServer({ worker: true }))
    const mine = table.filter(({ tag }) => ['run', 'runs', 'fleet', 'tokens'].includes(tag))
    const apart = /dead$|retry$|pin$/
    const missing = mine
      .map(({ method, path }) => `${method} ${path}`)
      .filter((name) => !seen.has(name) && !apart.test(name))
    expect(missing).toEqual([])
  })
})

describePostgres('every route on Postgres', () => {
  test('M1, L2 answers as it says', { timeout: 120_000 }, async () => {
    const store = postgresUrl()
    const bench = await startServer({ store, key, worker: true })
    await everything(bench)
    await bench.cf.close()
    await dropSchema(store)
  })
})

test('M2 a role that is too low is refused on every route, before anything else', async () => {
  const bench = await startServer()
  for (const [i, role] of roles.entries()) {
    const me = await bench.as(role)
    for (const route of table.filter((one) => one.role !== 'none')) {
      const path = route.path.replace(/:\w+/g, 'x')
      const url = `${bench.server.url}${path}`
      const headers = { authorization: `Bearer ${me.token}` }
      const controller = new AbortController()
      const { signal } = controller
      const reply = await fetch(url, { method: route.method, headers, signal })
      const may = roles.indexOf(route.role as never) <= i
      expect([path, reply.status === 403], `${role} ${route.method}`).toEqual([path, !may])
      controller.abort()
      const nobody = await fetch(url, { method: route.method })
      expect([path, nobody.status]).toEqual([path, 401])
      await nobody.text()
    }
  }
})
