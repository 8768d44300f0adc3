// What is said of each tool: its effects, its doubts, and whether its class holds.
import type { ReplayClass } from '../../../model/tool/tool.ts'
import type { Judge } from '../judge/judge.ts'
import type { Seen, Tried } from '../judge/seen.ts'
import { countOf } from '../judge/totals.ts'
import type { Plan } from '../plan.ts'
import type { ChaosTool, Holds } from './report.ts'

export function toolsOf(judge: Judge, points: readonly Tried[], plan: Plan): ChaosTool[] {
  const { reference } = judge
  const all = [reference, ...points.flatMap(({ seen }) => seen ?? [])]
  const classes = new Map<string, ReplayClass | null>()
  for (const { driven } of all) {
    for (const { tool, replayClass } of driven.entries) classes.set(tool, replayClass)
  }
  return [...classes].map(([tool, replayClass]) => toolOf(tool, replayClass, judge, points, plan))
}

function toolOf(
  tool: string,
  replayClass: ReplayClass | null,
  judge: Judge,
  points: readonly Tried[],
  plan: Plan,
): ChaosTool {
  const { totals } = judge.reference.driven
  const was = [...ofTool(judge.count(judge.reference), tool).values()]
  const others = points.flatMap(({ seen }) => (seen ? [compared(judge, seen, tool)] : []))
  const found = points.flatMap(({ findings }) => findings).filter((one) => one.tool === tool)
  const kinds = (...names: string[]) => found.filter(({ kind }) => names.includes(kind)).length
  const doubts = points.flatMap((point) => point.doubts).filter((one) => one.tool === tool)
  const sentAgain = sum(others.map(({ again }) => again))
  const upstream = plan.upstreamOf(tool, replayClass)
  const duplicates = kinds('duplicate')
  // Another way after a crash is the node's doing, unless nobody stands between it and the tool.
  const bad = duplicates + kinds('key') + (replayClass === null ? kinds('strange') : 0)
  const counted = countOf(totals, tool) !== undefined
  // The mock of a pure tool that says nothing is taken to do nothing: that shows nothing.
  const told = replayClass !== 'pure' || judge.isOutspoken(tool)
  const visible = counted || (upstream === 'mock' && told)
  const caught = doubts.length > 0 || sentAgain > 0 || points.some((one) => isCaught(one, tool))
  const effects = countOf(totals, tool) ?? sum(was.map((row) => row.effects))
  return {
    tool,
    replayClass,
    upstream,
    sentAgain,
    duplicates,
    lost: kinds('lost'),
    calls: sum(was.map(({ asks }) => asks)),
    effects,
    effectsMax: Math.max(Math.min(1, effects), ...others.map(({ most }) => most)),
    doubts: doubts.length,
    doubtsInVain: doubts.filter(({ happened }) => !happened).length,
    holds: holdsOf(replayClass, { bad, sentAgain, visible, caught }),
  }
}

/** How often calls of the tool were sent once more, and the most effects that one of them had. */
function compared(judge: Judge, seen: Seen, tool: string): { again: number; most: number } {
  const was = ofTool(judge.bounds(), tool)
  const rows = [...ofTool(judge.count(seen), tool)]
  const over = rows.map(([place, { asks }]) => Math.max(0, asks - (was.get(place)?.asks ?? 1)))
  const counted = countOf(seen.driven.totals, tool)
  const most =
    counted === undefined
      ? rows.map(([place, { effects }]) => mostOf(effects, was.get(place)?.most ?? 0))
      : [mostOf(counted, judge.totalsOf(tool)?.most ?? 0)]
  // A function that was cut counts as begun; where the sandbox counts, only that is believed.
  const calls = counted === undefined ? judge.calls(seen) : []
  const ofOne = calls.flatMap((call) => (call.tool === tool ? call.times : []))
  return { again: sum(over), most: Math.max(0, ...most, ...ofOne) }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, number) => all + number, 0)
}

/** The most effects of one call, where so many calls are alike. */
function mostOf(effects: number, expected: number): number {
  return effects > expected ? effects - Math.max(0, expected - 1) : Math.min(1, effects)
}

function ofTool<T extends { tool: string }>(
  counts: ReadonlyMap<string, T>,
  tool: string,
): Map<string, T> {
  return new Map([...counts].filter(([, row]) => row.tool === tool))
}

/** Whether a death fell between an intent of the tool and its receipt. */
function isCaught({ deaths, seen }: Tried, tool: string): boolean {
  const probed = seen?.driven.entries.some((entry) => entry.tool === tool && entry.what === 'probe')
  const between = deaths.some((death) => {
    if (death === `before ${tool}` || death === `after ${tool}`) return true
    const [, when, parts = ''] = /^(before|after) commit \((.*)\)$/.exec(death) ?? []
    const words = when === 'after' ? ['intent'] : ['receipt', 'failure']
    return words.some((word) => parts.split(', ').includes(`${word} of ${tool}`))
  })
  return probed === true || between
}

function holdsOf(
  replayClass: ReplayClass | null,
  seen: { bad: number; sentAgain: number; visible: boolean; caught: boolean },
): Holds {
  if (seen.bad > 0) return 'no'
  if (replayClass === 'unsafe_on_replay') return seen.caught ? 'yes' : 'not_tried'
  if (seen.sentAgain === 0) return 'not_tried'
  return seen.visible ? 'yes' : 'assumed'
}
