// The run that a command is about, and the rows of it.
import { errorFor } from '../model/errors.ts'
import type { Run } from '../model/run/records.ts'
import { scopeGraph } from '../model/run/scope.ts'
import type { Counterfoil } from '../open.ts'
import type { Cli } from './cli.ts'
import { plural } from './show/text.ts'

export async function findRun(cli: Cli, cf: Counterfoil, runId: string): Promise<Run> {
  const ref = { namespace: cli.namespace, runId }
  const run = await cf.store.getRun(ref)
  if (run !== null) return run
  throw errorFor('RUN_NOT_FOUND', runId, cli.namespace)
}

/** A run whose state is here; a foreign runtime keeps its own. */
export async function findOwnRun(cli: Cli, cf: Counterfoil, runId: string): Promise<Run> {
  const run = await findRun(cli, cf, runId)
  if (run.graph !== scopeGraph.name) return run
  const there = 'it is of a foreign runtime, which keeps its state itself'
  throw errorFor('CHECKPOINT_NOT_FOUND', runId, there)
}

/** The last rows of a long list. */
export interface Tail<T> {
  readonly rows: readonly T[]
  readonly left: number
}

export async function tailOf<T>(
  cli: Cli,
  what: string,
  rows: AsyncIterable<T>,
  { countMax, keep = () => true }: { countMax: number; keep?: (row: T) => boolean },
): Promise<Tail<T>> {
  let found: T[] = []
  let count = 0
  let read = 0
  for await (const row of rows) {
    cli.progress.say(`${plural(++read, what)} read`)
    if (!keep(row)) continue
    count++
    found.push(row)
    // Cut now and then: a shift for every row would move all the others.
    if (found.length > countMax * 2 + 100) found = found.slice(-countMax)
  }
  found = found.slice(-countMax)
  return { rows: found, left: count - found.length }
}
