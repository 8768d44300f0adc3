// A workload that has a bit of everything a worker does: unsafe calls, a sleep, a signal, a child.
import { expect } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, type Graph, tool, workflow } from '../../src/index.ts'

interface Going {
  readonly of: string
}

export interface Trip {
  readonly graphs: readonly Graph[]
  readonly trip: Graph<Going, readonly unknown[]>
}

/** Everything that is sent is noted in `sent`. */
export function tripOf(sent: string[]): Trip {
  const send = tool({
    name: 'send',
    replayClass: 'unsafe_on_replay',
    input: z.object({ what: z.string() }),
    timeoutMs: 5_000,
    run: ({ what }) => {
      sent.push(what)
      return `sent ${what}`
    },
  })
  const going = z.object({ of: z.string() })
  const leg = workflow({
    id: 'leg@1.0.0',
    input: going,
    tools: [send],
    run: ({ of }, ctx) => ctx.call(send, { what: `${of}/leg` }),
  })
  const trip = workflow({
    id: 'trip@1.0.0',
    input: going,
    tools: [send],
    run: async ({ of }, ctx): Promise<readonly unknown[]> => {
      const first = await ctx.call(send, { what: `${of}/first` })
      await ctx.sleep(100)
      const signal = await ctx.signal('go')
      const { state } = await ctx.spawn(leg, { of })
      const last = await ctx.call(send, { what: `${of}/last` })
      return [first, signal.data, state, last]
    },
  })
  return { graphs: [trip, leg] as unknown as Graph[], trip }
}

/** Starts the runs, signals them, and waits until each has ended as it should. */
export async function takeTrips(
  cf: Counterfoil,
  { trip }: Trip,
  names: readonly string[],
): Promise<void> {
  const runs = await Promise.all(names.map((of) => cf.start(trip, { of }, { runId: of })))
  await Promise.all(runs.map((run) => run.signal('go', 'now')))
  for (const [i, run] of runs.entries()) {
    const of = names[i]
    const ended = [`sent ${of}/first`, 'now', 'completed', `sent ${of}/last`]
    expect(await run.result()).toEqual(ended)
  }
}

/** What these trips send, each once. */
export function sendsOf(names: readonly string[]): string[] {
  return names.flatMap((of) => [`${of}/first`, `${of}/last`, `${of}/leg`]).sort()
}
