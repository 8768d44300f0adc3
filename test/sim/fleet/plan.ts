// What a schedule consists of, drawn from its seed beforehand: so that a part of it can be left out
// and the rest stays as it was.
import { stream } from './schedule.ts'

export type CallClass = 'pure' | 'keyed' | 'unsafe' | 'probed' | 'deferred'

export type Step =
  | { readonly op: 'call'; readonly site: string; readonly cls: CallClass }
  | { readonly op: 'all'; readonly branches: readonly (readonly Step[])[] }
  | { readonly op: 'sleep'; readonly ms: number }
  | { readonly op: 'signal'; readonly name: string; readonly timeoutMs: number | null }
  | { readonly op: 'approve'; readonly site: string }
  | {
      readonly op: 'spawn'
      readonly site: string
      readonly steps: readonly Step[]
      /** How long it is waited for, if not to its end, and whether it is cancelled then. */
      readonly deadlineMs: number | null
      readonly cancels: boolean
    }

export interface RunPlan {
  readonly runId: string
  readonly kind: 'workflow' | 'graph' | 'scope'
  /** A workflow has one part; of a graph each is a node's visit, of a host each is a scope. */
  readonly parts: readonly (readonly Step[])[]
  readonly startMs: number
}

/** To whichever worker or host comes to this boundary, counted over all of them. */
export type Fault = { readonly boundary: number } & (
  | { readonly kind: 'crash'; readonly restartMs: number }
  /** `deafMs`: what was under way to it comes so much later than it thaws. */
  | { readonly kind: 'stall'; readonly ms: number; readonly deafMs: number }
  /** The answer of a store call is lost; `applied`: on its way back. */
  | { readonly kind: 'lost'; readonly applied: boolean }
  | { readonly kind: 'locked' }
)

export interface Plan {
  readonly seed: string
  readonly workers: number
  readonly concurrency: number
  /** Workers are on one machine: their death can be proven by others. */
  readonly local: boolean
  readonly runs: readonly RunPlan[]
  readonly faults: readonly Fault[]
  /** The control: effects may land later than the tools' quiet time. */
  readonly tooLate: boolean
  /** The person sometimes says that it did not happen without having looked. */
  readonly hasty: boolean
}

export function planOf(seed: number | string, { tooLate = false } = {}): Plan {
  const name = String(seed)
  const random = stream(`plan ${name}`)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const workers = pick([1, 2, 2, 2, 3])
  const runs = Array.from({ length: pick([1, 1, 1, 2]) }, (_, i) => runPlan(name, i))
  const count = pick([1, 2, 3, 3, 4, 5])
  const faults = Array.from({ length: count }, () => faultOf(random))
  const [concurrency, local] = [pick([1, 4]), random() < 0.6]
  const hasty = random() < 0.3
  return { seed: name, workers, concurrency, local, runs, faults, tooLate, hasty }
}

function faultOf(random: () => number): Fault {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const at = { boundary: 3 + Math.floor(random() ** 1.3 * 50) }
  const kind = pick(['crash', 'crash', 'stall', 'stall', 'lost', 'lost', 'locked'] as const)
  if (kind === 'crash') return { ...at, kind, restartMs: pick([0, 50, 500, 4_000]) }
  if (kind === 'stall') {
    const [ms, deafMs] = [pick([100, 1_500, 3_500, 3_500, 8_000]), pick([0, 0, 0, 100, 1_500])]
    return { ...at, kind, ms, deafMs }
  }
  if (kind === 'lost') return { ...at, kind, applied: random() < 0.6 }
  return { ...at, kind }
}

function runPlan(seed: string, index: number): RunPlan {
  const random = stream(`run ${seed}/${index}`)
  const runId = `r${index}`
  const drawn = random()
  const kind = drawn < 0.45 ? 'workflow' : drawn < 0.85 ? 'graph' : 'scope'
  const builder = new Builder(random, runId, kind === 'scope')
  const count = kind === 'workflow' ? 1 : 2 + Math.floor(random() * 2)
  const parts = Array.from({ length: count }, () => builder.steps(2))
  return { runId, kind, parts, startMs: Math.floor(random() * 300) }
}

class Builder {
  private readonly random: () => number
  private readonly runId: string
  private readonly foreign: boolean
  private sites = 0
  private budget: number

  constructor(random: () => number, runId: string, foreign: boolean) {
    this.random = random
    this.runId = runId
    this.foreign = foreign
    this.budget = 2 + Math.floor(random() * 4)
  }

  steps(depth: number): Step[] {
    const count = 1 + Math.floor(this.random() * 2.4)
    return Array.from({ length: count }, () => this.step(depth))
  }

  private step(depth: number): Step {
    const drawn = this.random()
    if (depth <= 0 || this.budget <= 0 || drawn < 0.6 || this.foreign) return this.call()
    if (drawn < 0.76) {
      const branches = Array.from({ length: this.pick([2, 2, 3]) }, () => this.steps(depth - 1))
      // Identical calls side by side: only their number tells them apart.
      return { op: 'all', branches: this.random() < 0.15 ? twins(branches) : branches }
    }
    if (drawn < 0.82) return { op: 'sleep', ms: this.pick([5, 100, 400, 2_000]) }
    if (drawn < 0.89) {
      return { op: 'signal', name: this.site(), timeoutMs: this.pick([null, null, 600]) }
    }
    if (drawn < 0.95) return { op: 'approve', site: this.site() }
    const [site, steps] = [this.site(), this.steps(0)]
    const deadlineMs = this.pick([null, null, 5, 100, 400, 2_000])
    return { op: 'spawn', site, steps, deadlineMs, cancels: this.random() < 0.6 }
  }

  private call(): Step {
    this.budget--
    const classes = ['unsafe', 'unsafe', 'unsafe', 'keyed', 'pure', 'probed', 'deferred'] as const
    const cls = this.pick(classes)
    return { op: 'call', site: this.site(), cls: this.foreign && cls === 'deferred' ? 'pure' : cls }
  }

  private site(): string {
    return `${this.runId}s${++this.sites}`
  }

  private pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)] as T
  }
}

function twins(branches: readonly (readonly Step[])[]): (readonly Step[])[] {
  const [first = []] = branches
  const calls = first.filter((step) => step.op === 'call')
  return calls.length === 0 ? [...branches] : branches.map(() => calls)
}

/** Every step, those of branches and children too. */
export function* stepsOf(steps: readonly Step[]): Generator<Step> {
  for (const step of steps) {
    yield step
    if (step.op === 'all') for (const branch of step.branches) yield* stepsOf(branch)
    if (step.op === 'spawn') yield* stepsOf(step.steps)
  }
}
