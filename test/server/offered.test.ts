// What is offered is what is taken, wherever it is said: by the client, the route, the command, a
// link, and for many at once; over every kind of item, every outcome, and what was sent for it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Cli } from '../../src/cli/cli.ts'
import { decideItem } from '../../src/cli/deciding.ts'
import { createOutput } from '../../src/cli/output.ts'
import { type Counterfoil, open } from '../../src/index.ts'
import type { DecideRequest } from '../../src/model/decisions/decide.ts'
import { type Choice, outcomesThat } from '../../src/model/decisions/outcomes.ts'
import { type Item, type Outcome, outcomes } from '../../src/model/run/records.ts'
import { bootId } from '../../src/store/boot.ts'
import { attempt, commitOf, newRun, record } from '../../src/testing/store/fixtures.ts'
import { kinds, unmatched } from '../model/items.ts'
import { type Client, replyOf, startServer } from './harness.ts'

/** What was sent for the call may still land; it is long over; or the item is not open any more. */
const states = ['sent', 'over', 'closed'] as const
type State = (typeof states)[number]

let made = 0

/** A run that waits before an item of this kind; answers the item's id. */
async function put({ store }: Counterfoil, kind: Item, state: State): Promise<string> {
  const runId = `r${++made}`
  const own = { runId, namespace: 'default' }
  await store.start(newRun(runId))
  const socket = { socketPath: null, socketInode: null }
  const process = { pid: 1, host: 'elsewhere', bootId: bootId(), startedAt: 1 }
  await store.register({ workerId: 'w_1', ...process, ...socket }, 60_000)
  const graphs = [{ name: 'g', version: '1.0.0' }]
  const [run] = await store.claim({ workerId: 'w_1', graphs, countMax: 1, only: own })
  if (run === undefined) throw new Error('not claimed')
  const { fence } = run
  const ends = state === 'sent' ? {} : ({ endedAt: 2_500, outcome: 'unknown' } as const)
  const item = {
    ...{ ...kind, ...own, itemId: `item_${runId}` },
    ...(state === 'closed' ? { state, closedAt: 6_000, closedBy: 'the test' } : {}),
  } as Item
  const changes = {
    records: [record(1, { ...own, fence, status: 'in_doubt' })],
    attempts: [attempt(1, { ...own, fence, ...ends })],
    items: [item],
    run: { state: 'waiting_human', release: true, waitingFor: null } as const,
  }
  const [done] = await store.commit([commitOf(run, 'c1', changes)])
  expect(done).toBe('done')
  return item.itemId
}

/** All that a choice says it needs. */
function wordsFor({ result, records }: Pick<Choice, 'result' | 'records'>) {
  const [named] = records
  return {
    ...(result === 'required' ? { result: { ok: true } } : {}),
    ...(named ? { record: named } : {}),
  }
}

/** What has to become of it, by what was offered. */
function expected(choice: Choice | undefined, state: State, madeSure: boolean): string {
  if (choice === undefined || choice.pins) return 'DECISION_INVALID'
  if (state === 'closed') return 'ITEM_CLOSED'
  return choice.locked && !madeSure ? 'DECISION_TOO_EARLY' : 'taken'
}

type Say = (
  itemId: string,
  said: Omit<DecideRequest, 'by' | 'reason' | 'version'>,
) => Promise<string>

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'taken',
    (error) => error.code ?? String(error),
  )
}

/** Says every outcome, with and without the statement; a new item wherever one is taken. */
async function sayAll(cf: Counterfoil, kind: Item, state: State, say: Say): Promise<void> {
  let itemId = await put(cf, kind, state)
  for (const outcome of outcomes) {
    for (const madeSure of [false, true]) {
      const { choices } = await cf.inbox.get(itemId)
      const choice = choices.find((one) => one.outcome === outcome)
      const other = { result: 'none', records: [unmatched('send', 'a')] } as const
      const words = wordsFor(choice ?? other)
      const became = await say(itemId, { outcome, madeSure, ...words })
      expect([outcome, became]).toEqual([outcome, expected(choice, state, madeSure)])
      if (became === 'taken') itemId = await put(cf, kind, state)
    }
  }
}

function byRoute(client: Client): Say {
  return async (itemId, { outcome, madeSure, result, record: named }) => {
    const record = named && {
      ...{ tool_name: named.tool, input_hash: named.inputHash, occurrence: named.occurrence },
    }
    const said = { outcome, reason: 'seen', version: 1, made_sure: madeSure, result, record }
    const reply = await client.post(`/v1/inbox/${itemId}/decision`, said)
    return reply.status === 201 ? 'taken' : reply.json.code
  }
}

function byCommand(storeUrl: string): Say {
  const out = { ...createOutput(true), data: () => {} }
  const nothing = { begin: () => {}, end: () => {}, clear: () => {} } as unknown as Cli['progress']
  const cli: Cli = {
    ...{ out, storeUrl, blobDir: undefined, namespace: 'default', debug: false },
    ...{ progress: nothing, warn: () => {}, interactive: false, again: () => [] },
  }
  return async (itemId, { outcome, madeSure = false, result, record: named }) => {
    const json = { option: '--result', text: JSON.stringify(result) }
    const said = { itemId, outcome, words: [], ...(result === undefined ? {} : { json }) }
    // As a person types it.
    const record = named && `${named.tool}/${named.inputHash}/${named.occurrence}`
    const options = { by: 'ana', reason: 'seen', version: '1', madeSure }
    const code = await codeOf(
      decideItem(cli, said, { ...options, ...(record === undefined ? {} : { record }) }),
    )
    return code === 'CLI_USAGE' ? 'DECISION_INVALID' : code
  }
}

describe('E2 every kind of item, every outcome', () => {
  test('E2 C1 the client takes what it offers, and nothing else', async () => {
    const cf = await open({ store: 'memory:', onWarning: () => {} })
    onTestFinished(() => cf.close())
    const say: Say = (itemId, said) =>
      codeOf(cf.inbox.decide(itemId, { by: 'ana', reason: 'seen', version: 1, ...said }))
    for (const state of states) for (const [, kind] of kinds) await sayAll(cf, kind, state, say)
  })

  test('E2 M1 so does the route, with the codes of the refusals', async () => {
    const { cf, as } = await startServer({ store: 'memory:' })
    const ana = await as('operator', { name: 'ana' })
    for (const state of states) {
      for (const [, kind] of kinds) await sayAll(cf, kind, state, byRoute(ana))
    }
  })

  test('E2 L1 so does the command', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cf-offered-'))
    const store = `sqlite:${join(folder, 'runs.db')}`
    const cf = await open({ store, onWarning: () => {} })
    onTestFinished(async () => {
      await cf.close()
      rmSync(folder, { recursive: true, force: true })
    })
    for (const state of ['sent', 'closed'] as const) {
      for (const [, kind] of kinds) await sayAll(cf, kind, state, byCommand(store))
    }
  })

  test('E5 a link says what the item offers, in its words, and nothing else', async () => {
    const { cf, as } = await startServer({ store: 'memory:' })
    const ana = await as('operator', { name: 'ana' })
    for (const [, kind] of kinds) {
      for (const outcome of outcomes) {
        const itemId = await put(cf, kind, 'over')
        const body = { item_id: itemId, version: 1, outcomes: [outcome] }
        const link = await ana.post('/v1/links', body)
        const { choices } = await cf.inbox.get(itemId)
        const choice = choices.find((one) => one.outcome === outcome)
        const offered = choice !== undefined && outcomesThat('link').includes(outcome)
        expect([outcome, link.status === 201]).toEqual([outcome, offered])
        if (!offered) continue
        const page = await replyOf(await fetch(link.json.url, { headers: html }))
        expect(page.text).toContain(choice.label)
        expect(page.text).toContain(choice.consequence)
        const used = await replyOf(await fetch(link.json.url, { method: 'POST' }))
        expect([outcome, used.status]).toEqual([outcome, 200])
      }
    }
  })

  test('E8 what is offered for many is taken for many, and nothing else', async () => {
    const { cf, as } = await startServer({ store: 'memory:' })
    const ana = await as('operator', { name: 'ana' })
    for (const [, kind] of kinds) {
      for (const outcome of outcomes) {
        const itemId = await put(cf, kind, 'over')
        const { items: rows } = (await ana.get(`/v1/inbox?run=r${made}`)).json
        const many = rows[0].many.map((one: { outcome: Outcome }) => one.outcome)
        const said = { items: [{ item_id: itemId, version: 1 }], outcome, reason: 'alike' }
        const reply = await ana.post('/v1/inbox/decisions', said)
        const became = reply.json.items?.[0]?.decision ? 'taken' : 'refused'
        expect([outcome, became]).toEqual([outcome, many.includes(outcome) ? 'taken' : 'refused'])
      }
    }
  })
})

const html = { accept: 'text/html' }

test('E5 a link to what is over says so before anybody writes a reason', async () => {
  const { cf, as } = await startServer({ store: 'memory:' })
  const ana = await as('operator', { name: 'ana' })
  const [, kind] = kinds.find(([name]) => name === 'an approval') ?? []
  const itemId = await put(cf, kind as Item, 'over')
  const { url } = (await ana.post('/v1/links', { item_id: itemId, version: 1 })).json
  await cf.inbox.decide(itemId, { outcome: 'approve', by: 'bo', reason: 'r', version: 1 })
  const page = await replyOf(await fetch(url, { headers: html }))
  expect(page.status).toBe(409)
  expect(page.text).toContain('was decided')
  expect(page.text).not.toContain('<form')
})
