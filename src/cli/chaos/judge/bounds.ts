// How often something happens without any crash. Two uninterrupted runs need not agree: one that
// takes another way by itself is no worse for it, and neither is one that was killed.

/** What one run did for a tool and an input. */
export interface Counted {
  readonly tool: string
  readonly input: unknown
  readonly asks: number
  readonly effects: number
}

export interface Bounds {
  readonly tool: string
  readonly input: unknown
  /** The most of both. */
  readonly asks: number
  readonly least: number
  readonly most: number
}

type Counts = ReadonlyMap<string, Counted>

export function boundsOf(first: Counts, second: Counts): Map<string, Bounds> {
  const places = [...new Set([...first.keys(), ...second.keys()])]
  return new Map(
    places.map((place) => {
      const [a, b] = [first.get(place), second.get(place)]
      const { tool, input } = (a ?? b) as Counted
      const effects = [a?.effects ?? 0, b?.effects ?? 0]
      const asks = Math.max(a?.asks ?? 0, b?.asks ?? 0)
      return [place, { tool, input, asks, ...limitsOf(effects) }]
    }),
  )
}

export function limitsOf(counts: readonly number[]): { least: number; most: number } {
  return { least: Math.min(...counts), most: Math.max(...counts) }
}

/** `mail {"to":"acme"}` */
export function whatOf(tool: string, input: unknown): string {
  return input === null ? tool : `${tool} ${JSON.stringify(input)}`
}

export function times(count: number): string {
  return ['never', 'once', 'twice'][count] ?? `${count} times`
}

/** What is compared less strictly is told. */
export function waveringNotes(bounds: Iterable<Bounds>): string[] {
  const wavering = [...bounds].filter(({ least, most }) => least < most)
  return wavering.map(
    ({ tool, input, least, most }) =>
      `${whatOf(tool, input)} moves by itself: without a crash it happened ${times(least)} or ` +
      `${times(most)}, so neither is taken for the work of one`,
  )
}
