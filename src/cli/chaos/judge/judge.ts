// What an uninterrupted run was like, and what is wrong with one that was killed. Effects are
// counted by tool and input, and compared with the uninterrupted run's: more is a duplicate, fewer
// is lost.
import { canonical } from '../../../model/json/canonical.ts'
import type { ChaosDoubt, ChaosFinding } from '../report/report.ts'
import type { Entry } from '../types.ts'
import { unguarded } from '../upstream.ts'
import { type Bounds, boundsOf, type Counted, limitsOf, times, whatOf } from './bounds.ts'
import { collisions } from './collisions.ts'
import { isWithin } from './compare.ts'
import { endsDiffer, shownDifferences } from './end.ts'
import { nameless } from './nameless.ts'
import { movingParts, withoutParts } from './restless.ts'
import type { Driven, Seen } from './seen.ts'
import { countOf } from './totals.ts'

export type UpstreamKind = 'mock' | 'recorded' | 'real'

export interface JudgeOptions {
  readonly upstreamOf: (tool: string, replayClass: string | null) => UpstreamKind
  /** Paths of the end that are not compared. */
  readonly ignore: readonly string[]
}

export class Judge {
  readonly moving: readonly string[]
  readonly reference: Seen
  private readonly second: Seen
  private readonly options: JudgeOptions
  /** Tools whose inputs move without any crash: they are counted without what moves of them. */
  private readonly restless = new Map<string, ReadonlySet<string> | 'all'>()
  /** Tools whose mock says what it does. */
  private readonly outspoken = new Set<string>()

  constructor(first: Seen, second: Seen, options: JudgeOptions) {
    this.reference = first
    this.second = second
    this.options = options
    for (const { driven } of [first, second]) this.hear(driven.entries)
    // What still differs without the parts that move is counted by its tool alone.
    for (const tool of this.restlessTools(first, second)) {
      const inputs = [first, second].map((seen) => inputsOf(seen, tool))
      this.restless.set(tool, movingParts(inputs[0] ?? [], inputs[1] ?? []))
    }
    for (const tool of this.restlessTools(first, second)) this.restless.set(tool, 'all')
    this.moving = endsDiffer(first, second).map(({ path }) => path)
  }

  /** Whether the tool's mock has ever said what it does. */
  isOutspoken(tool: string): boolean {
    return this.outspoken.has(tool)
  }

  /** By tool and input. */
  count({ runId, driven }: Seen): Map<string, Counted> {
    this.hear(driven.entries)
    const counts = new Map<string, Counted>()
    const keys = new Set<string>()
    for (const entry of driven.entries) {
      if (entry.what !== 'run') continue
      const { tool } = entry
      const input = this.still(tool, nameless(entry.input, runId))
      const place = canonical([tool, input])
      const old = counts.get(place) ?? { tool, input, asks: 0, effects: 0 }
      const effects = old.effects + this.effectsOf(entry, keys)
      counts.set(place, { ...old, asks: old.asks + 1, effects })
    }
    return counts
  }

  /** How often each thing happens without a crash, by tool and input. */
  bounds(): Map<string, Bounds> {
    return boundsOf(this.count(this.reference), this.count(this.second))
  }

  /** The sandbox's own count without a crash; null if nobody counts the tool there. */
  totalsOf(tool: string): { least: number; most: number } | null {
    const totals = [this.reference, this.second].map(({ driven }) => countOf(driven.totals, tool))
    return totals.includes(undefined) ? null : limitsOf(totals as number[])
  }

  /** Calls that went through the gate, and at how many of their attempts something happened. */
  calls({ runId, driven }: Seen): { tool: string; input: unknown; times: number }[] {
    const calls = new Map<string, { tool: string; input: unknown; times: number }>()
    const keys = new Set<string>()
    for (const entry of driven.entries) {
      const { what, tool, callId } = entry
      if (what !== 'run' || callId.startsWith(unguarded)) continue
      if (this.effectsOf(entry, keys) === 0) continue
      const id = `${entry.runId}/${callId}`
      const input = this.still(tool, nameless(entry.input, runId))
      calls.set(id, { tool, input, times: (calls.get(id)?.times ?? 0) + 1 })
    }
    return [...calls.values()]
  }

  findings(seen: Seen): ChaosFinding[] {
    const { driven } = seen
    const asked = driven.doubts.filter(isOdd).map(({ tool, reason, title }): ChaosFinding => {
      const kind = reason === 'drift' ? 'drift' : 'doubt'
      const why = kind === 'drift' ? 'at its resume the run did not do what is on record' : reason
      return { kind, tool, message: `${why}: ${title}` }
    })
    const effects = this.effectFindings(seen)
    const twice = effects.filter(({ kind }) => kind === 'duplicate' || kind === 'strange')
    const keys = this.keyFindings(seen)
    if (driven.passedOver.length > 0) {
      asked.push({ kind: 'end', tool: null, message: passedOverText(driven) })
    }
    // A run that was given up has lost what it had not come to, and has another end.
    if (asked.length > 0) return [...asked, ...twice, ...keys]
    return [...effects, ...keys, ...this.endFindings(seen)]
  }

  private effectFindings(seen: Seen): ChaosFinding[] {
    const [was, is] = [this.bounds(), this.count(seen)]
    const { totals } = seen.driven
    const counted = Object.keys(totals ?? {})
    const places = [...new Set([...was.keys(), ...is.keys()])]
    const byCall = places.flatMap((place) => {
      const { tool, input } = (was.get(place) ?? is.get(place)) as Counted | Bounds
      if (counted.includes(tool)) return []
      const { least = 0, most = 0 } = was.get(place) ?? {}
      return effectFinding(tool, whatOf(tool, input), { least, most }, is.get(place)?.effects ?? 0)
    })
    const bySandbox = counted.flatMap((tool) => {
      const limits = this.totalsOf(tool) ?? { least: 0, most: 0 }
      return effectFinding(tool, tool, limits, countOf(totals, tool) ?? 0)
    })
    const found = [...byCall, ...bySandbox]
    const known = new Set(found.filter(({ kind }) => kind === 'duplicate').map(({ tool }) => tool))
    // Also what happens twice without a crash, or beside the loss of another call just like it.
    const repeated = this.calls(seen).flatMap(({ tool, input, times: n }): ChaosFinding[] => {
      if (n < 2 || known.has(tool) || counted.includes(tool)) return []
      const message = `one call of ${whatOf(tool, input)} happened ${times(n)}`
      return [{ kind: 'duplicate', tool, message }]
    })
    return [...found, ...repeated]
  }

  /** An upstream that honours keys does nothing for the second input under one key. */
  private keyFindings({ runId, driven }: Seen): ChaosFinding[] {
    const counted = Object.keys(driven.totals ?? {})
    const sent = driven.entries.filter(
      ({ what, key, tool, replayClass, reply }) =>
        what === 'run' &&
        key !== null &&
        replayClass !== 'pure' &&
        reply?.ok === true &&
        !counted.includes(tool),
    )
    const keys = new Set<string>()
    return collisions(sent.map((entry) => ({ entry, effects: this.effectsOf(entry, keys) }))).map(
      ({ tool, key, done, input }) => {
        const [first, second] = [done, input].map((one) => JSON.stringify(nameless(one, runId)))
        const name = JSON.stringify(nameless(key, runId))
        const message = `one key, two inputs: ${tool} did ${first} for ${name}, so never ${second}`
        return { kind: 'key', tool, message }
      },
    )
  }

  private restlessTools(first: Seen, second: Seen): string[] {
    const [a, b] = [this.count(first), this.count(second)]
    return [...new Set([...restlessIn(a, b), ...restlessIn(b, a)])]
  }

  private still(tool: string, input: unknown): unknown {
    const parts = this.restless.get(tool)
    if (parts === undefined) return input
    return parts === 'all' ? null : withoutParts(input, parts)
  }

  private endFindings(seen: Seen): ChaosFinding[] {
    const found = endsDiffer(this.reference, seen).filter(
      ({ path }) => !isWithin(path, [...this.moving, ...this.options.ignore]),
    )
    if (found.length === 0) return []
    return [{ kind: 'end', tool: null, message: `the end differs: ${shownDifferences(found)}` }]
  }

  private hear(entries: readonly Entry[]): void {
    for (const { tool, effects } of entries) if (effects !== null) this.outspoken.add(tool)
  }

  private effectsOf(entry: Entry, keys: Set<string>): number {
    const { tool, replayClass, key, effects, reply } = entry
    if (effects !== null) return effects
    if (this.outspoken.has(tool) || replayClass === 'pure') return 0
    const upstream = this.options.upstreamOf(tool, replayClass)
    // A mock that threw did nothing, unless it says so. A function that died half-way may have.
    if (reply !== null && !reply.ok) return 0
    if (reply === null && upstream !== 'real') return 0
    if (key === null || upstream === 'mock') return 1
    // Nobody can see what became of a key: it is taken to be honoured.
    const name = `${tool}/${key}`
    if (keys.has(name)) return 0
    keys.add(name)
    return 1
  }
}

/** A doubt that no crash explains; the run is abandoned for it. */
export function isOdd({ reason }: ChaosDoubt): boolean {
  return reason !== 'unknown' && reason !== 'poison'
}

/** An agent that has taken what a person must decide for an answer. */
export function passedOverText({ passedOver }: Driven): string {
  return (
    `the agent came to its end while a person was being asked (${passedOver.join('; ')}): a real ` +
    'host would not call it again. Let REPLAY_UNSAFE through, and return what a graph has ' +
    'returned, with its interrupts'
  )
}

function effectFinding(
  tool: string,
  what: string,
  { least, most }: { least: number; most: number },
  is: number,
): ChaosFinding[] {
  if (is >= least && is <= most) return []
  const finding = (kind: ChaosFinding['kind'], message: string) => [{ kind, tool, message }]
  const otherwise = (was: number) => `${what} happened ${times(is)} instead of ${times(was)}`
  if (is < least) return finding('lost', otherwise(least))
  if (most > 0) return finding('duplicate', otherwise(most))
  return finding('strange', `${what} happened, and never does without a crash`)
}

function inputsOf({ runId, driven }: Seen, tool: string): unknown[] {
  const entries = driven.entries.filter((entry) => entry.what === 'run' && entry.tool === tool)
  return entries.map(({ input }) => nameless(input, runId))
}

/** Tools that did something for an input which the other run never had. */
function restlessIn(a: Map<string, Counted>, b: Map<string, Counted>): string[] {
  return [...a].filter(([place]) => !b.has(place)).map(([, { tool }]) => tool)
}
