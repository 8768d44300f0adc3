// How often the arrivals at a node are checkpointed (D10). Before a call that is not pure a
// checkpoint is never skipped, whatever the dial says.

/** `every:N`: at every N-th visit of the run. */
export type Dial = 'always' | 'before_effects' | `every:${number}`

export type ParsedDial =
  | { readonly kind: 'always' }
  | { readonly kind: 'before_effects' }
  | { readonly kind: 'every'; readonly count: number }

/** What a dial says, or null for what is none: N is a whole number of at least 1. */
export function parseDial(value: unknown): ParsedDial | null {
  if (value === 'always' || value === 'before_effects') return { kind: value }
  const digits = typeof value === 'string' ? /^every:([1-9]\d*)$/.exec(value)?.[1] : undefined
  const count = Number(digits)
  return Number.isSafeInteger(count) ? { kind: 'every', count } : null
}
