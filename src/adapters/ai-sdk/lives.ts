// What of a call cannot be recorded: its abort signal, the messages around it, who listens to its
// parts. A tool's function is given the recorded input alone, at a moment of the engine's choice;
// here it finds the rest.
import { canonical } from '../../model/canonical.ts'

/** Names a call as its tool's function sees it. */
export interface Named {
  readonly runId: string
  readonly node: string
  readonly tool: string
}

interface Waiting<L> {
  readonly input: string
  readonly live: L
  busy: boolean
}

export class Lives<L> {
  private readonly waiting = new Map<string, Waiting<L>[]>()

  /** Before the call is issued. Returns what to do when it has been answered. */
  expect(call: Named, input: unknown, live: L): () => void {
    const key = keyOf(call)
    const mine = { input: canonical(input), live, busy: false }
    this.waiting.set(key, [...(this.waiting.get(key) ?? []), mine])
    return () => {
      const rest = (this.waiting.get(key) ?? []).filter((one) => one !== mine)
      if (rest.length > 0) this.waiting.set(key, rest)
      else this.waiting.delete(key)
    }
  }

  /**
   * In the tool's function. Of identical calls under way each has one of its own; which one does
   * not matter, they ask for the same. Null if a node calls the tool by itself.
   */
  async use<T>(call: Named, input: unknown, run: (live: L | null) => Promise<T>): Promise<T> {
    const mine = this.find(call, canonical(input))
    if (mine === null) return run(null)
    mine.busy = true
    try {
      return await run(mine.live)
    } finally {
      mine.busy = false
    }
  }

  private find(call: Named, input: string): Waiting<L> | null {
    const all = this.waiting.get(keyOf(call)) ?? []
    const same = all.filter((one) => one.input === input)
    if (same.length > 0) return same.find((one) => !one.busy) ?? same[0] ?? null
    // A person has edited the input of a call that was held.
    const idle = all.filter((one) => !one.busy)
    return idle.length === 1 ? (idle[0] ?? null) : null
  }
}

function keyOf({ runId, node, tool }: Named): string {
  return JSON.stringify([runId, node, tool])
}
