// The central stories of the engine on a server: a doubt after a real SIGKILL and what a person
// makes of it, an approval, checkpoints, scopes, large values.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, type Graph, graph, open, tool } from '../../src/index.ts'
import { describePostgres, dropSchema, key, postgresUrl } from '../postgres/bench.ts'
import { agent, effectsOf } from './agents.mjs'
import { eventsOf, Fleet, findings } from './site.ts'

/** A run of the fleet's agent whose worker is killed in the middle of its first mail. */
async function killed() {
  const fleet = await Fleet.open('postgres', { delayMs: 50, firstMs: 60_000 })
  const cf = await fleet.client([agent])
  const run = await cf.start(agent, { to: 'r1' }, { runId: 'r1' })
  const worker = await fleet.worker()
  const sent = () => fleet.effects().filter((effect) => effect.tool === 'mail').length
  await expect.poll(sent, { timeout: 90_000, interval: 5 }).toBe(1)
  worker.child.kill('SIGKILL')
  expect((await worker.ended).signal).toBe('SIGKILL')
  const next = await fleet.worker()
  await run.until('waiting_human')
  const { items } = await cf.inbox.list({ kind: 'doubt' })
  expect(items).toMatchObject([{ runId: 'r1', reason: 'unknown', title: 'mail: did it happen?' }])
  const { itemId = '', version = 0 } = items[0] ?? {}
  const decide = (said: object) =>
    cf.inbox.decide(itemId, { ...said, by: 'ana', reason: 'looked', version } as never)
  return { fleet, cf, run, next, sent, decide }
}

describePostgres('on Postgres', () => {
  test('C2 E2 a real SIGKILL in mid-call: a doubt; "it happened" sends nothing again', async () => {
    const { fleet, cf, run, next, sent, decide } = await killed()
    // The worker's death is proven: same machine, nobody listens on its socket.
    expect((await cf.store.workers()).filter((row) => row.diedAt !== null)).toHaveLength(1)
    await decide({ outcome: 'happened', result: { id: 'mail-1' } })
    expect(await run.result()).toEqual({ steps: 6 })
    expect(sent()).toBe(6)
    const real = fleet.effects().filter((effect) => !effect.repeated)
    expect(real.length).toBe(effectsOf('r1').length)
    expect((await eventsOf(cf, 'taken_over'))[0]).toMatchObject({ cause: 'dead' })
    expect(await findings(cf)).toEqual([])
    next.child.kill('SIGTERM')
    expect((await next.ended).code).toBe(0)
  }, 300_000)

  test('I5 E2 "it did not happen" is too early, then counts, and sends once more', async () => {
    const { run, sent, decide } = await killed()
    const early = decide({ outcome: 'did_not_happen' })
    await expect(early).rejects.toMatchObject({ code: 'DECISION_TOO_EARLY' })
    await decide({ outcome: 'did_not_happen', madeSure: true })
    expect(await run.result()).toEqual({ steps: 6 })
    // The mail had happened: whoever makes sure of what is not so sends it twice. Once, not more.
    expect(sent()).toBe(7)
  }, 300_000)
})

async function opened(graphs: readonly Graph[], more: object = {}): Promise<Counterfoil> {
  const url = postgresUrl()
  const cf = await open({ store: url, key, graphs, onWarning: () => {}, ...more })
  onTestFinished(async () => {
    await cf.close()
    await dropSchema(url)
  })
  return cf
}

const write = tool({
  name: 'write',
  replayClass: 'unsafe_on_replay',
  input: z.object({ text: z.string() }),
  run: ({ text }) => ({ text, id: text.length }),
})

const letter = graph({
  id: 'letter@1.0.0',
  state: z.object({ text: z.string(), drafts: z.array(z.string()).default([]) }),
  output: z.object({ drafts: z.number(), approvedBy: z.string() }),
  tools: [write],
  start: 'draft',
  nodes: {
    draft: async (state, ctx) => {
      const { text } = await ctx.call(write, { text: `${state.text}${state.drafts.length}` })
      const drafts = [...state.drafts, text]
      return ctx.go(drafts.length < 3 ? 'draft' : 'ask', { drafts })
    },
    ask: async (state, ctx) => {
      const answer = await ctx.approval({ title: 'Send it?', data: state.drafts, slaMs: 50 })
      return answer.approved
        ? ctx.done({ drafts: state.drafts.length, approvedBy: answer.by })
        : ctx.fail('rejected')
    },
  },
}) as Graph

describePostgres('on Postgres, in one process', () => {
  test('E1 D10 a graph with checkpoints and an approval; its SLA passes as an event', async () => {
    const cf = await opened([letter])
    await cf.worker().start()
    const run = await cf.start(letter, { text: 'dear ' }, { runId: 'l1' })
    await run.until('waiting_human')
    expect(await run.state()).toMatchObject({ drafts: ['dear 0', 'dear 1', 'dear 2'] })
    const at = { namespace: 'default', runId: 'l1' }
    const rows = await cf.store.listCheckpoints(at)
    expect(rows.map(({ node }) => node)).toEqual(['draft', 'draft', 'draft', 'ask'])
    await expect.poll(() => eventsOf(cf, 'sla_passed'), { timeout: 90_000 }).toHaveLength(1)
    const [item] = (await cf.inbox.list({ kind: 'approval' })).items
    const { itemId = '', version = 0 } = item ?? {}
    await cf.inbox.decide(itemId, { outcome: 'approve', by: 'ana', reason: 'fine', version })
    expect(await run.result()).toEqual({ drafts: 3, approvedBy: 'ana' })
    expect(await findings(cf)).toEqual([])
  })

  test('C5 C9 a scope on a server: the second time the ledger answers', async () => {
    const cf = await opened([])
    const ids = { workflowId: 'thread-7', nodeId: 'tools', checkpointId: 'v1#0#12' }
    const scope = await cf.scope(ids)
    const first = await scope.call(write, { text: 'once' }, { callId: 'c1' })
    await scope.close()
    const again = await cf.scope(ids)
    const call = again.call(write, { text: 'once' }, { callId: 'c1' })
    expect(await call).toEqual(first)
    expect(call.replayed).toBe(true)
    await again.close()
    const { items } = await cf.store.listRecords({ namespace: 'default', runId: 'thread-7' }, {})
    expect(items).toHaveLength(1)
  })

  test('B7 large values lie in the directory that was named, or else in the database', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'counterfoil-pgblobs-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const big = 'x'.repeat(200_000)
    for (const more of [{ blobDir: dir }, {}]) {
      const cf = await opened([letter], more)
      await cf.worker().start()
      const run = await cf.start(letter, { text: big })
      await run.until('waiting_human')
      const { drafts } = (await run.state()) as { drafts: string[] }
      expect(drafts.map((draft) => draft.length)).toEqual([200_001, 200_001, 200_001])
      const row = await cf.store.getRun({ namespace: 'default', runId: run.runId })
      expect(JSON.stringify(row).length).toBeLessThan(10_000)
      expect(await findings(cf)).toEqual([])
      await run.cancel()
    }
    expect(readdirSync(dir, { recursive: true }).length).toBeGreaterThan(3)
  })
})
