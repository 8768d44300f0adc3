// Black holes: a line that takes bytes and says nothing, not even that it is gone.
import { setTimeout as pause } from 'node:timers/promises'
import { open } from 'counterfoil'
import pg from 'pg'
import { randomHex } from '../../src/clock.ts'
import type { PostgresServer } from '../postgres/server.ts'
import { key } from './driver.ts'
import { Fleet, type Reckoning } from './fleet.ts'
import { PostgresProxy } from './proxy.ts'

/** How long a transaction may be idle, and what a slow machine adds. Without a limit: for ever. */
const heldMsMax = 10_000 + 50_000
/** The limit of a statement, and what a slow machine adds; less than two of them. */
const toldMsMax = 15_000 + 12_000
const leaseMs = 2_000
/** The next worker may only be starting. */
const takeoverMsMax = leaseMs + 40_000
/** As long as the lock is held, at least: a machine that needs this for a run cannot tell. */
const lockMsMin = 5_000

const storeOf = (server: PostgresServer) => `${server.url}?schema=t_${randomHex(6)}`

/** A whole tour, from its start to its end. */
async function timeOf(fleet: Fleet): Promise<number> {
  const from = Date.now()
  await fleet.start(1)
  const runId = fleet.runIds.at(-1) ?? ''
  for (;;) {
    const run = await fleet.store.getRun({ namespace: 'default', runId })
    if (run?.state === 'completed') return Date.now() - from
    if (Date.now() - from > 60_000) throw new Error(`${runId} does not end`)
    await pause(20)
  }
}

/**
 * Somebody is cut off between the two halves of an amendment, with the run's row locked. The worker
 * that holds the run goes on after the server's timeout; other runs do not notice.
 */
export async function holeInside(server: PostgresServer): Promise<Reckoning> {
  const proxy = await PostgresProxy.open(server.port)
  const store = storeOf(server)
  // With the usual lease: what is measured is the lock, not a takeover.
  const fleet = await Fleet.open({ store, modes: ['tour'] })
  fleet.attend()
  fleet.employ()
  const usual = [await timeOf(fleet), await timeOf(fleet)]
  await fleet.start(1)
  const runId = fleet.runIds.at(-1) ?? ''
  const cut = await open({ store: proxy.through(store), key, onWarning: () => {} })
  proxy.plan({ side: 'before', how: 'hole', at: (text) => /\.amend_write\(/.test(text) })
  const from = Date.now()
  const unheard = cut.run(runId).signal('never', 1, { id: 'never' })
  let toldMs = 0
  const refused = unheard
    .then(
      () => 'heard',
      (error) => String(error.code),
    )
    .finally(() => {
      toldMs = Date.now() - from
    })
  while (proxy.done.length === 0) await pause(5)
  const locked = await lockHolders(server, store)
  const others: { tookMs: number; isHeld: boolean }[] = []
  let heldMs = 0
  const held = (async () => {
    while ((await fleet.store.getRun({ namespace: 'default', runId }))?.state !== 'completed') {
      await pause(50)
    }
    heldMs = Date.now() - from
  })()
  while (heldMs === 0 && Date.now() - from < 2 * heldMsMax) {
    const tookMs = await timeOf(fleet)
    others.push({ tookMs, isHeld: heldMs === 0 })
  }
  await held
  const said = await refused
  await fleet.settle()
  await fleet.dismiss()
  const free = others.filter(({ isHeld }) => isHeld)
  const evidence =
    `${locked} sessions idle in a transaction; the locked run ended after ${heldMs} ms, ` +
    `${free.length} others before it (${Math.max(...usual)} ms each, usually); ` +
    `its sender was told ${said} after ${toldMs} ms`
  const reckoning = await fleet.reckon('hole inside', proxy.done.length, evidence)
  if (locked === 0) reckoning.wrong.push('no transaction was left open')
  if (said !== 'STORE_UNREACHABLE') reckoning.wrong.push(`whoever was cut off was told ${said}`)
  // One limit of a statement, not that of a rollback after it.
  if (toldMs > toldMsMax) reckoning.wrong.push(`it was told after ${toldMs} ms`)
  if (heldMs > heldMsMax) reckoning.wrong.push(`held up for ${heldMs} ms`)
  if (free.length === 0 && Math.max(...usual) < lockMsMin) {
    reckoning.wrong.push(`others waited: ${others.map(({ tookMs }) => tookMs).join(', ')} ms`)
  }
  if (reckoning.doubts > 0) reckoning.wrong.push(`${reckoning.doubts} needless doubts`)
  await cut.close()
  await fleet.close()
  await proxy.close()
  return { ...reckoning, wrong: [...reckoning.wrong, ...fleet.failures()] }
}

async function lockHolders(server: PostgresServer, store: string): Promise<number> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const { rows } = await client.query(
    `select 1 from pg_stat_activity where state = 'idle in transaction' and query like $1`,
    [`%${new URL(store).searchParams.get('schema')}%`],
  )
  await client.end()
  return rows.length
}

/** A worker is cut off altogether, with runs in its hands, and comes back after the takeover. */
export async function holeAround(
  server: PostgresServer,
  times: number,
  { modes = ['tour'], delayMs = 60 }: { modes?: readonly string[]; delayMs?: number } = {},
): Promise<Reckoning> {
  const proxy = await PostgresProxy.open(server.port)
  const store = storeOf(server)
  const fleet = await Fleet.open({ store, modes: [...modes, `lease=${leaseMs}`], delayMs })
  fleet.attend()
  const cutOff = fleet.employ({ store: proxy.through(store) })
  const taken: number[] = []
  // Runs may come to their end, or to a person, while somebody looks: then it is done again.
  for (let [n, tries] = [0, 0]; n < times && tries < 10 * times; tries++) {
    await fleet.start(4)
    const pid = () => cutOff.current?.child.pid ?? 0
    while ((await heldBy(fleet, pid())).length === 0) await pause(5)
    await fleet.progress(2)
    proxy.swallow(true)
    const from = Date.now()
    const held = await heldBy(fleet, pid())
    if (tries === 0) fleet.employ()
    let risen = 0
    for (;;) {
      const now = new Map((await fleet.all()).map((run) => [run.runId, run]))
      risen = held.filter(({ runId, fence }) => (now.get(runId)?.fence ?? 0) > fence).length
      // What had gone up before may have given a run back a moment later.
      const isHeld = held.filter(({ runId, fence, workerId }) => {
        const run = now.get(runId)
        return run?.fence === fence && run.workerId === workerId
      })
      if (isHeld.length === 0 || Date.now() - from > 60_000) break
      await pause(20)
    }
    if (risen > 0) {
      taken.push(Date.now() - from)
      n++
    }
    proxy.swallow(false)
    await pause(300)
  }
  await fleet.settle()
  await fleet.dismiss()
  const slowest = Math.max(0, ...taken)
  const evidence = `${taken.length} takeovers, after ${slowest} ms at most (lease ${leaseMs} ms)`
  const reckoning = await fleet.reckon('hole around', times, evidence)
  if (taken.length === 0) reckoning.wrong.push('it held nothing when it was cut off')
  if (slowest > takeoverMsMax) reckoning.wrong.push(`taken over after ${slowest} ms`)
  await fleet.close()
  await proxy.close()
  return { ...reckoning, wrong: [...reckoning.wrong, ...fleet.failures()] }
}

/** Runs that the worker with this process id holds. */
export async function heldBy(fleet: Fleet, pid: number) {
  const id = (await fleet.store.workers()).find((row) => row.pid === pid)?.workerId
  return (await fleet.all()).filter(({ workerId, state }) => workerId === id && state === 'running')
}
