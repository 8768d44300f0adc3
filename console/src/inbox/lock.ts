// I5: "it did not happen" cannot be said of an attempt that may still land. The server says until
// when; the time runs on here.
import { now } from '../clock.ts'
import type { Choice } from '../wire.ts'
import { clockTime, duration, parseMs } from '../words.ts'

/** Until when an outcome cannot be said; null if it can. */
export function lockOf({ locked }: Choice): string | null {
  if (locked === null) return null
  if (locked.until === null) return `Not allowed yet: ${locked.why}.`
  const from = parseMs(locked.until)
  if (from <= now.value) return null
  const still = duration(from - now.value, true)
  return `Not allowed for ${still} more, until ${clockTime(from)}: what was sent may still arrive.`
}
