// Two inputs under one idempotency key: the upstream does the first, and never the second.
import { canonical } from '../../../model/json/canonical.ts'
import type { Entry } from '../types.ts'

interface Sent {
  readonly entry: Entry
  readonly effects: number
}

export interface Collision {
  readonly tool: string
  readonly key: string | null
  /** What was done for the key, and what never was. */
  readonly done: unknown
  readonly input: unknown
}

export function collisions(sent: readonly Sent[]): Collision[] {
  return grouped(sent, ({ entry }) => [entry.tool, entry.key]).flatMap((ofKey) => {
    const byInput = grouped(ofKey, ({ entry }) => entry.input ?? null)
    const isDone = (ofInput: readonly Sent[]) => ofInput.some(({ effects }) => effects > 0)
    const done = byInput.find(isDone)?.[0]
    if (done === undefined) return []
    return byInput.flatMap((ofInput) => {
      const [first] = ofInput
      if (first === undefined || isDone(ofInput)) return []
      const { tool, key, input } = first.entry
      return [{ tool, key, done: done.entry.input, input }]
    })
  })
}

function grouped(sent: readonly Sent[], by: (one: Sent) => unknown): Sent[][] {
  const groups = new Map<string, Sent[]>()
  for (const one of sent) {
    const name = canonical(by(one))
    groups.set(name, [...(groups.get(name) ?? []), one])
  }
  return [...groups.values()]
}
