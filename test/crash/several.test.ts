// Several processes on one file at once: two workers, one that lists and decides as a server would,
// a foreign runtime with scopes, and the command line; all of them killed at random moments.
import { expect, test } from 'vitest'
import { seeded } from '../sim/clock.ts'
import { seed, killsWanted as wanted } from '../size.ts'
import { compare, type Effect, faults, runOf, Site, script } from './driver.ts'
import { Post } from './post.ts'
import { effectsOf, effectsOfThread } from './programs/truth.mjs'

const killsWanted = wanted(6, 1 / 20)
const cli = script('../../../dist/cli/main.js')
/** Whoever was killed needs so long on a slow machine until it is at work again. */
const longestMs = 5_000

const of = (effects: readonly Effect[], runId: string) =>
  effects.filter((effect) => runOf(effect) === runId)

function commands(random: () => number, runIds: readonly string[], store: string): string[] {
  const runId = runIds[Math.floor(random() * runIds.length)] ?? ''
  const all = [['runs', '--limit', '200'], ['inbox'], ['run', 'show', runId]]
  const chosen = all[Math.floor(random() * all.length)] ?? ['runs']
  return [...chosen, '--store', store, '--json']
}

test('B8, D2, C5 two workers, a server, a host and a CLI on one file, under kills', async () => {
  const random = seeded(seed)
  const site = await Site.open(8)
  const runIds = Array.from({ length: 20 + killsWanted }, (_, i) => `r${i}`)
  const threads = Array.from({ length: 4 + killsWanted / 2 }, (_, i) => `t${i}`)
  // A renewal that finds the file locked for 2 s says so; none falls due while they live.
  const modes = ['agent', 'ever', 'lease=180000']
  const worker = () => site.worker('worker.mjs', 0, runIds.join(','), ...modes)
  // The store and its runs are there before anybody looks.
  const first = worker()
  await new Promise((resolve) => first.child.stdout?.once('data', resolve))
  first.child.kill('SIGKILL')
  await first.exit

  const server = () => {
    const own = String(1 + Math.floor(random() * 1e6))
    return site.spawn(script('decider.mjs'), [site.store, site.log, site.port, own, '0.02'])
  }
  const posts = [
    new Post(worker),
    new Post(worker),
    new Post(server),
    new Post(() => site.worker('host.mjs', 0, threads.join(','))),
    new Post(() => site.spawn(cli, commands(random, runIds, site.store))),
  ]
  const asked = () => site.with((cf) => cf.store.listItems({ namespace: 'default', countMax: 500 }))
  const doubted = async () => (await asked()).items.some((item) => item.kind === 'doubt')
  // Those who list and look may have been hit alone: then a few more die, who send.
  const enough = async (kills: number) => kills >= killsWanted && (await doubted())
  for (let kills = 0; kills < killsWanted * 4 && !(await enough(kills)); kills++) {
    // Something has happened since the last death; now and then nothing does.
    const longest = new Promise((resolve) => setTimeout(resolve, longestMs))
    await site.progress(1 + Math.floor(random() * 12), longest)
    await new Promise((resolve) => setTimeout(resolve, random() * 100))
    posts[Math.floor(random() * (kills < killsWanted ? posts.length : 2))]?.kill()
  }
  const commandsDone = () => posts[4]?.exits.filter(({ code }) => code === 0).length ?? 0
  while (commandsDone() === 0) await new Promise((resolve) => setTimeout(resolve, 50))
  await Promise.all(posts.map((post) => post.stop()))
  const exits = posts.flatMap((post) => post.exits)
  // A death is one of ours; whoever was not killed has met no error, nor told of any.
  const failed = exits.filter(({ code, signal }) => code !== 0 && signal === null)
  expect(failed).toEqual([])
  const killed = exits.filter(({ signal }) => signal === 'SIGKILL').length
  expect(exits.map(({ error }) => error).filter((error) => error !== '')).toEqual([])

  const ended = (await site.states(runIds)).filter((state) => state === 'completed').length

  // In peace: everything that was not cancelled comes to its end.
  const cancelled = await settle(site, runIds, threads)
  const effects = site.effects()
  const bad = [...runIds, ...threads].flatMap((runId) => {
    const reference = threads.includes(runId) ? effectsOfThread(runId) : effectsOf(runId)
    const mine = of(effects, runId)
    if (!cancelled.includes(runId)) return faults(mine, reference)
    return compare(mine, reference).twice.map((key) => `TWICE ${key}`)
  })
  const decided = await site.with((cf) => cf.inbox.list({ state: 'decided', countMax: 500 }))
  const doubts = decided.items.filter((item) => item.kind === 'doubt').length
  const figures = { seed, killed, processes: exits.length, ended, doubts }
  const all = {
    commands: commandsDone(),
    runs: runIds.length,
    threads: threads.length,
    cancelled: cancelled.length,
  }
  console.log(`several processes: ${JSON.stringify({ ...figures, ...all })}`)
  expect([...bad, ...(await site.findings())]).toEqual([])
  expect(killed).toBeGreaterThan(killsWanted / 3)
  expect(doubts).toBeGreaterThan(0)
  await site.close()
}, 1_200_000)

async function settle(
  site: Site,
  runIds: readonly string[],
  threads: readonly string[],
): Promise<string[]> {
  const all = [...runIds, ...threads]
  for (let round = 0; round < 20; round++) {
    const states = new Map<string, string>()
    for (const [i, state] of (await site.states(all)).entries()) states.set(all[i] ?? '', state)
    const cancelled = all.filter((id) => states.get(id) === 'cancelled')
    const open = (id: string) => !cancelled.includes(id)
    if (runIds.filter(open).every((id) => states.get(id) === 'completed') && round > 0) {
      return cancelled
    }
    await site.resumePaused(all)
    await site.decideAll()
    await site.finish(runIds.filter(open), 'agent')
    await site.finishHost(threads.filter(open))
  }
  throw new Error('the site does not come to rest')
}
