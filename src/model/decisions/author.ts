// Who says something to a run, and why: kept for ever beside what it did, so it must be there, and
// short enough for the row it lies in.
import * as limits from '../limits.ts'

/** What is wrong with it, in words; null if nothing is. */
export function authorFault(said: { by?: unknown; reason?: unknown }): string | null {
  for (const [key, what] of [
    ['by', 'who says it'],
    ['reason', 'why'],
  ] as const) {
    const text = said?.[key]
    if (typeof text !== 'string' || text.trim() === '') return `needs \`${key}\`: ${what}`
    if (text.length > limits.saidLengthMax) {
      return `has a \`${key}\` of ${text.length} characters; ${limits.saidLengthMax} at most`
    }
  }
  return null
}
