// When nothing is left to do: every run has ended, or waits for what comes from outside.
import { pause } from '../../../clock.ts'
import type { Run } from '../../../model/run/records.ts'
import { isEnded } from '../../../model/run/states.ts'
import { rowsOf } from '../../../store/pages.ts'
import type { LedgerPort, Timed } from '../../../store/store.ts'

const lookMs = 10
// A wait as short as this is sat out; for a longer one the clock is set on.
const shortMs = 1_000

export async function runsOf(store: LedgerPort, namespace: string): Promise<Run[]> {
  const runs: Run[] = []
  for await (const run of rowsOf((page) => store.listRuns({ namespace, ...page }))) runs.push(run)
  return runs
}

/** Whether this run goes on by itself, sooner or later or at once. */
function goesOn({ state, wakeAt }: Run, now: number): boolean {
  if (isEnded(state) || state === 'paused') return false
  if (state === 'pending' || state === 'running') return true
  return wakeAt !== null && wakeAt <= now + shortMs
}

export async function quiet(store: Timed<LedgerPort>, namespace: string): Promise<void> {
  for (;;) {
    const runs = await runsOf(store, namespace)
    if (!runs.some((run) => goesOn(run, store.clock.now()))) return
    await pause(store.clock, lookMs)
  }
}
