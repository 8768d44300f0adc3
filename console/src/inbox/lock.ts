// I5: "it did not happen" cannot be said of an attempt that may still land.
import { now } from '../clock.ts'
import type { ItemPageData, Outcome } from '../wire.ts'
import { clockTime, duration, parseMs } from '../words.ts'
import { denies } from './outcomes.ts'

/** Until when an outcome cannot be said; null if it can. */
export function lockOf(item: ItemPageData, outcome: Outcome): string | null {
  const quiet = item.did_not_happen
  if (quiet === null || !denies.includes(outcome)) return null
  if (quiet.may_still_run || quiet.from === null) {
    return item.locked_reason ?? 'Locked: an attempt may still be running.'
  }
  const from = parseMs(quiet.from)
  if (from <= now.value) return null
  const still = duration(from - now.value, true)
  return `Locked for ${still}, until ${clockTime(from)}: what was sent may still arrive.`
}
