// The fault programme: layer after layer, case after case, each written down before the next.
import {
  type Control,
  chanceOf,
  type Layer,
  nothing,
  type Outcome,
  type Size,
  spread,
} from './layer.ts'
import type { LayerState, Progress } from './progress.ts'

export interface ProgrammeOptions {
  size: Size
  seed: number
  /** Cases at once, where a layer allows it. */
  jobs: number
  /** Not more cases of a layer than this, spread over its plan. */
  casesMax?: number
  /** Only cases whose names begin with this. */
  match?: string
  say: (text: string) => void
}

export async function runProgramme(
  layers: readonly Layer[],
  progress: Progress,
  options: ProgrammeOptions,
): Promise<void> {
  for (const layer of layers) {
    try {
      await runLayer(layer, progress, options)
    } finally {
      await layer.close?.()
    }
  }
}

async function runLayer(
  layer: Layer,
  progress: Progress,
  { size, seed, jobs, casesMax, match = '', say }: ProgrammeOptions,
): Promise<void> {
  const { name } = layer
  const missing = layer.missing()
  if (missing !== null) {
    say(`${name}: not run: ${missing}`)
    return progress.write({ layer: name, missing })
  }
  const state = progress.of(name)
  if (state.plan === null) progress.write({ layer: name, plan: await planOf(layer, size, seed) })
  await runControls(layer, progress, say)
  const asked = (state.plan ?? []).filter((each) => each.startsWith(match))
  // No case is no pass.
  if (asked.length === 0 && match !== '') {
    throw new Error(`no case of ${name} begins with ${JSON.stringify(match)}`)
  }
  const left = asked.filter((each) => !state.done.has(each))
  const before = asked.length - left.length
  const most = casesMax === undefined ? left.length : Math.max(0, casesMax - before)
  const chosen = spread(left, most, seed)
  say(`${name}: ${asked.length} cases, ${before} done before, ${chosen.length} now`)
  const next = chosen.values()
  const lanes = Array.from({ length: layer.alone ? 1 : jobs }, async () => {
    for (const each of next) {
      const from = performance.now()
      const outcome = await guarded(layer, each, seed)
      const ms = Math.round(performance.now() - from)
      progress.write({ layer: name, name: each, outcome, ms })
      tell(name, each, outcome, state, say)
    }
  })
  await Promise.all(lanes)
}

async function runControls(
  layer: Layer,
  progress: Progress,
  say: (text: string) => void,
): Promise<void> {
  if (progress.of(layer.name).controls !== null) return
  const controls = await layer.control()
  progress.write({ layer: layer.name, controls })
  tellControls(layer.name, controls, say)
}

function tellControls(
  layer: string,
  controls: readonly Control[],
  say: (text: string) => void,
): void {
  for (const { name, failed } of controls) {
    say(`${layer}: control "${name}" ${failed ? 'fails, as it must' : 'HOLDS'}`)
  }
}

/** Shuffled, so that a programme that is stopped has tried some of everything. */
async function planOf(layer: Layer, size: Size, seed: number): Promise<string[]> {
  const plan = await layer.plan(size, seed)
  if (size !== 'full') return plan
  const random = chanceOf(seed, layer.name)
  for (let i = plan.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[plan[i], plan[j]] = [plan[j] as string, plan[i] as string]
  }
  return plan
}

async function guarded(layer: Layer, name: string, seed: number): Promise<Outcome> {
  try {
    return await layer.run(name, seed)
  } catch (error) {
    const wrong = [`the case could not be run: ${String(error).slice(0, 1_000)}`]
    return { ...nothing, kind: 'error', wrong }
  }
}

const tellEvery = 20

function tell(
  layer: string,
  name: string,
  outcome: Outcome,
  state: LayerState,
  say: (text: string) => void,
): void {
  for (const each of outcome.wrong) say(`${layer}: WRONG in "${name}": ${each.slice(0, 500)}`)
  tellControls(layer, outcome.controls ?? [], say)
  if (state.done.size % tellEvery === 0) say(`${layer}: ${state.done.size} cases`)
}
