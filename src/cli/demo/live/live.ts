// The live demo: a server with its console, a worker, upstreams that count, and agents that go on
// until it is stopped. Whoever watches kills the worker and decides what it leaves behind.
import { iso } from '../../../client/wire/iso.ts'
import { open } from '../../../index.ts'
import { Children } from '../children.ts'
import type { Message } from '../message.ts'
import { readEffects, storeOf } from '../world.ts'
import { loadAgents } from './agents.ts'
import { EffectCount } from './count.ts'
import { Driver } from './driver.ts'
import { Plug } from './plug.ts'
import { type Kill, type KillMoment, Supervisor } from './supervisor.ts'

const killsShown = 20

export class Live {
  readonly cf: Awaited<ReturnType<typeof open>>
  private readonly children: Children
  private readonly supervisor: Supervisor
  private readonly driver: Driver
  private readonly count: EffectCount
  private readonly plug: Plug

  private constructor(parts: {
    cf: Live['cf']
    children: Children
    supervisor: Supervisor
    driver: Driver
    count: EffectCount
    plug: Plug
  }) {
    this.cf = parts.cf
    this.children = parts.children
    this.supervisor = parts.supervisor
    this.driver = parts.driver
    this.count = parts.count
    this.plug = parts.plug
  }

  static async begin(folder: string, onError: (error: unknown) => void): Promise<Live> {
    const children = new Children()
    const upstreams = children.spawn('live/upstreams', folder)
    const { env } = await upstreams.next('open')
    const agents = await loadAgents()
    const cf = await open({ store: storeOf(folder), graphs: Object.values(agents) })
    const supervisor = new Supervisor(children, folder, env)
    const count = new EffectCount()
    for (const effect of readEffects(folder)) count.add(effect)
    upstreams.onMessage = (message: Message) => {
      if (message.kind !== 'effect') return
      count.add(message.effect)
      supervisor.heard(message.effect)
    }
    await supervisor.ready()
    const driver = new Driver(cf, agents, onError)
    driver.start()
    return new Live({ cf, children, supervisor, driver, count, plug: new Plug(folder) })
  }

  kill(when: KillMoment): Promise<void> {
    return this.supervisor.kill(when)
  }

  pullThePlug(): Promise<void> {
    return this.plug.pull()
  }

  status() {
    const { worker, kills } = this.supervisor
    const effects = this.count.list()
    const sum = (key: 'effects' | 'twice') => effects.reduce((total, row) => total + row[key], 0)
    return {
      worker: {
        pid: worker.pid,
        started_at: iso(worker.startedAt),
        alive: worker.alive,
        armed: worker.armed,
      },
      kills: kills.slice(-killsShown).reverse().map(killJson),
      kill_count: kills.length,
      effects,
      total: { effects: sum('effects'), twice: sum('twice') },
      plug: this.plug.status(),
    }
  }

  async stop(): Promise<void> {
    this.supervisor.stop()
    this.plug.stop()
    await this.driver.stop()
    await this.children.endAll()
    await this.cf.close()
  }
}

function killJson({ at, pid, signal, after }: Kill) {
  return {
    at: iso(at),
    pid,
    signal,
    after: after && {
      agent: after.agent,
      service: after.service,
      run_id: after.run,
      result: after.result,
    },
  }
}
