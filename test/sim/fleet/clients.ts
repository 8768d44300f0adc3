// Those who use a fleet from outside: whoever starts runs, sends signals, calls back, and the hosts
// of foreign workflows. Whoever is not answered asks again.
import { Callbacks } from '../../../src/client/callbacks.ts'
import { sendSignal } from '../../../src/client/run/signal.ts'
import { startRun } from '../../../src/client/run/start.ts'
import { Scope } from '../../../src/client/scope.ts'
import { type CounterfoilError, isCounterfoilError } from '../../../src/model/errors.ts'
import type { Graph } from '../../../src/model/graph/graph.ts'
import { Scopes } from '../../../src/worker/scopes.ts'
import { type RunPlan, stepsOf } from './plan.ts'
import type { SimProcess, Site } from './process.ts'
import type { Code } from './program.ts'
import { stream } from './schedule.ts'
import type { SimResult } from './world.ts'

/** Again until it is answered; an error of ours is an answer. */
async function insist(
  { schedule }: Site,
  self: SimProcess,
  work: () => Promise<unknown>,
): Promise<CounterfoilError | null> {
  for (;;) {
    try {
      await work()
      return null
    } catch (error) {
      if (isCounterfoilError(error)) return error
      await schedule.pause(self, 100)
    }
  }
}

export class Clients {
  private readonly site: Site
  private readonly self: SimProcess
  private readonly random: () => number

  constructor(site: Site, self: SimProcess) {
    this.site = site
    this.self = self
    this.random = stream(`${site.seed} clients`)
  }

  begin(runs: readonly RunPlan[], graphs: readonly Graph[]): void {
    for (const run of runs) {
      if (run.kind !== 'scope') void this.start(run, graphs)
      for (const part of run.parts) {
        for (const step of stepsOf(part)) {
          if (step.op === 'signal') void this.signal(run, step.name, step.timeoutMs === null)
        }
      }
    }
  }

  callBack(token: string, result: SimResult): void {
    const { store, clock } = this.self
    const client = { store, clock, namespace: 'default', graphs: new Map() }
    const callbacks = new Callbacks({ ...client, checkWorkers: async () => {} })
    void insist(this.site, this.self, () => callbacks.settle(token, result))
  }

  private async start({ runId, kind, parts, startMs }: RunPlan, graphs: readonly Graph[]) {
    const { store, clock } = this.self
    const [flow, graph] = graphs as [Graph, Graph]
    const input = kind === 'graph' ? { parts, local: 'in' } : { steps: parts[0] }
    const of = kind === 'graph' ? graph : flow
    await this.site.schedule.pause(this.self, startMs)
    const start = () => startRun(store, clock, of, input, { namespace: 'default', runId })
    await insist(this.site, this.self, start)
    // A queue that delivers at least once starts it twice.
    if (this.random() < 0.2) await insist(this.site, this.self, start)
  }

  /** At any moment, also before the run is there; some that are waited for in vain never come. */
  private async signal({ runId }: RunPlan, name: string, needed: boolean): Promise<void> {
    const { store, clock } = this.self
    const drawn = this.random()
    const times = this.random() < 0.3 ? 2 : 1
    if (!needed && drawn < 0.3) return
    await this.site.schedule.pause(this.self, Math.floor(drawn * 2_500))
    for (let sent = 0; sent < times; ) {
      const ref = { namespace: 'default', runId }
      const send = () => sendSignal({ store, clock }, ref, name, null, { id: `s-${name}` })
      const said = await insist(this.site, this.self, send)
      if (said?.code !== 'RUN_NOT_FOUND') sent++
      else await this.site.schedule.pause(this.self, 50)
    }
  }
}

/** A foreign workflow: its own checkpoints say which part it is at, whoever hosts it. */
export interface Foreign {
  readonly plan: RunPlan
  part: number
  local: string
}

export class Host {
  private readonly site: Site
  private readonly self: SimProcess
  private readonly code: Code
  private readonly scopes: Scopes

  constructor(site: Site, self: SimProcess, code: Code) {
    this.site = site
    this.self = self
    this.code = code
    this.scopes = new Scopes(self.engine([]), () => {}, self.liveness())
  }

  async run(foreign: Foreign): Promise<void> {
    const { schedule } = this.site
    await schedule.pause(this.self, foreign.plan.startMs)
    while (foreign.part < foreign.plan.parts.length) {
      try {
        await this.visit(foreign)
      } catch (error) {
        const known = isCounterfoilError(error) || /the line/.test(String(error))
        if (!known) this.site.watch.notes.push(`A SCOPE FAILED: ${String(error)}`)
        await schedule.pause(this.self, 200)
      }
    }
  }

  private async visit(foreign: Foreign): Promise<void> {
    const { plan, part, local } = foreign
    const { runId } = plan
    const ids = { workflowId: runId, nodeId: `n${part}`, checkpointId: `c${part}` }
    const scope = new Scope(await this.scopes.open(ids), ids)
    try {
      const observed = this.site.watch.begin(this.self, runId, part + 1)
      const call: Scope['call'] = (which, input) => scope.call(which, input)
      const place = { runId, visit: part + 1, observed, call, ctx: null }
      const end = await this.code.run(
        place as Parameters<Code['run']>[0],
        plan.parts[part] ?? [],
        local,
      )
      // The runtime's own checkpoint: another host may have written it first.
      if (foreign.part !== part) return
      foreign.part = part + 1
      foreign.local = end
    } finally {
      await scope.close()
    }
  }
}
