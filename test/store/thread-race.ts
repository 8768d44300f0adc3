// Two that work on one thread at once, each on a connection of its own: one appends, one prunes.
// A whole body is the list of all numbers so far, a change is one number more.
import { pause, systemClock } from '../../src/clock.ts'
import { isCounterfoilError } from '../../src/model/errors.ts'
import type { SpaceRef, Store, ThreadStep } from '../../src/store/store.ts'

export const raceSpace: SpaceRef = { namespace: 'default', threadId: 'race', space: '' }

const idOf = (n: number) => String(n).padStart(6, '0')
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)

function step(n: number, whole: boolean): ThreadStep {
  const parentId = n === 1 ? null : idOf(n - 1)
  const bodyJson = JSON.stringify(whole ? upTo(n) : n)
  return { ...raceSpace, stepId: idOf(n), parentId, whole, bodyJson, noteJson: '{}', createdAt: n }
}

/** SQLite gives its lock to whoever comes by: one may find it taken for seconds. */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!isCounterfoilError(error, 'STORE_BUSY')) throw error
    }
  }
}

/** How often it had to write a whole one, because the step before was gone. */
export async function appendAll(store: Store, count: number): Promise<{ whole: number }> {
  let whole = 0
  for (let n = 1; n <= count; n++) {
    // Else the lock is never free when another one looks.
    await pause(systemClock, n % 7)
    if (n > 1 && (await patiently(() => store.putStep(step(n, false))))) continue
    whole++
    await patiently(() => store.putStep(step(n, true)))
  }
  return { whole }
}

/** Throws for a chain that does not begin with a whole step, or does not hold every number. */
function read(chain: readonly ThreadStep[]): void {
  const [first, ...others] = chain
  const last = Number(chain.at(-1)?.stepId)
  if (first?.whole !== true) throw new Error(`step ${last} has lost its base`)
  const numbers = [...JSON.parse(first.bodyJson), ...others.map((row) => JSON.parse(row.bodyJson))]
  if (String(numbers) !== String(upTo(last))) throw new Error(`step ${last} is ${numbers}`)
}

/** Until the last step is there. */
export async function pruneAll(store: Store, count: number) {
  const tally = { pruned: 0, refused: 0 }
  for (let turn = 0; ; turn++) {
    const { items } = await store.listSteps({ ...raceSpace, countMax: 500 })
    const chain = await store.loadSteps(raceSpace)
    if (chain.length > 0) read(chain)
    if (items[0]?.stepId === idOf(count)) return tally
    // By turns all that it has seen, and all but the last, which becomes a whole one.
    const [last, ...others] = items.map((row) => row.stepId)
    const rest = { whole: last ? [step(Number(last), true)] : [], drop: others }
    const all = { whole: [], drop: last ? [last, ...others] : [] }
    const pruning = turn % 2 === 0 ? all : rest
    const done = await patiently(() => store.pruneSteps(raceSpace, pruning))
    if (items.length > 0) tally[done ? 'pruned' : 'refused']++
    await pause(systemClock, turn % 5)
  }
}

/** Every step that is left can be read. */
export async function readAll(store: Store): Promise<number> {
  const { items } = await store.listSteps({ ...raceSpace, countMax: 500 })
  for (const { stepId } of items) read(await store.loadSteps(raceSpace, stepId))
  return items.length
}
