// Owns: the whole of chaos: two uninterrupted runs to compare with, the choice of crash points, and
// one stage for each of them. What a stage is made of (processes, or one process and its memory) is
// the caller's.
import { systemClock } from '../../clock.ts'
import { type CounterfoilError, errorFor, isCounterfoilError } from '../../model/errors.ts'
import { waveringNotes } from './judge/bounds.ts'
import { replayNotes } from './judge/end.ts'
import { isOdd, Judge, passedOverText } from './judge/judge.ts'
import type { Driven, Seen, Tried } from './judge/seen.ts'
import type { Plan } from './plan.ts'
import type { ChaosFinding, ChaosReport } from './report/report.ts'
import { toolsOf } from './report/tools.ts'
import { drive, NoEnd } from './stage/drive.ts'
import { type ChaosEnd, chaosEnds, type Entry } from './types.ts'

/** The life that dies, counted from 0, and at which of its boundaries. */
interface Spot {
  readonly life: number
  readonly at: number
}

export async function runChaos(plan: Plan): Promise<ChaosReport> {
  const { clock = systemClock, onProgress = () => {} } = plan
  const began = clock.mono()
  onProgress('the uninterrupted run')
  const first = await uninterrupted(plan)
  checkReal(plan, first.driven)
  // What moves by itself must not be taken for the work of a crash.
  const second = await uninterrupted(plan)
  const judge = new Judge(first, second, plan)
  const replayed = replayNotes(judge, plan.recordedEnd, plan.ignore)
  const notes = [...plan.notes, ...unasked(plan, first.driven), ...replayed]
  const spots = spotsOf(first.driven)
  const random = seeded(plan.seed)
  const telling = tellingSpots(spots, first.driven)
  const chosen = choose(spots, telling, plan.kills, random).map((spot, index) => ({
    spot,
    point: index + 1,
    dieAts: dieAtsOf(spot, first.driven, plan.pairs ? random : null),
  }))
  const points: Tried[] = []
  await inLanes(plan.concurrency, chosen, async ({ point, dieAts }) => {
    points.push(await tryPoint(plan, judge, point, dieAts))
    onProgress(`${points.length} of ${chosen.length} crash points`)
  })
  points.sort((a, b) => a.point - b.point)
  notes.push(...waveringNotes(judge.bounds().values()))
  notes.push(...missedOf(points), ...presumedOf(points))
  const tools = toolsOf(judge, points, plan)
  return {
    subject: plan.subject,
    store: plan.store,
    seed: plan.seed,
    boundaries: spots.length,
    points: points.map(({ seen: _, ...point }) => point),
    kills: points.reduce((sum, { deaths }) => sum + deaths.length, 0),
    tools,
    moving: judge.moving,
    notes,
    ms: clock.mono() - began,
    ok: points.every(({ findings }) => findings.length === 0),
  }
}

/** A misspelt name would leave the mock in its place, and nobody would know. */
function checkReal({ real, declared }: Plan, { entries }: Driven): void {
  const there = [...new Set([...declared, ...entries.map(({ tool }) => tool)])]
  const strange = real.find((name) => ![...there, 'pure', 'all'].includes(name))
  if (strange === undefined) return
  throw errorFor(
    'CHAOS_OPTIONS',
    `real: there is no tool "${strange}"; there are: ${there.join(', ')}; or pure, or all`,
  )
}

/** A mock that nobody asks may stand beside a tool that has sent something real. */
function unasked({ mocks, isAgent }: Plan, { entries }: Driven): string[] {
  if (isAgent && entries.length === 0) {
    throw errorFor(
      'CHAOS_NO_REFERENCE',
      'the agent has called no tool through its `cf`, so that nothing can be counted: give this ' +
        'cf to guard() and to the checkpointer, or let tools ask `upstream(tool, input)`',
    )
  }
  const silent = mocks.filter((name) => !entries.some(({ tool }) => tool === name))
  if (silent.length === 0) return []
  const why = isAgent ? '; if it is called without guard(), its own function has run' : ''
  return silent.map((name) => `mocks.${name} was not asked without a crash${why}`)
}

/** A boundary that timing moved away kills nobody; if none of them does, nothing was tried. */
function missedOf(points: readonly Tried[]): string[] {
  const missed = points.filter(({ deaths }) => deaths.length === 0).length
  if (points.length === 0) return ['there was no boundary to be killed at']
  if (missed === 0) return []
  const what = `${missed} of ${points.length} crash points killed nothing`
  // What ended otherwise is told as it is.
  const found = points.some(({ findings }) => findings.length > 0)
  if (missed < points.length || found) return [`${what}: their boundary did not come again`]
  throw errorFor(
    'CHAOS_NO_REFERENCE',
    `${what}, so nothing was tested: other runs do not do what the first did. Does the code ` +
      'keep something in a variable from run to run?',
  )
}

/** What chaos itself said without knowing is told. */
function presumedOf(points: readonly Tried[]): string[] {
  const tools = new Set(points.flatMap(({ seen }) => seen?.driven.presumed ?? []))
  if (tools.size === 0) return []
  return [
    `functions of ${[...tools].join(', ')} were killed half-way; nobody counts what they did, so ` +
      'they were taken to have done it: what is lost there is not seen',
  ]
}

async function uninterrupted(plan: Plan): Promise<Seen> {
  const { timeoutMs } = plan
  const stage = await plan.open(0)
  try {
    const truth = { resultOf: () => null }
    const driven = await drive(stage, { dieAts: [], timeoutMs, truth })
    if (driven.passedOver.length > 0) throw noReference(passedOverText(driven))
    const { state, error } = driven.end
    // Its end was not its own: chaos has abandoned what should never be asked.
    const isGivenUp = state === 'failed' && driven.doubts.some(isOdd)
    if (state === plan.ends && !isGivenUp) return { runId: stage.runId, driven }
    const asked = driven.doubts.map(
      ({ tool, reason, title }) => `; ${reason} of ${tool ?? 'the run'}: ${title}`,
    )
    const why = `it is ${state}${error === null ? '' : `: ${error}`}${asked.join('')}`
    throw noReference(isGivenUp ? why : `${why}${meantSo(state, plan.ends)}`)
  } catch (error) {
    throw error instanceof NoEnd ? noReference(error.message) : error
  } finally {
    await stage.close()
  }
}

function meantSo(state: string, ends: ChaosEnd): string {
  if (ends !== 'completed') return `; it was to end ${ends}`
  const known = chaosEnds.find((one) => one === state)
  return known === undefined ? '' : `. If that is how it should end: --ends ${known}`
}

function noReference(why: string): CounterfoilError {
  const message = `the run does not end well even without a crash: ${why}`
  return errorFor('CHAOS_NO_REFERENCE', message)
}

async function tryPoint(
  plan: Plan,
  judge: Judge,
  point: number,
  dieAts: readonly number[],
): Promise<Tried> {
  const { clock = systemClock, timeoutMs } = plan
  const began = clock.mono()
  const stage = await plan.open(point)
  const tried = (seen: Seen | null, findings: ChaosFinding[], lives: Driven['lives']): Tried => ({
    point,
    deaths: lives.flatMap(({ died }) => died ?? []),
    findings,
    seen,
    doubts: seen?.driven.doubts ?? [],
    ms: clock.mono() - began,
  })
  try {
    const truth = { resultOf: (entry: Entry) => referenceResult(judge.reference, entry) }
    const driven = await drive(stage, { dieAts, timeoutMs, truth })
    const seen = { runId: stage.runId, driven }
    return tried(seen, judge.findings(seen), driven.lives)
  } catch (error) {
    const kind = error instanceof NoEnd ? error.kind : 'crash'
    if (!(error instanceof NoEnd || isCounterfoilError(error))) throw error
    const { message } = error
    return tried(null, [{ kind, tool: null, message }], error instanceof NoEnd ? error.lives : [])
  } finally {
    await stage.close()
  }
}

/** What the same call was answered where nobody was killed. */
function referenceResult({ driven }: Seen, { tool, input }: Entry): unknown {
  const text = JSON.stringify(input)
  const same = driven.entries.filter((entry) => entry.tool === tool && entry.reply?.ok)
  const entry = same.find((one) => JSON.stringify(one.input) === text) ?? same[0]
  return entry?.reply?.ok ? (entry.reply.value ?? null) : null
}

function spotsOf({ lives }: Driven): Spot[] {
  return lives.flatMap(({ hits }, life) => hits.map((_, index) => ({ life, at: index + 1 })))
}

function dieAtsOf({ life, at }: Spot, { lives }: Driven, random: (() => number) | null): number[] {
  const first = [...Array.from({ length: life }, () => 0), at]
  if (random === null) return first
  // The life that recovers has about as much to do as the one that died.
  return [...first, 1 + Math.floor(random() * (lives[life]?.hits.length ?? 1))]
}

/** For each tool, the moment when it has done its work and nobody knows. */
function tellingSpots(spots: readonly Spot[], { lives, entries }: Driven): Spot[] {
  const tools = [...new Set(entries.map(({ tool }) => tool))]
  return tools.flatMap(
    (tool) => spots.find(({ life, at }) => lives[life]?.hits[at - 1] === `after ${tool}`) ?? [],
  )
}

/** Those that tell most, and others by chance. */
function choose(
  spots: readonly Spot[],
  telling: readonly Spot[],
  kills: number | null,
  random: () => number,
): Spot[] {
  if (kills === null || kills >= spots.length) return [...spots]
  const taken = telling.slice(0, kills)
  const left = spots.filter((spot) => !taken.includes(spot))
  while (taken.length < kills) {
    taken.push(...left.splice(Math.floor(random() * left.length), 1))
  }
  return taken.sort((a, b) => a.life - b.life || a.at - b.at)
}

/** mulberry32: small, and the same everywhere. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** So many at once; the first that throws ends it, when those under way have come to their end. */
async function inLanes<T>(
  lanes: number,
  all: readonly T[],
  work: (one: T) => Promise<void>,
): Promise<void> {
  const queue = [...all]
  let failed = false
  const lane = async () => {
    for (let next = queue.shift(); next !== undefined && !failed; next = queue.shift()) {
      await work(next).catch((error) => {
        failed = true
        throw error
      })
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: lanes }, lane))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}
