// Times as they travel.

/** For JSON: with its zone. */
export function iso(at: number): string
export function iso(at: number | null): string | null
export function iso(at: number | null): string | null {
  return at === null || !Number.isFinite(at) ? null : new Date(at).toISOString()
}
