// One schedule: a fleet of workers, hosts, clients and a person on one memory store, under one
// virtual time, with the faults of its plan. The same plan gives the same events, to the letter.
import { createHash } from 'node:crypto'
import { verifyLedger } from '../../../src/client/ledger/verify.ts'
import { openMemory } from '../../../src/store/memory/index.ts'
import { Worker } from '../../../src/worker/worker.ts'
import { Clients, type Foreign, Host } from './clients.ts'
import { judge } from './judge.ts'
import { Person } from './person.ts'
import type { Fault, Plan } from './plan.ts'
import { SimProcess, type Site } from './process.ts'
import { Code } from './program.ts'
import { clockOf, Schedule } from './schedule.ts'
import { Watch } from './watch.ts'
import { placeOf, World } from './world.ts'

const eventsMax = 8_000
export const leaseMs = 3_000
const pollMs = 1_000

export interface Outcome {
  /** What is wrong; empty for a schedule that went well. */
  readonly bad: readonly string[]
  readonly trace: string
  readonly lines: readonly string[]
  readonly events: number
  readonly happened: Site['happened']
  readonly faults: number
  readonly effects: number
  readonly late: number
  readonly doubts: number
  readonly falseDoubts: number
  readonly decisions: number
  readonly virtualMs: number
}

export async function runFleet(plan: Plan, { keep = false } = {}): Promise<Outcome> {
  const fleet = new Fleet(plan, keep)
  return fleet.run()
}

class Fleet {
  private readonly plan: Plan
  private readonly schedule = new Schedule()
  private readonly hash = createHash('sha256')
  private readonly lines: string[] = []
  private readonly keep: boolean
  private readonly site: Site
  private readonly world: World
  private readonly person: Person
  private readonly clients: Clients
  private readonly codes = new Map<string, Code>()
  private readonly foreign: Foreign[]
  private readonly processes: SimProcess[] = []
  private readonly roles = new Map<SimProcess, () => void>()

  constructor(plan: Plan, keep: boolean) {
    this.plan = plan
    this.keep = keep
    const { seed, local, faults, tooLate, hasty } = plan
    const server = { name: 'server', dead: false, frozenUntil: 0 }
    const clock = clockOf(this.schedule, server, `${seed} server`)
    const trace = (line: string) => this.note(line)
    this.site = {
      ...{ schedule: this.schedule, seed, local, faults, trace },
      store: openMemory({ clock: { ...clock, now: () => this.schedule.time } }),
      watch: new Watch(trace),
      standing: new Map(),
      passed: { boundaries: 0 },
      happened: { crash: 0, stall: 0, lost: 0, locked: 0, unheard: 0 },
      onFault: (process, fault) => this.strike(process, fault),
    }
    this.world = new World(this.schedule, seed, tooLate, {
      trace,
      onSend: (call, input, process) => {
        const { runId } = call
        const seen = this.codes.get(process.name)?.seenBefore(runId, input) ?? []
        this.site.watch.sent(runId, placeOf(call), seen)
        ;(process as SimProcess).boundary()
      },
      callBack: (token, result) => this.clients.callBack(token, result),
    })
    const person = new SimProcess(this.site, 'person', false)
    this.person = new Person(this.site, this.world, person, hasty)
    this.clients = new Clients(this.site, new SimProcess(this.site, 'clients', false))
    this.foreign = plan.runs
      .filter((run) => run.kind === 'scope')
      .map((run) => ({ plan: run, part: 0, local: 'in' }))
  }

  async run(): Promise<Outcome> {
    const { plan, schedule } = this
    for (let i = 0; i < plan.workers; i++) this.startWorker()
    for (const foreign of this.foreign) this.startHost(foreign)
    const [first] = this.codes.values()
    this.clients.begin(plan.runs, first?.graphs ?? [])
    this.person.begin()
    const from = schedule.time
    const ended = await schedule.run(() => this.isOver(), eventsMax)
    const tookMs = schedule.time - from
    const { events } = schedule
    // What is on the wire lands, whoever is left to hear of it.
    const landed = await schedule.run(() => schedule.outside === 0, events + 2_000)
    for (const process of this.processes) process.dead = true
    const bad = await this.judge(ended && landed)
    const { doubts, falseDoubts, decisions } = this.person.asked
    const { happened } = this.site
    const { crash, stall, lost, locked } = happened
    return {
      ...{ bad, events, happened, doubts, falseDoubts, decisions },
      trace: this.hash.update(bad.join()).digest('hex'),
      lines: this.lines,
      faults: crash + stall + lost + locked,
      effects: this.world.landings.length,
      late: this.world.late,
      virtualMs: tookMs,
    }
  }

  private async judge(ended: boolean): Promise<string[]> {
    const { store, watch } = this.site
    const { items: runs } = await store.listRuns({ namespace: 'default', countMax: 200 })
    const { findings } = await verifyLedger(store, { namespace: 'default' })
    const found = judge({
      ...{ plan: this.plan, runs, settled: watch.settled, failed: watch.failed },
      landings: this.world.landings,
      unlooked: this.person.unlooked,
    })
    return [
      ...new Set([
        ...(ended ? [] : [`DID NOT END: ${runs.map((run) => `${run.runId} ${run.state}`)}`]),
        ...[...this.notes(), ...found],
        ...findings.map(({ runId, kind, message }) => `LEDGER ${kind}: ${runId} ${message}`),
      ]),
    ]
  }

  /** Also once something is wrong: what follows from that says nothing. */
  private isOver(): boolean {
    if (this.notes().length > 0) return true
    if (this.foreign.some(({ part, plan }) => part < plan.parts.length)) return false
    return this.site.watch.ended(this.plan.runs.filter((run) => run.kind !== 'scope'))
  }

  private notes(): string[] {
    return [...this.site.watch.notes, ...this.world.notes, ...this.person.notes]
  }

  private make(kind: string): { process: SimProcess; code: Code } {
    const index = this.processes.length
    const process = new SimProcess(this.site, `${kind}${index}`, true)
    const code = new Code({ world: this.world, watch: this.site.watch, process })
    this.processes.push(process)
    this.codes.set(process.name, code)
    return { process, code }
  }

  private startWorker(): void {
    const { process, code } = this.make('w')
    const engine = process.engine(code.graphs)
    const { concurrency } = this.plan
    const onError = () => {}
    const parts = { onError, retention: null, enter: async () => {}, liveness: process.liveness() }
    const worker = new Worker(engine, { concurrency, leaseMs, pollMs }, parts)
    const begin = () => {
      worker.start().catch(() => process.clock.after(50, () => this.replace(process)))
    }
    // One that is dead on record cannot go on: its supervisor starts another.
    void worker.died.then(() => process.clock.after(10, () => this.replace(process)))
    this.roles.set(process, () => this.startWorker())
    begin()
  }

  private startHost(foreign: Foreign): void {
    const { process, code } = this.make('h')
    this.roles.set(process, () => this.startHost(foreign))
    void new Host(this.site, process, code).run(foreign)
  }

  private replace(process: SimProcess): void {
    if (process.dead) return
    process.dead = true
    this.roles.get(process)?.()
  }

  private strike(process: SimProcess, fault: Fault): void {
    if (process.dead) return
    const { schedule } = this
    this.note(`${process.name} ${fault.kind} at ${fault.boundary}`)
    this.site.happened[fault.kind]++
    const again = this.roles.get(process)
    if (fault.kind === 'crash') {
      process.dead = true
      if (again) schedule.at(null, fault.restartMs, again)
    } else if (fault.kind === 'stall') {
      process.freeze(fault.ms, fault.deafMs)
      // Somebody else is sent for meanwhile; the other may come back.
      if (process.name.startsWith('h') && again) schedule.at(null, 200, again)
    }
  }

  private note(line: string): void {
    const text = `${this.schedule.time - 1_700_000_000_000} ${line}`
    this.hash.update(text)
    if (this.keep) this.lines.push(text)
  }
}
