// Reads steps of which many are wanted: each chain is loaded once, and every step of it is known
// from then on. For one list, walk or pruning, and thrown away with it.
import { asidePrefix, type Threads } from '../../../index.ts'
import { keyOf } from './cache.ts'
import { type Row, readChain, readRow, type Space, type Step } from './chain.ts'

// Beyond this, steps of other spaces are forgotten. Steps share what they have in common.
const stepsMax = 4_096

export class StepReader {
  readonly #threads: Threads
  readonly #steps = new Map<string, Map<string, Step>>()
  #count = 0

  constructor(threads: Threads) {
    this.#threads = threads
  }

  /** Null if it has been pruned since the row was read. */
  async stepOf(row: Row): Promise<Step | null> {
    const known = this.#of(row)
    const found = known.get(row.stepId)
    if (found !== undefined) return found
    const parent = row.whole || row.parentId === null ? null : known.get(row.parentId)
    if (parent === undefined) {
      await this.load(row, row.stepId)
      return known.get(row.stepId) ?? null
    }
    const step = readRow(row, parent)
    this.#add(known, step)
    return step
  }

  /** The rows from the nearest whole one, whose steps are known now. */
  async load(space: Space, stepId?: string): Promise<Row[]> {
    const rows = await this.#threads.loadSteps(placeOf(space), stepId)
    const known = this.#of(space)
    for (const step of readChain(rows)) if (!known.has(step.stepId)) this.#add(known, step)
    return rows
  }

  /** The same by the host's id, also of one that was set aside. */
  async loadAny(space: Space, stepId?: string): Promise<Row[]> {
    const rows = await this.load(space, stepId)
    const isGone = rows.length === 0 && stepId !== undefined
    return isGone ? this.load(space, `${asidePrefix}${stepId}`) : rows
  }

  #of(space: Space): Map<string, Step> {
    const key = keyOf(space)
    const known = this.#steps.get(key)
    if (known !== undefined) return known
    if (this.#count > stepsMax) {
      this.#steps.clear()
      this.#count = 0
    }
    const made = new Map<string, Step>()
    this.#steps.set(key, made)
    return made
  }

  #add(known: Map<string, Step>, step: Step): void {
    known.set(step.stepId, step)
    this.#count++
  }
}

export function placeOf({ threadId, space }: Space): Space {
  return { threadId, space }
}
