// Owns: the commits that end a visit: a park, a stop that was asked for, the run's end, the move to
// the next node. Does not own: when it comes to that (visit.ts), nor what the rows say (ending.ts).
// Invariants: I10 a park holds only if nothing has arrived since the visit was loaded; nor is an
// item closed over a decision that comes at this moment.
import type { Clock } from '../../clock.ts'
import { type Event, eventOf, type Item, type Run } from '../../model/run/records.ts'
import type { RunState } from '../../model/run/states.ts'
import type { Changes, CommitResult, Loaded } from '../../store/store.ts'
import type { RunLog } from '../committer.ts'
import type { Waiting } from '../wait/spec.ts'
import { closedItem, endChange, isMoot, parkChange, type Stopping, stopChange } from './ending.ts'
import type { Trail } from './trail.ts'
import type { NodeOutcome, VisitEnd } from './types.ts'

/** What is to be known of a visit that comes to its end. */
export interface Leaving {
  readonly run: Run
  readonly clock: Clock
  readonly log: RunLog
  readonly loaded: Loaded
  readonly trail: Trail | null
  readonly unhandled: ReadonlyMap<unknown, unknown>
  readonly doubts: readonly Item[]
  readonly asked: readonly Item[]
  readonly pauses: ReadonlyMap<unknown, Waiting>
  readonly draining: boolean
}

/** Before a person, or at what it waits for; given back, if it waits for nothing. */
export async function park(visit: Leaving): Promise<VisitEnd> {
  const { log, run, doubts } = visit
  // A drained run may have other work: whoever takes it next will see, and park it if not.
  const asked = visit.draining ? [] : visit.asked
  const pauses = visit.draining ? [] : [...visit.pauses.values()]
  const inDoubt = doubts.length > 0
  const items = inDoubt ? doubts : asked
  // All branches wait: a held call that none of them asks for any more has another input now.
  const moot =
    !inDoubt && asked.length > 0
      ? closeItems(visit, 'its input has changed', (item) => isMoot(asked, item))
      : []
  const parked = parkChange(items, pauses, inDoubt, visit.clock.now())
  if (parked === null) {
    // A wish to stop that has come meanwhile is this worker's to obey: nobody may take the run.
    const events = [moved(visit, 'pending', 'released by its worker')]
    const result = await log.end({ state: 'pending', release: true }, { events }, run.arrivals)
    return endAfter(result, 'released')
  }
  const result = await log.end(
    { ...parked.change, release: true },
    { events: [moved(visit, parked.change.state, parked.why)], items: moot },
    run.arrivals,
  )
  return endAfter(result, 'parked')
}

/** The transition that was asked for, unless something else has arrived meanwhile. */
export async function leaveStopped(
  visit: Leaving,
  { request, arrivals }: Stopping,
): Promise<VisitEnd> {
  const open = [...visit.loaded.items, ...visit.doubts, ...visit.asked]
  const { run, items } = stopChange(request, open, visit.clock.now())
  const events = [moved(visit, request.to, `${request.to} by ${request.by}: ${request.why}`)]
  return endAfter(await visit.log.end(run, { items, events }, arrivals), 'parked')
}

/** The node's end; `secure` is asked for if the run fails. */
export async function leaveEnded(
  visit: Leaving,
  returned: NodeOutcome,
  secure: () => void,
): Promise<VisitEnd> {
  if (returned.kind === 'go' && visit.unhandled.size === 0) return leaveMoved(visit, returned)
  const { change, state, why } = endChange(returned, visit.unhandled)
  // It stands where it failed, so that whoever tries it again sees what failed there.
  if (state === 'failed') secure()
  const items = closeItems(visit, `the run is ${state}`)
  // An item that is decided at this moment must not be closed over the decision.
  const arrivalsSeen = items.length > 0 ? visit.run.arrivals : undefined
  const result = await visit.log.end(
    { ...change, release: true, progress: true, waitingFor: null },
    { events: [moved(visit, state, why)], items },
    arrivalsSeen,
  )
  return endAfter(result, 'ended')
}

/** To the next visit: its checkpoint is written with what this one left, nobody waits for it. */
async function leaveMoved(
  visit: Leaving,
  { node, state }: NodeOutcome & { kind: 'go' },
): Promise<VisitEnd> {
  const { trail, log } = visit
  const changes = trail?.move(node, state) ?? null
  const items = closeItems(visit, `the run went on to ${node}`)
  if (items.length > 0) {
    // An item that is decided at this moment must not be closed over the decision.
    const { run = {}, ...rows }: Changes = changes ?? trail?.due() ?? {}
    return endAfter(await log.end(run, { ...rows, items }, visit.run.arrivals), 'moved')
  }
  if (changes) {
    log.append(changes)
    log.flush()
  }
  return 'moved'
}

export function closeItems(
  { loaded, clock }: Pick<Leaving, 'loaded' | 'clock'>,
  closedBy: string,
  which: (item: Item) => boolean = () => true,
): Item[] {
  return loaded.items
    .filter((item) => item.state === 'open' && which(item))
    .map((item) => closedItem(item, clock.now(), closedBy))
}

function endAfter(result: CommitResult, end: VisitEnd): VisitEnd {
  return result === 'done' ? end : result === 'arrived' ? 'arrived' : 'lost'
}

function moved({ run, clock }: Leaving, to: RunState, cause: string): Event {
  return eventOf(run, clock.now(), 'state', { from: 'running', to, cause })
}
