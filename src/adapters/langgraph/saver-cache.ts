// The last step of each space that this process has put or read, so that the next put need not load
// the chain below it. It answers by the id of the parent that the host names; whatever it does not
// have is read from the store.
import { weightOf } from '../../model/state.ts'
import type { Space, Step } from './saver-chain.ts'

interface Entry {
  readonly threadId: string
  readonly step: Step
  /** The greatest id that was seen here: a greater one cannot have been put before. */
  readonly idMax: string
}

// In characters of their JSON; documents that share parts count them once each.
const weightMax = 64 * 1024 * 1024

export class StepCache {
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>()
  #weight = 0

  get(space: Space, stepId?: string): Step | null {
    const key = keyOf(space)
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.step.stepId !== (stepId ?? entry.step.stepId)) return null
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.step
  }

  /** Whether this id is greater than all that were seen of the space. */
  isNew(space: Space, stepId: string): boolean {
    const entry = this.#entries.get(keyOf(space))
    return entry !== undefined && stepId > entry.idMax
  }

  set(space: Space, step: Step): void {
    const key = keyOf(space)
    const { threadId } = space
    const idMax = this.#entries.get(key)?.idMax ?? ''
    this.#drop(key)
    this.#entries.set(key, {
      ...{ threadId, step },
      idMax: step.stepId > idMax ? step.stepId : idMax,
    })
    this.#weight += weightOf(step.document)
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
    this.#weight -= weightOf(entry.step.document)
  }
}

export function keyOf({ threadId, space }: Space): string {
  return JSON.stringify([threadId, space])
}
