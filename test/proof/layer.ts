// What a layer of the fault programme is, and what a case of it comes to.
import { seeded } from '../sim/clock.ts'

export type Size = 'test' | 'small' | 'full'

/** One case: a fault, what shows that it happened, and what became of the runs. */
export interface Outcome {
  /** Faults that happened, by evidence. None: the case proves nothing, and is not counted. */
  injected: number
  evidence: string
  /** Words to count cases by: the kind of fault, how it was met. */
  kind: string
  runs: number
  effects: number
  duplicates: number
  lost: number
  /** Calls put before a person, and those of them that had not happened. */
  surfaced: number
  falseSurfaced: number
  /** From the start of the next process to the run's end, or its next question. */
  resumeMs: number[]
  /** Everything that must not be, in words. */
  wrong: string[]
  /** Controls that came with the case, where a layer has no others: kept in the same line. */
  controls?: Control[]
}

/** What must fail, or the layer proves nothing. */
export interface Control {
  name: string
  failed: boolean
  evidence: string
}

export interface Layer {
  readonly name: string
  readonly about: string
  /** Why it cannot run here; null if it can. */
  missing(): string | null
  /** The cases by name: a name is all that a case needs to be run again. */
  plan(size: Size, seed: number): Promise<string[]>
  run(name: string, seed: number): Promise<Outcome>
  /** None if they come with its cases. */
  control(): Promise<Control[]>
  /** One at a time, if its cases would disturb each other. */
  readonly alone?: boolean
  close?(): Promise<void>
}

/** The chance of one case: its own, whatever ran before it. */
export function chanceOf(seed: number, name: string): () => number {
  let sum = seed % 2_147_483_647
  for (const char of name) sum = (sum * 31 + char.charCodeAt(0)) % 2_147_483_647
  return seeded(1 + sum)
}

/**
 * So many of them, spread over all, and not the same ones for every seed: one by chance of each of
 * as many equal parts. Kinds (the first word of a name) lie together in these, so that each has its
 * share however they alternate.
 */
export function spread(all: readonly string[], count: number, seed: number): string[] {
  if (all.length <= count) return [...all]
  const kindOf = (name: string) => name.split(' ')[0] ?? ''
  const kinds = [...new Set(all.map(kindOf))]
  const byKind = kinds.flatMap((kind) => all.filter((name) => kindOf(name) === kind))
  const random = seeded(seed)
  const start = (part: number) => Math.floor((part * all.length) / count)
  const taken = new Set(
    Array.from({ length: count }, (_, part) => {
      const size = start(part + 1) - start(part)
      return byKind[start(part) + Math.floor(random() * size)]
    }),
  )
  return all.filter((each) => taken.has(each))
}

export const nothing: Outcome = {
  ...{ injected: 0, evidence: '', kind: '', runs: 0, effects: 0, duplicates: 0, lost: 0 },
  ...{ surfaced: 0, falseSurfaced: 0, resumeMs: [], wrong: [] },
}
