// Owns: which record answers which call, and which records nothing has claimed yet.
// Does not own: when an answer is delivered (order.ts), nor what is done without one (gate.ts).
import { type Entry, isUnmatched, type PlaceRuling, placeKey } from '../../model/replay/entry.ts'
import type { Opening } from '../../model/replay/opening.ts'
import type { ReplayClass } from '../../model/tool/replay-class.ts'

export interface Place {
  readonly tool: string
  /** n-th call of this tool in the visit. */
  readonly nth: number
}

/** A call that looks for its record. */
interface Finding {
  readonly key: string
  readonly inputHash: string
  readonly ruling: PlaceRuling | null
  readonly tool: { readonly replayClass: ReplayClass }
}

export class Match {
  readonly entries: ReadonlyMap<string, Entry>
  private readonly places: ReadonlyMap<string, PlaceRuling>
  private readonly fates: ReadonlyMap<string, PlaceRuling>
  /** What the failed call itself has come for: its place may be another call's by now. */
  private readonly takenFates = new Set<PlaceRuling>()
  private readonly byAfter: readonly Entry[]
  private firstOpen = 0
  private readonly nths = new Map<string, number>()
  private readonly occurrences = new Map<string, number>()
  private readonly usedSends = new Set<PlaceRuling>()
  private unclaimed = 0

  constructor(opening: Opening) {
    this.entries = opening.entries
    this.places = opening.places
    this.fates = opening.fates
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

  /** The record of this very call, or the one a person gave to it. */
  find({ key, inputHash, ruling, tool }: Finding): Entry | null {
    const own = this.entries.get(key)
    const pure = tool.replayClass === 'pure'
    if (own && !own.matched && !(own.aside && pure)) return own
    const given = ruling?.useKey ? this.entries.get(ruling.useKey) : undefined
    if (given === undefined || given.matched) return null
    // A pure call is made again rather than answered with what something else has brought.
    const retried = ruling?.decision.reason === 'failed' && given.record.inputHash === inputHash
    return pure && !retried ? null : given
  }

  /**
   * Whether the record with this key is another call's: a person gave it to another place. One that
   * is tried again stays its call's own, so that this takes no other's record instead.
   */
  isTaken(key: string): boolean {
    return this.entries.get(key)?.matched === true && this.fate(key) === null
  }

  /**
   * What a person said of a failed call that is tried again, or of what was sent for it since. It
   * is the call's own, wherever that stands by now: other answers may have changed the node's way.
   */
  private fate(key: string): PlaceRuling | null {
    const entry = this.entries.get(key)
    const ruling = entry?.retried ? this.fates.get(key) : undefined
    if (entry === undefined || ruling === undefined) return null
    if (ruling.useKey === null) return ruling.send && !this.canSend(ruling) ? null : ruling
    // What has used the send may be another call, at its place and with another input.
    const next = this.entries.get(ruling.useKey)
    if (next?.record.inputHash !== entry.record.inputHash) return null
    return next.retried ? this.fate(next.key) : ruling
  }

  /** What a person said of this call, or of its place: there its input may have moved. */
  rulingOn(key: string, place: Place): PlaceRuling | null {
    const own = this.fate(key)
    if (own) this.takenFates.add(own)
    const there = this.places.get(placeKey(place.tool, place.nth)) ?? null
    return own ?? (there && this.takenFates.has(there) ? null : there)
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

  /** Whether a person has allowed one send by this, and it was not used. */
  canSend(ruling: PlaceRuling | null): boolean {
    return ruling?.send === true && !this.usedSends.has(ruling)
  }

  takeSend(ruling: PlaceRuling | null): PlaceRuling | null {
    if (ruling === null || !this.canSend(ruling)) return null
    this.usedSends.add(ruling)
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
