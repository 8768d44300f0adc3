// Figures of the Health page: looked at once a minute while the server runs, for an hour back.
import { iso } from '../../client/wire/iso.ts'
import type { ServerParts } from '../parts.ts'
import { type Figures, readFigures, type Scope } from './figures.ts'

const minuteMs = 60_000
const minutesMax = 60

interface Sample {
  readonly at: number
  readonly figures: Figures
}

export class Samples {
  private readonly parts: ServerParts
  private readonly kept = new Map<string, { scope: Scope; samples: Sample[] }>()
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
        const asked = [...this.kept.values()].map(({ scope }) => scope)
        for (const scope of asked.length > 0 ? asked : [{ namespace, wide: true }]) {
          void this.take(scope).catch(() => {})
        }
      })
    }
    next()
  }

  stop(): void {
    this.cancel()
  }

  async read(scope: Scope) {
    const { at, figures } = await this.take(scope)
    const kept = this.kept.get(keyOf(scope))?.samples ?? []
    const minutes = kept.map((sample) => ({ at: iso(sample.at), ...sample.figures }))
    return { at: iso(at), totals: figures, minutes }
  }

  /** One a minute is kept: the last look of it. */
  private async take(scope: Scope): Promise<Sample> {
    const figures = await readFigures(this.parts, scope)
    const sample = { at: this.parts.clock.now(), figures }
    const minute = (at: number) => Math.floor(at / minuteMs)
    const samples = (this.kept.get(keyOf(scope))?.samples ?? []).filter(
      ({ at }) => minute(at) !== minute(sample.at) && sample.at - at < minutesMax * minuteMs,
    )
    const key = keyOf(scope)
    if (this.kept.has(key) || this.kept.size < scopesMax) {
      this.kept.set(key, { scope, samples: [...samples, sample] })
    }
    return sample
  }
}

/** More namespaces than these are looked at when asked, and not remembered. */
const scopesMax = 100

const keyOf = ({ namespace, wide }: Scope) => JSON.stringify([namespace, wide])
