// What can be said to a person about a run whose checkpoint cannot be used (D11).
import { expectedAt, readChain } from '../../model/run/checkpoint.ts'
import type { Checkpoint, Damage, Run } from '../../model/run/records.ts'
import type { Store } from '../../store/store.ts'

const lookedAtMax = 50

/** The damage, with the earlier visits whose checkpoints are good, newest first. */
export async function findDamage(store: Store, run: Run, why: string): Promise<Damage> {
  const rows = await store.listCheckpoints(run)
  const earlier = rows
    .filter((row) => row.generation === run.generation && row.visit < run.visit)
    .slice(-lookedAtMax)
    .reverse()
  const good: number[] = []
  for (const { visit } of earlier) {
    const chain = await store.loadCheckpoints(run, run.generation, visit)
    if (isGood(run, chain, visit)) good.push(visit)
  }
  return { why, visit: run.visit, good }
}

function isGood(run: Run, chain: readonly Checkpoint[], visit: number): boolean {
  try {
    return readChain(chain, expectedAt(run, visit)).ok
  } catch {
    return false // of a newer Counterfoil: not to be judged from here
  }
}
