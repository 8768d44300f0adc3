// The tools of the programs that are foretold: one for every way in which a call can be on record,
// and an upstream that remembers what was sent.

import { NotSentError, RefusedError } from '../../../src/model/errors.ts'
import type { Context } from '../../../src/model/graph/context.ts'
import type { Graph } from '../../../src/model/graph/graph.ts'
import { canonical, sha256 } from '../../../src/model/json/canonical.ts'
import type { CallRecord } from '../../../src/model/run/records.ts'
import type { RiskPolicy } from '../../../src/model/tool/risk.ts'
import type { CallInfo } from '../../../src/model/tool/tool.ts'
import { type Fake, type FakeOptions, fake, flow, type Lab, work } from '../../lab.ts'
import { type CallNode, hash, type Program, run } from '../program.ts'

export interface Input {
  v: string
  site: string
  ms: number
  fails: boolean
}

type Value = { value: string }

const keyed = { idempotencyKey: (input: unknown) => JSON.stringify(input) }

/** What the programs call, by the class they ask for and how it hashes. */
const variants = {
  pure_a: ['look'],
  pure_b: ['look'],
  keyed_a: ['charge'],
  keyed_b: ['charge', 'brief', 'checked'],
  unsafe_a: ['send'],
  unsafe_b: ['send', 'probed', 'order', 'busy', 'held', 'slow'],
} as const

/** What the risk policy holds. */
export const policy: RiskPolicy = ({ tool }) => (tool === 'held' ? { ask: true } : 'run')

export class Upstream {
  readonly fakes = new Map<string, Fake<Value>>()
  /** Sites whose call may have happened. */
  readonly landed = new Set<string>()
  readonly probes: string[] = []
  /** What was asked for, in order: by which part of the program, and the hash of its words. */
  readonly sent: { readonly site: string; readonly inputHash: string }[] = []
  /** Of calls that are to be called back, by site. */
  readonly tokens = new Map<string, string>()
  private readonly sites = new Map<string, string>()
  private readonly refusals = new Set<string>()
  private readonly lab: Lab
  private readonly random: () => number

  constructor(lab: Lab, random: () => number) {
    this.lab = lab
    this.random = random
    const long = { keyTtlMs: 1e12, ...keyed }
    this.add('look', 'pure')
    this.add('charge', 'idempotent_with_key', long)
    this.add('brief', 'idempotent_with_key', { ...keyed, keyTtlMs: 2_500, timeoutMs: 400 })
    this.add('checked', 'idempotent_with_key', { ...long, probe: this.probe })
    this.add('send', 'unsafe_on_replay')
    this.add('probed', 'unsafe_on_replay', { probe: this.probe })
    this.add('order', 'unsafe_on_replay', { callbackMs: 20_000, heartbeatMs: 6_000 })
    const retry = { attemptMax: 3, backoffMs: 2_000, backoffMaxMs: 2_000 }
    this.add('busy', 'unsafe_on_replay', { retry })
    this.add('held', 'unsafe_on_replay')
    this.add('slow', 'unsafe_on_replay', { timeoutMs: 1_000 })
  }

  graph(program: () => Program): Graph {
    const tools = [...this.fakes.values()].map((each) => each.tool)
    return flow(tools, async (ctx) => {
      const env = { local: 'in', shared: { value: '0' } }
      await run(program(), env, this.machine(ctx))
    })
  }

  /** Which part of the program has made the call of this record. */
  siteOf({ tool, inputHash }: Pick<CallRecord, 'tool' | 'inputHash'>): string {
    return this.sites.get(inputHash) ?? tool
  }

  private machine(ctx: Context) {
    const call = async (node: CallNode, v: string) => {
      const kinds = variants[node.tool as keyof typeof variants]
      const name = kinds[Number.parseInt(hash(`${node.site}!`), 36) % kinds.length] ?? 'send'
      const tool = this.fakes.get(name)?.tool
      if (tool === undefined) throw new Error(name)
      const ms = name === 'brief' ? Math.min(node.latencyMs, 50) : node.latencyMs
      const input = { v, site: node.site, ms, fails: node.fails }
      this.sites.set(sha256(canonical(input)), node.site)
      return ctx.call(tool, input)
    }
    return {
      call,
      sleep: (ms: number) => work(this.lab, ms),
      durableSleep: async (ms: number) => {
        await ctx.sleep(ms)
      },
      signal: async (name: string, timeoutMs: number | null) => {
        if (name === 'y') return (await ctx.approval({ title: 'Go on?' })).outcome
        const options = timeoutMs === null ? {} : { timeoutMs }
        return (await ctx.signal(name, options)) === null ? null : 'came'
      },
      now: () => 0,
      nonce: () => '',
    }
  }

  private readonly probe = (raw: unknown) => {
    const { site } = raw as Input
    this.probes.push(site)
    if (this.random() < 0.3) return { landed: 'unknown' } as const
    const yes = { landed: 'yes', result: { value: site } } as const
    return this.landed.has(site) ? yes : ({ landed: 'no' } as const)
  }

  private add(name: string, replayClass: CallRecord['replayClass'], more: FakeOptions = {}): void {
    const does = (_n: number, input: unknown, call: CallInfo) => this.work(name, input, call)
    this.fakes.set(name, fake<Value>(this.lab, name, replayClass, { ...more, ms: 0, does }))
  }

  private async work(name: string, raw: unknown, call: CallInfo): Promise<Value | undefined> {
    const { site, ms, fails } = raw as Input
    this.sent.push({ site, inputHash: sha256(canonical(raw)) })
    if (name === 'busy' && !this.refusals.has(site)) {
      this.refusals.add(site)
      await work(this.lab, ms)
      throw new NotSentError('busy')
    }
    if (!fails) this.landed.add(site)
    await work(this.lab, name === 'slow' ? 3_000 : ms)
    if (fails) throw new RefusedError('no')
    if (name !== 'order') return { value: site }
    this.tokens.set(site, call.defer())
    return undefined
  }
}
