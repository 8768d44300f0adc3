// Figures of the Health page: looked at once a minute while the server runs, for an hour back.
import { iso } from '../client/wire/iso.ts'
import type { ServerParts } from './context.ts'
import { type Figures, readFigures } from './figures.ts'

const minuteMs = 60_000
const minutesMax = 60

interface Sample {
  readonly at: number
  readonly figures: Figures
}

export class Samples {
  private readonly parts: ServerParts
  private readonly kept = new Map<string, Sample[]>()
  private cancel = () => {}

  constructor(parts: ServerParts) {
    this.parts = parts
  }

  start(): void {
    const { clock, namespace } = this.parts
    const next = () => {
      this.cancel = clock.after(minuteMs, () => {
        next()
        // A store that cannot be reached leaves a gap.
        for (const name of new Set([namespace, ...this.kept.keys()])) {
          void this.take(name).catch(() => {})
        }
      })
    }
    next()
  }

  stop(): void {
    this.cancel()
  }

  async read(namespace: string) {
    const { at, figures } = await this.take(namespace)
    const kept = this.kept.get(namespace) ?? []
    const minutes = kept.map((sample) => ({ at: iso(sample.at), ...sample.figures }))
    return { at: iso(at), totals: figures, minutes }
  }

  /** One a minute is kept: the last look of it. */
  private async take(namespace: string): Promise<Sample> {
    const figures = await readFigures(this.parts, namespace)
    const sample = { at: this.parts.clock.now(), figures }
    const minute = (at: number) => Math.floor(at / minuteMs)
    const kept = (this.kept.get(namespace) ?? []).filter(
      ({ at }) => minute(at) !== minute(sample.at) && sample.at - at < minutesMax * minuteMs,
    )
    this.kept.set(namespace, [...kept, sample])
    return sample
  }
}
