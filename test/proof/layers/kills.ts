// SIGKILL at random moments, on a file and on Postgres.
import { kills as killFleet } from '../../crash/faults.ts'
import { killAtRandom } from '../../crash/kills.ts'
import { type Control, chanceOf, type Layer, nothing, type Outcome } from '../layer.ts'
import { outcomeOf, Server } from '../server.ts'

/** Deaths in one case: enough runs in a file that they meet, few enough to go on after a stop. */
const [onFile, onServer] = [25, 20]

const server = new Server()

/** Two thirds on a file, where a death is cheap. */
function plan(deaths: number): string[] {
  const files = Math.ceil((deaths * 2) / 3 / onFile)
  const servers = Math.ceil((deaths - files * onFile) / onServer)
  const names = (where: string, count: number) =>
    Array.from({ length: Math.max(0, count) }, (_, n) => `${where} ${n}`)
  return [...names('sqlite', files), ...names('postgres', servers)]
}

async function run(name: string, seed: number): Promise<Outcome> {
  const own = 1 + Math.floor(chanceOf(seed, name)() * 1e9)
  if (name.startsWith('postgres')) {
    return outcomeOf(
      await killFleet(await server.get(), { seed: own, times: onServer }),
      'postgres',
    )
  }
  const found = await killAtRandom(own, onFile)
  const { kills, lives, resumeMs, doubts, falseDoubts, ...rest } = found
  return {
    ...{ ...nothing, ...rest, injected: kills, kind: 'sqlite', resumeMs: [resumeMs] },
    ...{ evidence: `${kills} × SIGKILL in ${lives} lives`, surfaced: doubts },
    falseSurfaced: falseDoubts,
  }
}

export const kills: Layer = {
  name: 'kills',
  about: 'SIGKILL at random moments, on SQLite and on Postgres',
  missing: () => null,
  plan: async (size) => plan({ test: onFile, small: 200, full: 100_000 }[size]),
  run,
  control: async () => [await lying()],
  close: () => server.stop(),
}

/** Unsafe tools declared keyed, with an upstream that knows no keys, repeat their effects. */
async function lying(): Promise<Control> {
  const found = await killFleet(null, { seed: 1, times: 8, modes: ['lying'], delayMs: 800 })
  const evidence = `${found.injected} × SIGKILL, ${found.duplicates} effects twice`
  return { name: 'unsafe tools declared keyed', failed: found.duplicates > 0, evidence }
}
