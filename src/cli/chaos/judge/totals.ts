// A sandbox's own counts, by tool.

/** Null if nobody counts there. */
export type Totals = Readonly<Record<string, number>> | null

/** Undefined if this tool is not counted; one may be called `toString`. */
export function countOf(totals: Totals, tool: string): number | undefined {
  return totals !== null && Object.hasOwn(totals, tool) ? totals[tool] : undefined
}
