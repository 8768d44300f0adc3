// Owns: what former holders of a foreign workflow have left: calls that were sent, of which nobody
// knows the outcome, and that nobody has asked for since. A person is asked about them (C2),
// whether the host comes back for them or not; it may have found other words.
// Does not own: what is asked (engine/scope.ts), nor when a holder is dead (liveness.ts, leases).
import type { Entry } from '../engine/entry.ts'
import { momentOf } from '../engine/rows.ts'
import type { ScopeVisit } from '../engine/scope.ts'
import { ofCall } from '../model/attempt-id.ts'
import { keyUseOf, keyWindow } from '../model/key-window.ts'
import { scopeVisit } from '../model/scope.ts'
import type { LoadAt, OpenCall } from '../store/store.ts'

type Place = NonNullable<LoadAt['scope']>

/** `unsafe`: a call with a key can be sent again by its host, which may still come for it. */
export type Which = 'unsafe' | 'all'

/** Whoever looks for such calls rarely has their tools. */
const ofNoTool = { keyTtlMs: null, keyMarginMs: 0 }

export function isLeft({ status, attempt }: OpenCall): boolean {
  return status === 'pending' && attempt > 0
}

export class Left {
  private readonly open: (place: Place) => Promise<ScopeVisit | null>
  private places: Map<number, Place> | null = null
  /** Until a person is asked about what is being looked at. */
  asking: Promise<void> = Promise.resolve()

  constructor(open: (place: Place) => Promise<ScopeVisit | null>) {
    this.open = open
  }

  /** Before the first scope is open: later calls are this holder's own. */
  note(calls: readonly OpenCall[]): void {
    if (this.places !== null) return
    this.places = new Map()
    for (const { nodeId, checkpointId } of calls.filter(isLeft)) this.add({ nodeId, checkpointId })
  }

  /** Its host has left the scope without asking for it. */
  add(place: Place): void {
    this.places?.set(scopeVisit(place.nodeId, place.checkpointId), place)
  }

  /** Its host is there: its own verdict counts. */
  cameFor({ nodeId, checkpointId }: Place): void {
    this.places?.delete(scopeVisit(nodeId, checkpointId))
  }

  get any(): boolean {
    return this.places !== null && this.places.size > 0
  }

  ask(which: Which): Promise<void> {
    const asked = this.asking.then(async () => {
      for (const place of [...(this.places?.values() ?? [])]) await this.askAt(place, which)
    })
    this.asking = asked.catch(() => {})
    return asked
  }

  private async askAt(place: Place, which: Which): Promise<void> {
    if (this.places?.has(scopeVisit(place.nodeId, place.checkpointId)) !== true) return
    const visit = await this.open(place)
    if (visit === null) return
    const left = visit.left().filter((entry) => !this.isHosts(visit, entry))
    const due = left.filter(
      ({ record }) => which === 'all' || record.replayClass === 'unsafe_on_replay',
    )
    for (const entry of due) visit.lookAt(entry)
    await visit.settled()
    visit.drain()
    await visit.done
    if (due.length === left.length) this.cameFor(place)
  }

  /**
   * A call with a key whose every attempt has ended was stopped by its host, to be made again, or
   * rested between two tries. It is the host's as long as the key is good.
   */
  private isHosts(visit: ScopeVisit, { key, record }: Entry): boolean {
    if (record.replayClass !== 'idempotent_with_key') return false
    const own = ofCall(visit.loaded.attempts, key)
    const window = keyWindow(keyUseOf(record, own), ofNoTool, momentOf(visit))
    return window === 'open' && own.length > 0 && own.every(({ endedAt }) => endedAt !== null)
  }
}
