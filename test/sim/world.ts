// The upstreams: every attempt that was sent, whether its effect landed, and what it answered. It
// outlives the worker: a sent attempt may land after a crash.
import type { LiveCall } from '../../src/engine/attempt/attempt.ts'
import { RefusedError } from '../../src/model/errors.ts'
import type { CallInfo } from '../../src/model/tool/tool.ts'
import type { VirtualClock } from './clock.ts'
import type { CallNode } from './program.ts'

export interface SimInput {
  v: string
}

export interface SimResult {
  site: string
  input: string
  value: string
}

export interface SentAttempt {
  readonly node: CallNode
  readonly input: string
  readonly key: string | null
  landed: SimResult | null
  over: boolean
}

export interface Landing {
  site: string
  tool: string
  input: string
  unsafe: boolean
}

export class World {
  readonly attempts = new Map<string, SentAttempt>()
  readonly landings: Landing[] = []
  readonly sentTwice: string[] = []
  random: () => number
  private readonly byKey = new Map<string, SimResult>()

  constructor(random: () => number) {
    this.random = random
  }

  nonce(): string {
    return Math.floor(this.random() * 1e9).toString(36)
  }

  /** What a tool's function does: the effect lands at some moment, the answer comes later. */
  async serve(
    node: CallNode,
    input: SimInput,
    call: CallInfo,
    clock: VirtualClock,
  ): Promise<SimResult> {
    const other = this.random() > 0.65
    const base = other
      ? ([0, 0, 3, 20, 100, 1500][Math.floor(this.random() * 6)] as number)
      : node.latencyMs
    const latency = base === 0 ? 0 : base * (0.3 + 1.4 * this.random())
    if (node.callClass === 'pure') {
      if (latency > 0) await sleep(clock, latency)
      if (node.fails) throw new RefusedError('refused')
      return this.result(node, input.v)
    }
    const id = `${(call as LiveCall).place}/${call.attempt}`
    if (this.attempts.has(id)) this.sentTwice.push(id)
    // An upstream that takes keys counts the same key once; another ignores what it is given.
    const key = node.callClass === 'keyed' ? call.idempotencyKey : null
    const attempt = { node, input: input.v, key, landed: null, over: false }
    this.attempts.set(id, attempt)
    if (latency > 0) await sleep(clock, latency * this.random())
    const landed = this.land(attempt)
    if (latency > 0) await sleep(clock, latency * 0.5)
    if (landed === null) throw new RefusedError('refused')
    return landed
  }

  /** The worker has died: what it had sent may still land, or not. */
  crash(): void {
    for (const attempt of this.attempts.values()) {
      if (attempt.over) continue
      if (this.random() < 0.5) this.land(attempt)
      attempt.over = true
    }
  }

  private land(attempt: SentAttempt): SimResult | null {
    const { node, input, key } = attempt
    attempt.over = true
    if (node.fails) return null
    const known = key === null ? undefined : this.byKey.get(`${node.tool}/${key}`)
    if (known) {
      attempt.landed = known
      return known
    }
    const result = this.result(node, input)
    attempt.landed = result
    if (key !== null) this.byKey.set(`${node.tool}/${key}`, result)
    const { site, tool } = node
    this.landings.push({ site, tool, input, unsafe: node.callClass === 'unsafe' })
    return result
  }

  private result(node: CallNode, input: string): SimResult {
    const value = node.varying ? `${node.site}~${this.nonce()}` : node.site
    return { site: node.site, input, value }
  }
}

export function sleep(clock: VirtualClock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve)
  })
}
