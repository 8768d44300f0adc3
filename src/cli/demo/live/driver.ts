// Keeps a few agents going: starts runs, and plays the vendors who send their forms. It decides
// nothing: that is for whoever watches.
import { systemClock } from '../../../clock.ts'
import type { Counterfoil, Run } from '../../../index.ts'
import { Loop } from '../../../worker/loop.ts'
import type { Agents } from './agents.ts'

const everyMs = 2_000
/** Runs of one agent that have not ended: more would only bury the inbox. */
const liveMax = 3
/** A demo that was forgotten must not fill a disk. */
const runsMax = 2_000

const vendors = ['Acme Paper', 'Bolt & Nut', 'Cedar Foods', 'Delta Glass', 'Elm Timber']
const cities = ['Lisbon', 'Oslo', 'Turin', 'Ghent', 'Porto']
const customers = ['acme', 'globex', 'initech', 'umbrella', 'hooli']
const ended: readonly Run['state'][] = ['completed', 'failed', 'cancelled']

export class Driver {
  private readonly cf: Counterfoil
  private readonly agents: Agents
  private readonly loop: Loop
  private number = 0

  constructor(cf: Counterfoil, agents: Agents, onError: (error: unknown) => void) {
    this.cf = cf
    this.agents = agents
    const work = async () => {
      await this.turn()
      return everyMs
    }
    this.loop = new Loop({ clock: systemClock, work, onError, retryMs: everyMs })
  }

  start(): void {
    this.loop.start(0)
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async turn(): Promise<void> {
    const live = await this.liveRuns()
    for (const run of live) await this.sendForm(run)
    if (this.number >= runsMax) return
    const n = this.number
    const name = (['onboarding', 'trip', 'outreach'] as const)[n % 3] ?? 'trip'
    this.number++
    if (live.filter((run) => run.graph === name).length < liveMax) await this.begin(name, n)
  }

  private async liveRuns(): Promise<Run[]> {
    const filter = { namespace: 'default', newestFirst: true, countMax: 100 }
    const { items } = await this.cf.store.listRuns(filter)
    this.number = Math.max(this.number, ...items.map(({ runId }) => numberOf(runId) + 1))
    return items.filter((run) => !ended.includes(run.state))
  }

  private begin(name: keyof Agents, n: number): Promise<unknown> {
    const runId = `${name}-${String(n).padStart(4, '0')}`
    const pick = (list: readonly string[]) => list[Math.floor(n / 3) % list.length] ?? ''
    const inputs = {
      onboarding: { vendor: pick(vendors), usd: 84_000 + 500 * (n % 7), what: `lot ${n}` },
      trip: { traveller: `traveller-${n}@example.com`, to: pick(cities), nights: 1 + (n % 4) },
      outreach: { customer: `${pick(customers)}-${n}` },
    }
    return this.cf.start(this.agents[name], inputs[name], { runId })
  }

  /** Once for each run, whoever asks again: the signal has an id. */
  private async sendForm({ graph, runId, waitingFor }: Run): Promise<void> {
    if (graph !== 'onboarding' || waitingFor?.kind !== 'signal') return
    const n = numberOf(runId)
    const name = vendors[Math.floor(n / 3) % vendors.length]
    await this.cf.run(runId).signal('w9', { text: `${name} Inc., 12-${n}` }, { id: `${runId}:w9` })
  }
}

function numberOf(runId: string): number {
  return Number(/-(\d+)$/.exec(runId)?.[1] ?? -1)
}
