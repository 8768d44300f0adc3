// Owns: what former holders of a foreign workflow have left: calls that were sent, of which nobody
// knows the outcome, and that nobody has asked for since. A person is asked about them (C2),
// whether the host comes back for them or not; it may have found other words.
// Does not own: what is asked (engine/visit/scope.ts), nor when a holder is dead (liveness.ts,
// leases).

import { momentOf } from '../engine/attempt/rows.ts'
import type { ScopeVisit } from '../engine/visit/scope.ts'
import type { Entry } from '../model/replay/entry.ts'
import { keyLeftMs, keyUseOf } from '../model/replay/key-window.ts'
import { ofCall } from '../model/run/attempt-id.ts'
import { scopeVisit } from '../model/run/scope.ts'
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
  /** Where a call is its host's until its key is forgotten, and when that is. */
  private readonly later = new Map<number, number>()
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
    this.later.delete(scopeVisit(nodeId, checkpointId))
  }

  get any(): boolean {
    return this.places !== null && this.places.size > 0
  }

  /** When the first call that is still its host's has to be put before a person; null if none. */
  get nextAt(): number | null {
    return this.later.size === 0 ? null : Math.min(...this.later.values())
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
    const all = visit.left().map((entry) => ({ entry, hostsMs: this.hostsMs(visit, entry) }))
    const left = all.flatMap(({ entry, hostsMs }) => (hostsMs > 0 ? [] : [entry]))
    const due = left.filter(
      ({ record }) => which === 'all' || record.replayClass === 'unsafe_on_replay',
    )
    for (const entry of due) visit.lookAt(entry)
    await visit.settled()
    visit.drain()
    await visit.done
    if (due.length === left.length) this.cameFor(place)
    const firstMs = Math.min(...all.flatMap(({ hostsMs }) => (hostsMs > 0 ? [hostsMs] : [])))
    if (!Number.isFinite(firstMs)) return
    this.later.set(scopeVisit(place.nodeId, place.checkpointId), visit.clock.now() + firstMs)
  }

  /**
   * For how long it is its host's and nobody is asked. A call with a key whose every attempt has
   * ended was stopped by its host, to be made again, or rested between two tries: it is the host's
   * as long as the key is good.
   */
  private hostsMs(visit: ScopeVisit, { key, record }: Entry): number {
    if (record.replayClass !== 'idempotent_with_key') return 0
    const own = ofCall(visit.loaded.attempts, key)
    if (own.length === 0 || own.some(({ endedAt }) => endedAt === null)) return 0
    return keyLeftMs(keyUseOf(record, own), ofNoTool, momentOf(visit))
  }
}
