// What a fleet on Postgres suffers: the server killed, acknowledgements lost on either side, lines
// in black holes, workers that stand still, clocks that are wrong.
import { programmes } from '../../crash/faults.ts'
import * as controls from '../../crash/postgres/controls.ts'
import { type Control, chanceOf, type Layer, type Outcome } from '../layer.ts'
import { outcomeOf, Server } from '../server.ts'

/** How often each happens in one case: a fleet is started for it, so more than once. */
const times: Record<string, number> = { server: 5, cut: 5, stop: 5, clock: 5, hole: 5, inside: 1 }
const wanted = { test: 0, small: 5, full: 1_000 }

const server = new Server()

async function run(name: string, seed: number): Promise<Outcome> {
  const [kind = ''] = name.split(' ')
  const programme = programmes[kind]
  if (programme === undefined) throw new Error(`no fault ${kind}`)
  const own = 1 + Math.floor(chanceOf(seed, name)() * 1e9)
  const amount = { seed: own, times: times[kind] ?? 1 }
  return outcomeOf(await programme.run(await server.get(), amount), kind)
}

const failing = (name: string, { injected, twice }: controls.Found): Control => ({
  name,
  failed: injected > 0 && twice > 0,
  evidence: `${injected} faults, ${twice} effects twice`,
})

export const postgres: Layer = {
  name: 'postgres',
  about: 'server kill -9, lost acknowledgements, black holes, SIGSTOP, clocks off by an hour',
  missing: () => null,
  plan: async (size) =>
    Object.entries(times).flatMap(([kind, each]) =>
      Array.from({ length: Math.ceil(wanted[size] / each) }, (_, n) => `${kind} ${n}`),
    ),
  run,
  // Its own bounds of time are part of what it checks.
  alone: true,
  control: async () => {
    const where = await server.get()
    return [
      failing('plain checkpoints, server killed', await controls.naiveServerKill()),
      failing('plain checkpoints, lines cut', await controls.naiveCut(where)),
      failing('a lease by one’s own clock', await controls.naiveLease(where)),
      failing('unsafe tools declared keyed, stopped', await controls.lyingStopped(where)),
      failing('unsafe tools declared keyed, in a hole', await controls.lyingInHole(where)),
    ]
  },
  close: () => server.stop(),
}
