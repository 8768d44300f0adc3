// Pause, resume and cancel (D4). A run that nobody holds changes at once; of one that a worker
// holds it is asked: the worker finishes what is under way, records it, and makes the transition
// (I7). Each raises the arrivals, so that a park or a stop that has not seen it does not land
// (I10).
import type { Clock } from '../../clock.ts'
import { authorFault } from '../../model/decisions/author.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import {
  eventOf,
  type Item,
  type Run,
  type RunRef,
  type StopRequest,
} from '../../model/run/records.ts'
import { isEnded, type RunState } from '../../model/run/states.ts'
import type {
  Changes,
  InboxPort,
  LeasesPort,
  LedgerPort,
  Loaded,
  RunChange,
} from '../../store/store.ts'
import { closeLeftovers } from '../inbox/leftovers.ts'

/** Who wants it, and why: kept in the run's history. */
export interface Wish {
  by?: string
  reason?: string
}

export type Stopping = 'pause' | 'resume' | 'cancel'

export interface StopContext {
  readonly store: LedgerPort & LeasesPort & InboxPort
  readonly clock: Clock
  /** Notes which workers of this machine are dead. */
  readonly checkWorkers: () => Promise<void>
}

export async function askFor(
  { store, clock, checkWorkers }: StopContext,
  ref: RunRef,
  what: Stopping,
  { by = 'api', reason = `${what} was asked for` }: Wish = {},
): Promise<void> {
  const fault = authorFault({ by, reason })
  if (fault) throw errorFor('INPUT_INVALID', `${what} ${fault}`)
  await checkWorkers()
  // A death is final, so what is true now is true under the lock as well.
  const gone = new Set(
    (await store.workers())
      .filter((worker) => worker.diedAt !== null || worker.stoppedAt !== null)
      .map((worker) => worker.workerId),
  )
  try {
    await store.amend(ref, 'client', (now) => {
      const held = now.run.state === 'running' && !gone.has(now.run.workerId ?? '')
      const request = { by, why: reason, at: clock.now() }
      const changes = changesFor(now, what, request, held)
      return { changes, value: null }
    })
  } finally {
    // Also of an end that was interrupted here: the run refuses a second one, its items do not.
    if (what === 'cancel') await closeLeftovers(store, clock, ref)
  }
}

type Request = Omit<StopRequest, 'to'>

function changesFor(now: Loaded, what: Stopping, request: Request, held: boolean): Changes | null {
  const { run } = now
  if (isEnded(run.state)) throw ended(run, what)
  if (what === 'resume') return resumed(run, request)
  const to = what === 'pause' ? 'paused' : 'cancelled'
  if (run.state === to) return null
  // Who has asked for the end is not content with a pause, also if its worker died over the wish.
  const owed = run.stop?.to === 'cancelled' ? run.stop : null
  if (!held) return moved(now, owed?.to ?? to, owed ?? request)
  if (owed || run.stop?.to === to) return null
  const event = eventOf(run, request.at, 'stop_asked', { to, by: request.by, why: request.why })
  return { run: { stop: { to, ...request }, arrive: true }, events: [event] }
}

function resumed(run: Run, { by, why, at }: Request): Changes | null {
  if (run.state === 'paused') {
    const change: RunChange = { state: 'pending', waitingFor: null, arrive: true }
    return { run: change, events: [stateEvent(run, at, 'pending', `resumed by ${by}: ${why}`)] }
  }
  if (run.stop?.to === 'paused') {
    const event = eventOf(run, at, 'stop_withdrawn', { by, why })
    return { run: { stop: null, arrive: true }, events: [event] }
  }
  if (run.stop?.to === 'cancelled') {
    const being = { runId: run.runId, state: 'being cancelled' }
    throw errorFor('RUN_ENDED', being, 'it cannot be resumed')
  }
  if (run.state !== 'waiting_human') return null
  throw errorFor('RUN_NOT_PAUSED', run.runId, run.waitingFor?.items)
}

function moved(now: Loaded, to: 'paused' | 'cancelled', { by, why, at }: Request): Changes {
  const { run } = now
  const waitingFor =
    to === 'paused' ? { kind: 'operator' as const, items: [], since: at, queue: '' } : null
  const close = (item: Item): Item => ({
    ...item,
    state: 'closed',
    version: item.version + 1,
    closedAt: at,
    closedBy: `the run was cancelled by ${by}`,
  })
  const items = to === 'paused' ? [] : now.items.filter((item) => item.state === 'open').map(close)
  return {
    run: { state: to, waitingFor, arrive: true, release: true },
    items,
    events: [stateEvent(run, at, to, `${to} by ${by}: ${why}`)],
  }
}

function stateEvent(run: Run, at: number, to: RunState, cause: string) {
  return eventOf(run, at, 'state', { from: run.state, to, cause })
}

function ended(run: Run, what: Stopping): CounterfoilError {
  const retry = run.state === 'failed' ? '; to try it again, use retry' : ''
  return errorFor('RUN_ENDED', run, `there is nothing left to ${what}${retry}`)
}
