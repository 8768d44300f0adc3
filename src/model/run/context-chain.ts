// What is recorded of the contexts of a run (D7). A context mostly says again what the one before
// it said, so a record holds what has changed since: bytes then grow with what is new, and not with
// the square of the steps. A whole one is recorded as it is; that of an older release is one.

import * as limits from '../limits.ts'
import { costOf, diff, patched } from './delta.ts'
import { absorb, isRecord, weightOf } from './state.ts'

export const contextTool = 'counterfoil.context'

const form = 'counterfoil.delta'

/** How much chains may outweigh small contexts: a base is cheap, and so is reading a few deltas. */
const chainWeightMin = 4_096

/** A record that holds a change of another one's context. */
interface Change {
  /** The record that it builds on; null for a whole context that looks like a change. */
  readonly from: string | null
  readonly delta: unknown
}

interface Link {
  readonly recorded: unknown
  readonly baseWeight: number
  readonly deltaWeight: number
}

/** The contexts that are on record, by the name of their record. */
export class ContextChain {
  private readonly links = new Map<string, Link>()
  private head: string | null = null
  private last: { name: string; value: unknown } | null = null

  /** What is to be recorded of a context, and given to `read` for it. */
  recordOf(context: unknown): unknown {
    const whole = absorb(context, '$', limits.depthMax)
    const base = changeIn(whole) ? { [form]: { from: null, delta: [whole] } } : whole
    const link = this.head === null ? undefined : this.links.get(this.head)
    if (this.head === null || link === undefined) return base
    const delta = diff(this.valueOf(this.head), whole)
    const weight = weightOf(whole)
    // What the context has grown by is in the deltas and nowhere else: it is not there twice.
    const grown = Math.max(0, weight - link.baseWeight)
    const extra = link.deltaWeight + costOf(delta) - grown
    return extra > Math.max(weight, chainWeightMin) ? base : { [form]: { from: this.head, delta } }
  }

  /** Whether a recorded context can be read: what it builds on is there. */
  canRead(recorded: unknown): boolean {
    const from = changeIn(recorded)?.from ?? null
    return from === null || this.links.has(from)
  }

  /** In the order in which they were recorded. One that cannot be read is nobody's base either. */
  add(name: string, recorded: unknown): void {
    if (this.links.has(name) || !this.canRead(recorded)) return
    const change = changeIn(recorded)
    const from = change?.from == null ? undefined : this.links.get(change.from)
    const link = from
      ? { baseWeight: from.baseWeight, deltaWeight: from.deltaWeight + costOf(change?.delta) }
      : { baseWeight: weightOf(recorded), deltaWeight: 0 }
    this.links.set(name, { recorded: absorb(recorded), ...link })
    this.head = name
  }

  /** The context that was recorded so: a value that others share, and nobody may change. */
  read(recorded: unknown): unknown {
    const change = changeIn(recorded)
    if (change === null) return recorded
    return patched(change.from === null ? null : this.valueOf(change.from), absorb(change.delta))
  }

  private valueOf(name: string): unknown {
    const deltas: Change[] = []
    let at: string | null = name
    let value: unknown = null
    while (at !== null) {
      if (this.last?.name === at) {
        value = this.last.value
        break
      }
      const recorded: unknown = this.links.get(at)?.recorded
      const change: Change | null = changeIn(recorded)
      if (change === null) value = recorded ?? null
      else deltas.push(change)
      at = change?.from ?? null
    }
    for (const { delta } of deltas.reverse()) value = patched(value, delta)
    // Node code asks for them in their order: the next one builds on this one.
    this.last = { name, value: absorb(value) }
    return this.last.value
  }
}

/** Whether a recorded context needs another one to be read. */
export function buildsOn(recorded: unknown): boolean {
  return changeIn(recorded)?.from != null
}

function changeIn(recorded: unknown): Change | null {
  if (!isRecord(recorded) || Object.keys(recorded).length !== 1) return null
  const change = recorded[form]
  return isRecord(change) && 'delta' in change ? (change as unknown as Change) : null
}
