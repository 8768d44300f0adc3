// Two people at once, the same request twice, streams that go on where they broke off.
import { expect, test } from 'vitest'
import { type Client, startServer, until } from './harness.ts'

async function waiting(me: Client, runId = 'r1') {
  await me.post('/v1/runs', { graph: 'letter', input: { to: 'bo' }, run_id: runId })
  return until(async () => (await me.get(`/v1/inbox?run=${runId}`)).json.items[0])
}

test('E2 of two operators at once one wins, and the other is told who was first', async () => {
  const bench = await startServer({ worker: true })
  const people = await Promise.all(
    ['ana', 'bo', 'cy', 'di'].map((name) => bench.as('operator', { name })),
  )
  const item = await waiting(people[0] as Client)
  const said = (i: number) => ({
    ...{ outcome: i % 2 === 0 ? 'approve' : 'reject', reason: `said by ${i}` },
    version: item.version,
  })
  const path = `/v1/inbox/${item.item_id}/decision`
  const replies = await Promise.all(people.map((one, i) => one.post(path, said(i))))
  expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
  const winner = replies.find(({ status }) => status === 201)
  for (const reply of replies.filter(({ status }) => status === 409)) {
    expect(['ITEM_CLOSED', 'ITEM_CHANGED']).toContain(reply.json.code)
    expect(reply.json.type).toBe(`/errors/${reply.json.code}`)
  }
  const me = people[0] as Client
  const decisions = (await me.get('/v1/runs/r1/decisions')).json.items
  expect(decisions.map(({ by }: { by: string }) => by)).toEqual([winner?.json.by])
})

test('E2 a decision about a version that is no longer there is told so', async () => {
  const bench = await startServer({ worker: true })
  const me = await bench.as('operator')
  const item = await waiting(me)
  const old = { outcome: 'approve', reason: 'yes', version: item.version + 1 }
  const reply = await me.post(`/v1/inbox/${item.item_id}/decision`, old)
  expect([reply.status, reply.json.code]).toEqual([409, 'ITEM_CHANGED'])
})

test('M1 the same key and body is one request; another body 422; under way 409', async () => {
  const bench = await startServer()
  const me = await bench.as('operator')
  const key = { 'idempotency-key': 'k-1' }
  const start = (n: number) => me.post('/v1/runs', { graph: 'quick', input: { n } }, key)
  const first = await start(1)
  expect(first.status).toBe(201)
  const again = await start(1)
  expect([again.status, again.text]).toEqual([201, first.text])
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect((await me.get('/v1/runs')).json.items.length).toBe(1)
  const other = await start(2)
  expect([other.status, other.json.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH'])
  // Another person's key is another key.
  const you = await bench.as('operator', { name: 'you' })
  const theirs = await you.post('/v1/runs', { graph: 'quick', input: { n: 1 } }, key)
  expect(theirs.json.run_id).not.toBe(first.json.run_id)
  const many = await Promise.all(
    [1, 2, 3, 4].map(() =>
      me.post('/v1/runs', { graph: 'quick', input: { n: 5 } }, { 'idempotency-key': 'k-2' }),
    ),
  )
  for (const { status } of many) expect([201, 409]).toContain(status)
  expect((await me.get('/v1/runs')).json.items.length).toBe(3)
  const bad = await me.post(
    '/v1/runs',
    { graph: 'quick', input: { n: 1 } },
    { 'idempotency-key': 'ä ' },
  )
  expect(bad.status).toBe(400)
})

test('M1 an answer is kept as long as its request was refused, too', async () => {
  const bench = await startServer()
  const me = await bench.as('operator')
  const key = { 'idempotency-key': 'k-3' }
  const refused = await me.post('/v1/runs', { graph: 'none', input: 1 }, key)
  expect(refused.status).toBe(422)
  const again = await me.post('/v1/runs', { graph: 'none', input: 1 }, key)
  expect([again.status, again.text]).toEqual([422, refused.text])
  expect(again.headers.get('content-type')).toContain('problem+json')
})

/** Reads server-sent events until `enough` says so. */
async function read(
  url: string,
  headers: Record<string, string>,
  enough: (text: string) => boolean,
): Promise<{ ids: number[]; text: string }> {
  const controller = new AbortController()
  const response = await fetch(url, { headers, signal: controller.signal })
  expect(response.status).toBe(200)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!enough(text)) text += (await reader?.read())?.value ?? ''
  controller.abort()
  return { text, ids: [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)) }
}

test('M1 a stream of events goes on behind the last id, and misses nothing', async () => {
  const bench = await startServer({ worker: true })
  const me = await bench.as('operator')
  const item = await waiting(me)
  const url = `${bench.server.url}/v1/runs/r1/stream`
  const auth = { authorization: `Bearer ${me.token}` }
  const first = await read(url, auth, (text) => text.includes('"kind":"started"'))
  const last = String(first.ids[0])
  const rest = read(url, { ...auth, 'last-event-id': last }, (text) => text.includes('"completed"'))
  const said = { outcome: 'approve', reason: 'yes', version: item.version }
  await me.post(`/v1/inbox/${item.item_id}/decision`, said)
  const { ids } = await rest
  const all = (await me.get('/v1/runs/r1/events')).json.items.map(({ id }: { id: number }) => id)
  expect([first.ids[0], ...ids]).toEqual(all.slice(0, ids.length + 1))
  expect(all.slice(0, ids.length + 1)).toEqual(all)
})

test('M1 hints tell that runs and the inbox have changed', async () => {
  const bench = await startServer({ worker: true })
  const me = await bench.as('operator')
  const auth = { authorization: `Bearer ${me.token}` }
  let greeted = () => {}
  const listening = new Promise<void>((resolve) => {
    greeted = resolve
  })
  const heard = read(`${bench.server.url}/v1/stream`, auth, (text) => {
    if (text.includes('event: hello')) greeted()
    return /event: changed\ndata: \{.*"inbox":true/.test(text)
  })
  await listening
  await waiting(me)
  expect((await heard).text).toContain('event: hello')
})

test('M1 closing ends streams at once, and the port is free', async () => {
  const bench = await startServer()
  const me = await bench.as('viewer')
  const headers = { authorization: `Bearer ${me.token}` }
  const response = await fetch(`${bench.server.url}/v1/stream`, { headers })
  const ended = response.text().catch(() => 'cut')
  await bench.server.close()
  expect(typeof (await ended)).toBe('string')
  await expect(fetch(`${bench.server.url}/v1/health`)).rejects.toThrow()
})
