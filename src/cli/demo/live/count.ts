// What the upstreams have done, counted by what each effect is one of.
import type { Effect } from '../message.ts'

export interface EffectRow {
  readonly agent: Effect['agent']
  readonly service: string
  readonly effects: number
  /** How often something was done that had been done for the same run before. */
  readonly twice: number
}

export class EffectCount {
  private readonly rows = new Map<string, EffectRow>()
  private readonly done = new Set<string>()

  add({ agent, service, run, what }: Effect): void {
    const key = `${agent}/${service}`
    const subject = JSON.stringify([agent, run, what])
    const row = this.rows.get(key) ?? { agent, service, effects: 0, twice: 0 }
    const twice = row.twice + (this.done.has(subject) ? 1 : 0)
    this.done.add(subject)
    this.rows.set(key, { ...row, effects: row.effects + 1, twice })
  }

  list(): EffectRow[] {
    return [...this.rows.values()].sort((a, b) =>
      `${a.agent}/${a.service}` < `${b.agent}/${b.service}` ? -1 : 1,
    )
  }
}
