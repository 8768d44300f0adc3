// The server is killed with SIGKILL between sending and recording: what was sent is sent again,
// under the same id. And the receiver of the guide, as it stands.
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { clientOf, until } from './harness.ts'
import { startReceiver } from './receiving.ts'

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'cf-hooks-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

async function startProcess(store: string) {
  const child: ChildProcess = fork(file('./webhook-server.mjs'), [store])
  const ended = new Promise<string | null>((resolve) =>
    child.once('exit', (_, signal) => resolve(signal)),
  )
  const kill = () => {
    child.kill('SIGKILL')
    return ended
  }
  onTestFinished(async () => void (await kill()))
  const said = await new Promise<{ url: string; token: string }>((resolve) =>
    child.once('message', (message) => resolve(message as never)),
  )
  return { child, kill, admin: clientOf(said.url, said.token) }
}

test('E5 killed between send and record: sent again by the next, with the same id', async () => {
  const store = `sqlite:${join(folder(), 'runs.db')}`
  const receiver = await startReceiver(['hang', '204'])
  const first = await startProcess(store)
  await first.admin.post('/v1/webhooks', { url: receiver.url, allow_private: true })
  first.child.send({ start: 'r1' })
  const before = await until(async () => receiver.received[0])
  expect(await first.kill()).toBe('SIGKILL')
  const second = await startProcess(store)
  // The next may send it when the lease of the one that died is over.
  const after = await until(async () => receiver.received[1])
  expect(after.headers['webhook-id']).toBe(before.headers['webhook-id'])
  const [one] = await until(async () => {
    const { items } = (await second.admin.get('/v1/webhooks/deliveries?state=delivered')).json
    return items.length > 0 && items
  })
  expect(one).toMatchObject({ attempts: 2, run_id: 'r1' })
  expect(receiver.received).toHaveLength(2)
}, 300_000)

test('E5 killed before the outbox was looked at: the next tells all of it', async () => {
  const store = `sqlite:${join(folder(), 'runs.db')}`
  const receiver = await startReceiver()
  const first = await startProcess(store)
  await first.admin.post('/v1/webhooks', { url: receiver.url, allow_private: true })
  for (let n = 0; n < 20; n++) first.child.send({ start: `r${n}` })
  await until(async () => receiver.received.length >= 3)
  await first.kill()
  await startProcess(store)
  const told = () => new Set(receiver.received.map(({ body }) => JSON.parse(body).data.run_id))
  const asked = async () => told().size
  // Runs that were started before the kill are all asked about, and each is told.
  const { open } = await import('../../src/index.ts')
  const cf = await open({ store, onWarning: () => {} })
  onTestFinished(() => cf.close())
  const waiting = await until(async () => {
    const { items } = await cf.inbox.list({ countMax: 100 })
    return items.length === (await asked()) && items.length >= 3 && items
  })
  expect(waiting.length).toBe(await asked())
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(waiting.length)
}, 300_000)

test('E5 the receiver of the guide takes each once, and refuses what is not signed', async () => {
  const store = `sqlite:${join(folder(), 'runs.db')}`
  const server = await startProcess(store)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const added = await server.admin.post('/v1/webhooks', { url, allow_private: true })
  const child = spawn(process.execPath, [file('../../examples/webhook-receiver.mjs')], {
    env: { ...process.env, WEBHOOK_SECRET: added.json.secret, PORT: `${port}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  child.stdout.on('data', (part) => {
    out += part
  })
  await until(async () => out.includes('listening'))
  server.child.send({ start: 'r1' })
  await until(async () =>
    /counterfoil\.waiting_human: Send it\? -> http:.*\/inbox\/item_/.test(out),
  )
  const { items } = (await server.admin.get('/v1/webhooks/deliveries')).json
  const path = `/v1/webhooks/deliveries/${items[0].delivery_id}/retry`
  await until(async () => (await server.admin.post(path)).status === 200)
  await until(async () => out.includes(`again: ${items[0].delivery_id}`))
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
}, 300_000)

async function freePort(): Promise<number> {
  const receiver = await startReceiver()
  await receiver.kill()
  return receiver.port
}
