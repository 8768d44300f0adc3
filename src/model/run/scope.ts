// Visits of a foreign runtime: what stands for the graph, and for the number of a visit.
import { sha256 } from '../json/canonical.ts'

/** The graph of the runs that stand for foreign workflows; no worker carries it. */
export const scopeGraph = { name: 'counterfoil.scope', version: '1.0.0' } as const

/** Foreign ids as a number in the place of a visit's: the same for every process. */
export function scopeVisit(nodeId: string, checkpointId: string): number {
  return Number.parseInt(sha256(`${nodeId}\n${checkpointId}`).slice(0, 12), 16)
}

/** A foreign id as a number: the same for every replay, and its repetitions apart. */
export function occurrenceOf(callId: string, nth: number): number {
  return Number.parseInt(sha256(`${callId}\n${nth}`).slice(0, 12), 16)
}
