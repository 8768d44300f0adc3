// The faults of the fleet, one function each: it injects them for so long or so often, lets
// everything come to its end, and reckons. Small in `npm test`, at size by `npm run chaos`.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { randomHex } from '../../src/clock.ts'
import { type PostgresServer, startPostgres } from '../postgres/server.ts'
import { seeded } from '../sim/clock.ts'
import { Fleet, type FleetOptions, type Reckoning } from './fleet.ts'
import { heldBy, holeAround, holeInside } from './holes.ts'
import { isCommit, PostgresProxy } from './proxy.ts'

export interface Amount {
  seed: number
  /** How often the fault is to happen. */
  times: number
  /** For the control: another kind of worker, and calls so long that most deaths fall into one. */
  modes?: readonly string[]
  delayMs?: number
}

/** Where the fleet's store is; null for a file. */
export type Where = PostgresServer | null

export type FaultProgramme = (where: Where, amount: Amount) => Promise<Reckoning>

const newUrl = (server: PostgresServer) => `${server.url}?schema=t_${randomHex(6)}`

function at(where: Where, more: FleetOptions = {}): Promise<Fleet> {
  return Fleet.open({ ...(where ? { store: newUrl(where) } : {}), ...more })
}

/** Two workers and a person, killed at random moments of the work. */
export const kills: FaultProgramme = async (where, amount) => {
  const { seed, times, modes = ['tour'], delayMs = 150 } = amount
  const random = seeded(seed)
  const fleet = await at(where, { modes: [...modes, 'lease=2000'], delayMs })
  const posts = [fleet.employ(), fleet.employ(), fleet.attend()]
  for (let n = 0; n < times; n++) {
    await fleet.start(2)
    await fleet.progress(1 + Math.floor(random() * 10))
    await pause(random() * 40)
    posts[random() < 0.1 ? 2 : Math.floor(random() * 2)]?.kill()
  }
  await fleet.settle()
  await fleet.dismiss()
  const { length: lives } = fleet.posts.flatMap((post) => post.exits)
  const deaths = fleet.deaths()
  const reckoning = await fleet.reckon('kill', deaths, `${deaths} × SIGKILL in ${lives} lives`)
  await fleet.close()
  return { ...reckoning, wrong: [...reckoning.wrong, ...fleet.failures()] }
}

/**
 * With the usual lease: it outlasts an outage and a machine with other work, so nobody who lives is
 * taken over, and nobody need be asked. With 2 s, traces of needless doubts have shown, a worker
 * that was not given the processor for that long lost its runs.
 */
const unhurried = ['tour']

const pointsMax = 60

/** Every life of the workers dies at its n-th call of the store or the upstream. */
export const failpoints: FaultProgramme = async (where, { seed, times }) => {
  const fleet = await at(where)
  fleet.attend()
  const dying = [0, 1].map((i) => (life: number) => 1 + ((seed + 2 * life + i) % pointsMax))
  const posts = dying.map((dieAt) => fleet.employ({ dieAt }))
  const deaths = () => fleet.deaths()
  while (deaths() < times) {
    if ((await fleet.open()).length < 6) await fleet.start(2)
    await pause(50)
  }
  for (const post of posts) post.kill()
  await Promise.all(posts.map((post) => post.stop()))
  const own = deaths()
  fleet.employ()
  await fleet.settle()
  await fleet.dismiss()
  const reckoning = await fleet.reckon('failpoints', own, `${own} × SIGKILL to oneself`)
  await fleet.close()
  return { ...reckoning, wrong: [...reckoning.wrong, ...fleet.failures()] }
}

/** The server dies while a commit is under way, and comes back. */
export const serverKills: FaultProgramme = async (_, { seed, times }) => {
  const random = seeded(seed)
  const server = await startPostgres()
  const proxy = await PostgresProxy.open(server.port)
  const store = newUrl(server)
  const fleet = await Fleet.open({ store, through: proxy.through(store), modes: unhurried })
  fleet.attend()
  fleet.employ()
  fleet.employ()
  for (let n = 0; n < times; n++) {
    await fleet.start(3)
    let left = 1 + Math.floor(random() * 25)
    const died = new Promise<void>((resolve) => {
      proxy.onSent = (text) => {
        if (!isCommit(text) || --left !== 0) return
        resolve(killAll(server))
      }
    })
    const reached = await Promise.race([died.then(() => true), pause(10_000)])
    proxy.onSent = () => {}
    if (reached !== true) await killAll(server)
    await pause(random() * 300)
    await server.start()
  }
  await fleet.settle()
  await fleet.dismiss()
  const log = readFileSync(`${server.folder}/log`, 'utf8')
  const recoveries = log.match(/database system was not properly shut down/g)?.length ?? 0
  const evidence = `${recoveries} recoveries, ${proxy.unanswered} statements unanswered`
  const reckoning = await fleet.reckon('server', times, evidence)
  if (recoveries < times) reckoning.wrong.push(`only ${recoveries} recoveries in the server's log`)
  if (proxy.unanswered === 0) reckoning.wrong.push('no kill fell into a statement')
  await fleet.close()
  await proxy.close()
  await server.stop()
  // The workers lived: nobody had to be asked.
  if (reckoning.doubts > 0) reckoning.wrong.push(...needless(fleet, reckoning))
  return reckoning
}

/** With what led there, so that the next one need not be guessed at. */
function needless(fleet: Fleet, { doubts }: Reckoning): string[] {
  return [`${doubts} needless doubts`, ...fleet.traces.map((trace) => trace.slice(0, 4_000))]
}

/** The postmaster and all that it has started, at once. */
export async function killAll(server: PostgresServer): Promise<void> {
  const pid = server.pid()
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  const dead = server.kill()
  for (const child of children.filter((each) => each.trim() !== '')) {
    try {
      process.kill(Number(child), 'SIGKILL')
    } catch {
      // It was gone before.
    }
  }
  await dead
}

/** Lines are cut at random commits, on either side of them; nobody dies. */
export const cuts: FaultProgramme = async (where, { seed, times }) => {
  const server = served(where)
  const random = seeded(seed)
  const proxy = await PostgresProxy.open(server.port)
  const store = newUrl(server)
  const fleet = await Fleet.open({ store, through: proxy.through(store), modes: unhurried })
  fleet.attend()
  fleet.employ()
  fleet.employ()
  for (let n = 0; n < times; n++) {
    if (n % 4 === 0) await fleet.start(2)
    const side = random() < 0.5 ? 'before' : 'after'
    proxy.delayMs = random() < 0.2 ? 20 : 0
    const nth = 1 + Math.floor(random() * 4)
    proxy.plan({ side, how: 'cut', at: isCommit, nth, times: random() < 0.2 ? 3 : 1 })
    const before = proxy.done.length
    for (let waits = 0; proxy.done.length === before && waits < 200; waits++) await pause(5)
  }
  proxy.plan(null)
  proxy.delayMs = 0
  await fleet.settle()
  await fleet.dismiss()
  const sides = (['before', 'after'] as const).map(
    (side) => `${proxy.done.filter((each) => each.side === side).length} ${side}`,
  )
  const reckoning = await fleet.reckon('cut', proxy.done.length, `${sides.join(', ')} the commit`)
  await fleet.close()
  await proxy.close()
  if (reckoning.doubts > 0) reckoning.wrong.push(...needless(fleet, reckoning))
  return { ...reckoning, wrong: [...reckoning.wrong, ...fleet.failures()] }
}

const stopLeaseMs = 1_000

/** A worker stands still past its lease, and goes on when its runs are somebody else's. */
export const stops: FaultProgramme = async (where, { seed, times, modes = ['tour'] }) => {
  const random = seeded(seed)
  const fleet = await at(where, { modes: [...modes, `lease=${stopLeaseMs}`], delayMs: 300 })
  fleet.attend()
  const posts = [fleet.employ(), fleet.employ()]
  let taken = 0
  // One of the two may have nothing at this moment: then it is the other one's turn.
  for (let [n, tries] = [0, 0]; n < times && tries < 10 * times; tries++) {
    await fleet.start(6)
    await fleet.progress(2 + Math.floor(random() * 4))
    const post = posts[tries % 2]
    post?.kill('SIGSTOP')
    const held = await heldBy(fleet, post?.current?.child.pid ?? 0)
    if (held.length === 0) {
      post?.kill('SIGCONT')
      continue
    }
    n++
    await pause(stopLeaseMs * 1.5 + random() * stopLeaseMs)
    // Under another fence: it was taken over while its holder stood still.
    const risen = async () => {
      const now = new Map((await fleet.all()).map((run) => [run.runId, run.fence]))
      return held.filter(({ runId, fence }) => (now.get(runId) ?? 0) > fence).length
    }
    // Whoever takes over may be slow as well.
    for (let waits = 0; (await risen()) === 0 && waits < 200; waits++) {
      await pause(100)
    }
    taken += await risen()
    post?.kill('SIGCONT')
  }
  await fleet.settle()
  await fleet.dismiss()
  const reckoning = await fleet.reckon('stop', times, `${taken} runs taken over meanwhile`)
  if (taken === 0) reckoning.wrong.push('nothing was taken over')
  await fleet.close()
  return { ...reckoning, wrong: [...reckoning.wrong, ...fleet.failures()] }
}

const hourMs = 3_600_000

/** One worker's wall clock is an hour ahead, then an hour behind. */
export const clocks: FaultProgramme = async (where, { times }) => {
  const fleet = await at(where, { modes: unhurried })
  const from = Date.now()
  fleet.attend()
  const right = fleet.employ()
  const shifts: number[] = []
  for (let n = 0; n < times; n++) {
    process.env['COUNTERFOIL_SHIFT_MS'] = String(n % 2 === 0 ? hourMs : -hourMs)
    const wrongClock = fleet.employ({
      flags: ['--import', new URL('./programs/harm/shift.mjs', import.meta.url).href],
    })
    const [said] = await once(wrongClock.current?.child.stdout as NodeJS.ReadableStream, 'data')
    shifts.push(Number(String(said).trim().split(' ')[2]) - Date.now())
    await fleet.start(6)
    await fleet.settle()
    await wrongClock.stop()
  }
  delete process.env['COUNTERFOIL_SHIFT_MS']
  await right.stop()
  await fleet.dismiss()
  const off = shifts.map((ms) => `${Math.round(ms / 60_000)} min`).join(', ')
  const reckoning = await fleet.reckon('clock', shifts.length, `off by ${off}`)
  if (shifts.some((ms) => Math.abs(Math.abs(ms) - hourMs) > 60_000)) {
    reckoning.wrong.push(`the clocks were not shifted: ${off}`)
  }
  // No time of that clock is in the store, and nobody has slept for an hour.
  for (const run of where === null ? [] : await fleet.all()) {
    const { items } = await fleet.store.listEvents(run, { countMax: 500 })
    const strange = items.filter(({ at: ms }) => ms < from - 60_000 || ms > Date.now() + 60_000)
    reckoning.wrong.push(...strange.map(({ kind }) => `${run.runId}: ${kind} at another time`))
  }
  if (reckoning.doubts > 0) reckoning.wrong.push(...needless(fleet, reckoning))
  await fleet.close()
  return { ...reckoning, wrong: [...reckoning.wrong, ...fleet.failures()] }
}

interface Programme {
  run: FaultProgramme
  /** Also on a file. */
  file: boolean
  /** How often for each kill of a worker: some take long. */
  share: number
}

/** Everything that can be done to a fleet, by name. */
export const programmes: Record<string, Programme> = {
  kill: { run: kills, file: true, share: 1 },
  failpoints: { run: failpoints, file: true, share: 2 },
  stop: { run: stops, file: true, share: 0.25 },
  clock: { run: clocks, file: true, share: 0.1 },
  server: { run: serverKills, file: false, share: 0.5 },
  cut: { run: cuts, file: false, share: 5 },
  hole: {
    run: (where, { times }) => holeAround(served(where), times),
    ...{ file: false, share: 0.25 },
  },
  inside: { run: (where) => holeInside(served(where)), file: false, share: 0.05 },
}

function served(where: Where): PostgresServer {
  if (where === null) throw new Error('a file has no line to cut')
  return where
}
