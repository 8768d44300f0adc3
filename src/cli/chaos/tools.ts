// What is said of each tool: its effects, its doubts, and whether its class holds.
import type { ReplayClass } from '../../model/tool.ts'
import type { Plan, Tried } from './chaos.ts'
import type { Counted, Judge, Seen } from './judge.ts'
import type { ChaosTool, Holds } from './report.ts'

export function toolsOf(judge: Judge, points: readonly Tried[], plan: Plan): ChaosTool[] {
  const { reference } = judge
  const all = [reference, ...points.flatMap(({ seen }) => seen ?? [])]
  const classes = new Map<string, ReplayClass>()
  for (const { driven } of all) {
    for (const { tool, replayClass } of driven.entries) classes.set(tool, replayClass)
  }
  return [...classes].map(([tool, replayClass]) => toolOf(tool, replayClass, judge, points, plan))
}

function toolOf(
  tool: string,
  replayClass: ReplayClass,
  judge: Judge,
  points: readonly Tried[],
  plan: Plan,
): ChaosTool {
  const { reference } = judge
  const was = ofTool(judge.count(reference), tool)
  const counts = points.flatMap(({ seen }) => (seen ? [{ seen, ...again(seen, was) }] : []))
  function again(seen: Seen, before: ReadonlyMap<string, Counted>) {
    const rows = [...ofTool(judge.count(seen), tool)]
    const over = rows.map(([place, row]) => {
      const old = before.get(place)
      const asks = Math.max(0, row.asks - (old?.asks ?? 0))
      return { asks, most: mostOf(row.effects, old?.effects ?? 0) }
    })
    const sandbox = seen.driven.totals?.[tool]
    const total = sandbox === undefined ? 0 : mostOf(sandbox, reference.driven.totals?.[tool] ?? 0)
    return {
      asks: over.reduce((sum, { asks }) => sum + asks, 0),
      most: sandbox === undefined ? Math.max(0, ...over.map(({ most }) => most)) : total,
    }
  }
  const found = points.flatMap(({ findings }) => findings).filter((one) => one.tool === tool)
  const kinds = (...names: string[]) => found.filter(({ kind }) => names.includes(kind)).length
  const doubts = points.flatMap((point) => point.doubts).filter((one) => one.tool === tool)
  const sentAgain = counts.reduce((sum, { asks }) => sum + asks, 0)
  const upstream = plan.upstreamOf(tool, replayClass)
  const duplicates = kinds('duplicate', 'strange')
  const seenBySandbox = reference.driven.totals?.[tool] !== undefined
  const visible = upstream === 'mock' || seenBySandbox
  const sums = [...was.values()]
  return {
    ...{ tool, replayClass, upstream, sentAgain, duplicates, lost: kinds('lost') },
    calls: sums.reduce((sum, { asks }) => sum + asks, 0),
    effects: reference.driven.totals?.[tool] ?? sums.reduce((sum, { effects }) => sum + effects, 0),
    effectsMax: Math.max(...sums.map(({ effects }) => mostOf(effects, effects)), 0, ...mosts()),
    doubts: doubts.length,
    doubtsInVain: doubts.filter(({ happened }) => !happened).length,
    holds: holdsOf(replayClass, { duplicates, sentAgain, visible }),
  }
  function mosts(): number[] {
    return counts.map(({ most }) => most)
  }
}

/** The most effects of one call, where so many calls are alike. */
function mostOf(effects: number, expected: number): number {
  return effects > expected ? effects - Math.max(0, expected - 1) : Math.min(1, effects)
}

function ofTool(counts: ReadonlyMap<string, Counted>, tool: string): Map<string, Counted> {
  return new Map([...counts].filter(([, row]) => row.tool === tool))
}

function holdsOf(
  replayClass: ReplayClass,
  seen: { duplicates: number; sentAgain: number; visible: boolean },
): Holds {
  if (seen.duplicates > 0) return 'no'
  if (replayClass === 'unsafe_on_replay') return 'yes'
  if (seen.sentAgain === 0) return 'not_tried'
  return seen.visible ? 'yes' : 'assumed'
}
