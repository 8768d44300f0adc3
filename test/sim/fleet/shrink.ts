// Makes a failing schedule smaller: without a fault, a run, a worker, a step at a time, as long as
// it still fails in the same way.
import { type Outcome, runFleet } from './fleet.ts'
import type { Plan, RunPlan, Step } from './plan.ts'

export interface Shrunk {
  readonly plan: Plan
  readonly found: readonly string[]
  readonly tried: number
}

const triesMax = 400

export async function shrink(plan: Plan): Promise<Shrunk> {
  let smallest = plan
  let outcome = await runFleet(plan)
  const kinds = kindsOf(outcome)
  let tried = 1
  for (let again = kinds.size > 0; again && tried < triesMax; ) {
    again = false
    for (const candidate of smaller(smallest)) {
      tried++
      const tryout = await runFleet(candidate)
      if (![...kindsOf(tryout)].some((kind) => kinds.has(kind))) continue
      smallest = candidate
      outcome = tryout
      again = true
      break
    }
  }
  return { plan: smallest, found: outcome.bad, tried }
}

/** What kind of failure it is, whichever run or call it is about. */
function kindsOf({ bad }: Outcome): Set<string> {
  return new Set(bad.map((each) => each.split(':')[0] ?? each))
}

function* smaller(plan: Plan): Generator<Plan> {
  for (const runs of without(plan.runs)) if (runs.length > 0) yield { ...plan, runs }
  for (const faults of without(plan.faults)) yield { ...plan, faults }
  if (plan.workers > 1) yield { ...plan, workers: plan.workers - 1 }
  for (let i = 0; i < plan.runs.length; i++) {
    for (const run of smallerRun(plan.runs[i] as RunPlan)) {
      yield { ...plan, runs: plan.runs.map((each, at) => (at === i ? run : each)) }
    }
  }
}

function* smallerRun(run: RunPlan): Generator<RunPlan> {
  if (run.parts.length > 1) for (const parts of without(run.parts)) yield { ...run, parts }
  for (let i = 0; i < run.parts.length; i++) {
    for (const steps of smallerSteps(run.parts[i] ?? [])) {
      yield { ...run, parts: run.parts.map((each, at) => (at === i ? steps : each)) }
    }
  }
}

function* smallerSteps(steps: readonly Step[]): Generator<readonly Step[]> {
  if (steps.length > 1) yield* without(steps)
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i] as Step
    if (step.op !== 'all') continue
    for (const branch of step.branches)
      yield [...steps.slice(0, i), ...branch, ...steps.slice(i + 1)]
  }
}

function* without<T>(of: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < of.length; i++) yield [...of.slice(0, i), ...of.slice(i + 1)]
}
