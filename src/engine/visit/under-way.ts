// Owns: what is under way in a visit, by kind. Who begins something gets its release, which ends it
// once: nothing is counted by hand.

export type UnderWay =
  /** A call that the node has issued and not yet seen the end of. */
  | 'call'
  /** An intent in the committer, an attempt, a probe: they finish before a visit parks. */
  | 'work'
  /** A pause between attempts, a look at something: given up when the visit parks. */
  | 'rest'
  /** A function of an attempt that has not returned, whatever became of its call. */
  | 'function'

export type Release = () => void

export class Holds {
  private readonly counts: Record<UnderWay, number> = { call: 0, work: 0, rest: 0, function: 0 }

  /** `onRelease`: told when it is over. */
  hold(kind: UnderWay, onRelease: () => void): Release {
    let held = true
    this.counts[kind]++
    return () => {
      if (!held) return
      held = false
      this.counts[kind]--
      onRelease()
    }
  }

  count(kind: UnderWay): number {
    return this.counts[kind]
  }
}
