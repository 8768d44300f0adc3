// Owns: which record answers which call, and which records nothing has claimed yet.
// Does not own: when an answer is delivered (order.ts), nor what is done without one (gate.ts).
import { type Entry, isUnmatched, type PlaceRuling, placeKey } from '../model/replay/entry.ts'
import type { Opening } from '../model/replay/opening.ts'

export interface Place {
  readonly tool: string
  /** n-th call of this tool in the visit. */
  readonly nth: number
}

export class Match {
  readonly entries: ReadonlyMap<string, Entry>
  private readonly places: ReadonlyMap<string, PlaceRuling>
  private readonly byAfter: readonly Entry[]
  private firstOpen = 0
  private readonly nths = new Map<string, number>()
  private readonly occurrences = new Map<string, number>()
  private readonly usedSends = new Set<PlaceRuling>()
  private unclaimed = 0

  constructor(opening: Opening) {
    this.entries = opening.entries
    this.places = opening.places
    this.byAfter = [...opening.entries.values()].sort((a, b) => a.record.after - b.record.after)
    for (const entry of opening.entries.values()) if (isUnmatched(entry)) this.unclaimed++
  }

  nextPlace(tool: string): Place {
    const nth = this.nths.get(tool) ?? 0
    this.nths.set(tool, nth + 1)
    return { tool, nth }
  }

  nextOccurrence(tool: string, inputHash: string): number {
    const key = `${tool}/${inputHash}`
    const occurrence = this.occurrences.get(key) ?? 0
    this.occurrences.set(key, occurrence + 1)
    return occurrence
  }

  /** The record of this very call, or the one a person gave to its place. */
  find(key: string, place: Place, pure: boolean): Entry | null {
    const own = this.entries.get(key)
    if (own && !own.matched && !(own.aside && pure)) return own
    const useKey = pure && !own?.retried ? null : this.ruling(place)?.useKey
    const given = useKey ? this.entries.get(useKey) : undefined
    return given && !given.matched ? given : null
  }

  /**
   * Whether the record with this key is another call's: a person gave it to another place. One that
   * is tried again stays its place's own, so that its call takes no other's record instead.
   */
  isTaken(key: string, place: Place): boolean {
    const entry = this.entries.get(key)
    if (entry === undefined || !entry.matched) return false
    return !(entry.retried && entry.record.nth === place.nth)
  }

  /** Whichever of these records is free, if there is one and no other. */
  onlyFree(keys: readonly string[]): Entry | null {
    const free = keys.flatMap((key) => {
      const entry = this.entries.get(key)
      return entry && !entry.matched && !entry.seen ? [entry] : []
    })
    return free.length === 1 ? (free[0] ?? null) : null
  }

  /** The host has the end of the call at this place: its record waits for nobody. */
  see(place: Place): void {
    for (const entry of this.entries.values()) {
      if (!isAt(entry, place) || entry.settled === null || entry.seen) continue
      if (isUnmatched(entry)) this.unclaimed--
      entry.seen = true
    }
  }

  /** It asks for something else at this place now: the record waits to be explained after all. */
  recall(place: Place): void {
    for (const entry of this.entries.values()) {
      if (!isAt(entry, place) || !entry.seen) continue
      entry.seen = false
      if (isUnmatched(entry)) this.unclaimed++
    }
  }

  ruling(place: Place): PlaceRuling | null {
    return this.places.get(placeKey(place.tool, place.nth)) ?? null
  }

  /** Whether a person has allowed one send at this place, and it was not used. */
  canSend(place: Place): boolean {
    const ruling = this.ruling(place)
    return ruling?.send === true && !this.usedSends.has(ruling)
  }

  takeSend(place: Place): PlaceRuling | null {
    const ruling = this.canSend(place) ? this.ruling(place) : null
    if (ruling) this.usedSends.add(ruling)
    return ruling
  }

  claim(entry: Entry): void {
    if (isUnmatched(entry)) this.unclaimed--
    entry.matched = true
  }

  hasUnclaimed(): boolean {
    return this.unclaimed > 0
  }

  /** Non-pure records that nothing has claimed. */
  unclaimedEntries(): Entry[] {
    return [...this.entries.values()].filter(isUnmatched)
  }

  /** Whether a record that was issued before `seq` was known is still to be claimed. */
  holdsBack(seq: number): boolean {
    // The first open entry only moves forward: linear over a visit. One that is recalled is not
    // waited for, since calls with a place of their own have no order.
    for (let entry = this.byAfter[this.firstOpen]; entry; entry = this.byAfter[this.firstOpen]) {
      const { matched, skipped, retired, seen, aside } = entry
      if (!(matched || skipped || retired || seen || aside)) return entry.record.after < seq
      this.firstOpen++
    }
    return false
  }

  /** Gives up on the records that hold `seq` back. */
  skipBefore(seq: number): void {
    for (const entry of this.entries.values()) {
      const known = entry.settled?.seq ?? Number.POSITIVE_INFINITY
      if (known < seq || entry.record.after < seq) entry.skipped = true
    }
  }
}

function isAt({ record }: Entry, { tool, nth }: Place): boolean {
  return record.tool === tool && record.nth === nth
}
