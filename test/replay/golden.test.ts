// Golden ledgers (J5): stores that a release has written, with runs in every state that a process
// can leave behind, load in this one, verify, and go on where they were. scripts/golden.mjs writes
// a new one.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Counterfoil, open } from 'counterfoil'
import pg from 'pg'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { verifyLedger } from '../../src/client/ledger/verify.ts'
import { dropSchema, key, plainUrl, postgresUrl, schemaOf } from '../postgres/bench.ts'
import { makeGraphs, orderOutput, type Sent, scopeIds, story } from './golden.mjs'
import { restore, unpacked } from './postgres.mjs'

const ledgers = join(import.meta.dirname, 'ledgers')

interface Facts {
  version: string
  /** SQLite, unless said. */
  store?: 'sqlite' | 'postgres'
  schema: string
  states: Record<string, string>
  sent: Sent[]
}

const factsOf = (name: string): Facts =>
  JSON.parse(readFileSync(join(ledgers, name, 'facts.json'), 'utf8'))
const names = readdirSync(ledgers).filter((name) => existsSync(join(ledgers, name, 'facts.json')))

const opened: Counterfoil[] = []
const folders: string[] = []
const schemas: string[] = []
afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
  for (const url of schemas.splice(0)) await dropSchema(url)
})

function copyOfFile(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-golden-'))
  folders.push(folder)
  for (const end of ['', '.key', '.blobs']) {
    const from = join(ledgers, name, `runs.sqlite${end}`)
    cpSync(from, join(folder, `runs.db${end}`), { recursive: true })
  }
  chmodSync(join(folder, 'runs.db.key'), 0o600)
  return `sqlite:${join(folder, 'runs.db')}`
}

async function copyOfRows(name: string): Promise<string> {
  const url = postgresUrl()
  schemas.push(url)
  const client = new pg.Client({ connectionString: plainUrl() })
  await client.connect()
  await restore(client, schemaOf(url), unpacked(join(ledgers, name, 'rows.json.gz')))
  await client.end()
  return url
}

async function copyOf(name: string) {
  const isPostgres = factsOf(name).store === 'postgres'
  const store = isPostgres ? await copyOfRows(name) : copyOfFile(name)
  const sent: Sent[] = []
  const { order, waiting, family, tools } = makeGraphs((each) => void sent.push(each))
  const graphs = [order, waiting, family]
  const given = isPostgres ? { key } : {}
  const cf = await open({ store, graphs, settleMs: 50, onWarning: () => {}, ...given })
  opened.push(cf)
  return { cf, sent, tools }
}

const by = { by: 'ana', reason: 'the golden ledger says so' }

/** Answers whatever is asked until every run is through. */
async function goOn(cf: Counterfoil, ids: readonly string[]): Promise<void> {
  for (;;) {
    for (const { itemId, version, kind, runId } of (await cf.inbox.list()).items) {
      const happened = { outcome: 'happened', result: { id: `mail-${runId}` } } as const
      const said = kind === 'doubt' ? happened : ({ outcome: 'approve' } as const)
      await cf.inbox.decide(itemId, { ...said, version, ...by })
    }
    const runs = await Promise.all(ids.map((id) => cf.run(id).status()))
    if (runs.every(({ state }) => state === 'completed')) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test.each(['sqlite', 'postgres'])('J5 the newest golden ledger of %s has its schema', (kind) => {
  const folder = join(import.meta.dirname, `../../src/store/${kind}/migrations`)
  const newest = readdirSync(folder)
    .sort()
    .at(-1)
    ?.replace(/\.sql$/, '')
  const known = names.map(factsOf).filter(({ store = 'sqlite' }) => store === kind)
  const written = known.map(({ schema }) => schema)
  expect(written, `write one: node scripts/golden.mjs ${kind}`).toContain(newest)
})

const hasServer = inject('postgresUrl') !== ''
const readable = names.filter((name) => hasServer || factsOf(name).store !== 'postgres')

describe.each(readable)('J5 the golden ledger %s', (name) => {
  const { states, sent: before } = factsOf(name)

  test('J5, B8, I12 it opens, is known to be a copy, and verifies', async () => {
    const { cf } = await copyOf(name)
    expect(await cf.store.moved()).toMatch(/copied|restored/)
    expect((await verifyLedger(cf.store, { namespace: 'default' })).findings).toEqual([])
    for (const [runId, { state }] of Object.entries(story)) expect(states[runId]).toBe(state)
    for (const [runId, state] of Object.entries(states)) {
      expect((await cf.run(runId).status()).state, runId).toBe(state)
      // A scope's state is its host's.
      if (runId !== 'scope') expect((await cf.run(runId).document()).runId).toBe(runId)
    }
  })

  test('J5, C2 its runs go on to their ends, and nothing unsafe is sent again', async () => {
    const { cf, sent, tools } = await copyOf(name)
    await cf.store.adopt('ana', 'a copy of the golden ledger')
    const child = Object.keys(states).find((id) => id.startsWith('child_')) ?? ''
    await cf.run('paused').resume({ by: 'ana' })
    for (const runId of ['signal', child]) await cf.run(runId).signal('go', 'now', { id: 'go' })
    await cf.worker().start()
    const orders = ['done', 'approval', 'doubt', 'cut', 'paused']
    await goOn(cf, [...orders, 'signal', 'sleep', 'child', child])
    for (const id of orders) expect(await cf.run(id).result(), id).toEqual(orderOutput(id))
    expect(await cf.run('signal').result()).toEqual({ id: 'mail-signal', heard: 'now' })
    expect(await cf.run('sleep').result()).toEqual({ id: 'mail-sleep', heard: null })
    expect(await cf.run('child').result()).toEqual({
      child: { id: 'mail-child of child', heard: 'now' },
    })
    const scope = await cf.scope(scopeIds)
    const recorded = await scope.call(tools.mail, { to: 'scope' }, { callId: 'call_1' })
    expect(recorded).toEqual({ id: 'mail-scope' })
    await scope.close()
    const unsafe = (all: readonly Sent[]) =>
      all.filter(({ key }) => key === null).map(({ tool, to }) => `${tool} ${to}`)
    const known = new Set(unsafe(before))
    expect(unsafe(sent).filter((each) => known.has(each))).toEqual([])
    // Each order that was not through sends its last mail, and none of them twice.
    expect(unsafe(sent).sort()).toEqual(
      ['approval', 'cut', 'doubt', 'paused'].map((id) => `mail ${id}, again`).sort(),
    )
    // A key is sent again as it was recorded, if its call had not ended.
    for (const { key, tool, to } of sent) if (tool === 'charge') expect(key).toMatch(`:${to}`)
    expect((await cf.run('cancelled').status()).state).toBe('cancelled')
    expect((await verifyLedger(cf.store, { namespace: 'default' })).findings).toEqual([])
  }, 300_000)
})
