// The last steps of each space that this process has put or read, so that the next put need not
// load the chain below it. It answers by the id of the parent that the host names; whatever it does
// not have is read from the store.
import { weightOf } from '../../../model/run/state.ts'
import { idOf, type SeenStep, type Space } from './chain.ts'

interface Entry {
  readonly threadId: string
  /** The latest last. */
  readonly steps: readonly [SeenStep, ...SeenStep[]]
  readonly weight: number
  /** The greatest id that was seen here: a greater one cannot have been put before. */
  readonly idMax: string
}

// Writes of a step may come when the next ones have been put. Steps share what they have in common.
const stepsMax = 8
// In characters of their JSON.
const weightMax = 64 * 1024 * 1024

export class StepCache {
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>()
  #weight = 0

  get(space: Space, stepId?: string): SeenStep | null {
    const key = keyOf(space)
    const entry = this.#entries.get(key)
    if (entry === undefined) return null
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    if (stepId === undefined) return entry.steps.at(-1) ?? null
    return entry.steps.find((step) => idOf(step.stepId) === stepId) ?? null
  }

  /** Whether this id is greater than all that were seen of the space. */
  isNew(space: Space, stepId: string): boolean {
    const entry = this.#entries.get(keyOf(space))
    return entry !== undefined && stepId > entry.idMax
  }

  set(space: Space, step: SeenStep): void {
    const key = keyOf(space)
    const { threadId } = space
    const { steps: known = [], idMax = '' } = this.#entries.get(key) ?? {}
    const others = known.filter(({ stepId }) => stepId !== step.stepId).slice(1 - stepsMax)
    const weight = weightOf(step.document)
    this.#drop(key)
    this.#entries.set(key, {
      threadId,
      weight,
      steps: [...others, step] as unknown as Entry['steps'],
      idMax: idOf(step.stepId) > idMax ? idOf(step.stepId) : idMax,
    })
    this.#weight += weight
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= weightMax || oldest === key) break
      this.#drop(oldest)
    }
  }

  forget(threadId: string): void {
    for (const [key, entry] of this.#entries) if (entry.threadId === threadId) this.#drop(key)
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#weight -= entry.weight
  }
}

export function keyOf({ threadId, space }: Space): string {
  return JSON.stringify([threadId, space])
}
