// The whole way once: signing in by the printed URL, a run, its approval, the decision, the stream.
import { expect, test } from 'vitest'
import { replyOf, startServer, until } from './harness.ts'

test('M1, M2 from the printed URL to a finished run', async () => {
  const { server } = await startServer({ worker: true })
  const entry = await fetch(await server.entryUrl(), { redirect: 'manual' })
  expect(entry.status).toBe(303)
  expect(entry.headers.get('location')).toBe('/')
  const cookie = entry.headers.get('set-cookie') ?? ''
  expect(cookie).toMatch(/^counterfoil=cfs_\w+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/)
  const jar = { cookie: cookie.split(';')[0] ?? '' }
  const get = async (path: string) => replyOf(await fetch(`${server.url}${path}`, { headers: jar }))
  const session = await get('/v1/session')
  expect(session.json).toMatchObject({ name: 'admin', role: 'admin', store: 'sqlite' })
  const post = async (path: string, body: unknown) => {
    const headers = {
      ...jar,
      'x-csrf-token': session.json.csrf,
      'content-type': 'application/json',
    }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return replyOf(await fetch(`${server.url}${path}`, init))
  }
  const started = await post('/v1/runs', { graph: 'letter', input: { to: 'ana' }, run_id: 'r-1' })
  expect(started.status).toBe(201)
  const again = await post('/v1/runs', { graph: 'letter', input: { to: 'ana' }, run_id: 'r-1' })
  expect(again.status).toBe(200)

  const item = await until(async () => (await get('/v1/inbox')).json.items[0])
  expect(item).toMatchObject({ kind: 'approval', queue: 'sales', run_id: 'r-1' })
  const view = await get(`/v1/inbox/${item.item_id}`)
  expect(view.json.choices[0]).toMatchObject({ outcome: 'approve', label: 'Approve', locked: null })
  expect(view.json.run).toMatchObject({ run_id: 'r-1', started_by: 'admin' })
  const said = { outcome: 'approve', reason: 'fine', version: item.version }
  const decided = await post(`/v1/inbox/${item.item_id}/decision`, said)
  expect([decided.status, decided.json.by]).toEqual([201, 'admin'])

  const done = await until(async () => {
    const run = (await get('/v1/runs/r-1')).json
    return run.state === 'completed' ? run : null
  })
  expect(done).toMatchObject({ output: { id: 'm-ana' }, started_by: 'admin', children_count: 0 })
  expect(done.path.map(({ node }: { node: string }) => node)).toEqual(['ask', 'send'])
  const stream = await fetch(`${server.url}/v1/runs/r-1/stream`, { headers: jar })
  expect(stream.headers.get('content-type')).toBe('text/event-stream')
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('"kind":"started"')) text += (await reader?.read())?.value ?? ''
  await reader?.cancel()
})
