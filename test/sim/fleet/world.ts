// The upstreams of a fleet. They outlive every worker: what was sent may land after its sender died
// or gave up, and is counted here and nowhere else.
import type { LiveCall } from '../../../src/engine/attempt/attempt.ts'
import { NotSentError, RefusedError } from '../../../src/model/errors.ts'
import type { CallInfo } from '../../../src/model/tool/tool.ts'
import type { CallClass } from './plan.ts'
import { type Owner, type Schedule, stream } from './schedule.ts'

export const quietMs = 2_500
export const timeoutMs = 1_000
export const callbackMs = 2_000

export interface SimInput {
  readonly site: string
  /** What the node had seen before. */
  readonly v: string
}

export interface SimResult {
  readonly effect: string
  readonly site: string
}

export interface Landing {
  readonly runId: string
  readonly site: string
  readonly cls: CallClass
  readonly attemptId: string
  readonly effect: string
}

/** One attempt as the world sees it. */
interface Sent {
  readonly process: Owner
  /** Its function has not returned. */
  running: boolean
  /** Something of it may still land. */
  onWire: boolean
  landed: SimResult | null
}

export interface WorldHooks {
  /** An attempt of a call that is not pure is being sent. */
  readonly onSend: (call: CallInfo, input: SimInput, process: Owner) => void
  readonly trace: (line: string) => void
  readonly callBack: (token: string, result: SimResult) => void
}

/** Where an attempt stands in its run: what a person's item and the ledger's rows go by. */
export function placeOf(call: CallInfo): string {
  return `${(call as LiveCall).place}/${call.attempt}`
}

export class World {
  readonly landings: Landing[] = []
  readonly notes: string[] = []
  private readonly schedule: Schedule
  private readonly hooks: WorldHooks
  private readonly seed: string
  private readonly tooLate: boolean
  private readonly attempts = new Map<string, Sent>()
  private readonly byKey = new Map<string, SimResult>()
  private effects = 0
  /** Landings after the death of the process that sent them. */
  late = 0

  constructor(schedule: Schedule, seed: string, tooLate: boolean, hooks: WorldHooks) {
    this.schedule = schedule
    this.seed = seed
    this.tooLate = tooLate
    this.hooks = hooks
  }

  /** What a tool's function does, in the process that runs it. */
  async serve(cls: CallClass, input: SimInput, call: CallInfo, process: Owner): Promise<SimResult> {
    const { schedule } = this
    const id = `${call.runId}/${placeOf(call)}`
    const random = stream(`${this.seed} ${id} ${cls === 'pure' ? process.name : ''}`)
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
    const [preMs, wireMs, replyMs] = [
      pick([0, 0, 0, 2, 30, 700]),
      pick([0, 1, 5, 40, 300, 1_400]),
      pick([0, 1, 10, 150]),
    ]
    if (cls === 'pure') {
      if (preMs + replyMs > 0) await schedule.pause(process, preMs + replyMs)
      return { effect: `p${++this.effects}`, site: input.site }
    }
    this.hooks.onSend(call, input, process)
    if (this.attempts.has(id)) this.notes.push(`ATTEMPT SENT TWICE: ${id}`)
    const sent: Sent = { process, running: true, onWire: false, landed: null }
    this.attempts.set(id, sent)
    try {
      if (preMs > 0) await schedule.pause(process, preMs)
      const fate = random()
      if (fate < 0.03) throw new NotSentError('no connection')
      if (fate < 0.08) {
        await schedule.pause(process, wireMs)
        throw new RefusedError('refused')
      }
      const token = cls === 'deferred' ? call.defer() : null
      const landed = this.land(sent, cls, input, call, id, this.wireMs(fate, wireMs, random()))
      if (token !== null) return await this.defer(token, landed, sent, pick([5, 300, 1_500, 2_600]))
      if (fate < 0.16) {
        await schedule.pause(process, Math.floor(wireMs * random()))
        throw new Error('the line was cut')
      }
      const result = await landed
      await schedule.pause(process, replyMs)
      return result
    } finally {
      sent.running = false
    }
  }

  /** How long it is under way; what the control adds is more than the tools reckon with. */
  private wireMs(fate: number, ms: number, drawn: number): number {
    if (fate > 0.22) return ms
    return ms + Math.floor(drawn * (this.tooLate ? 3 * quietMs : quietMs - 1_600))
  }

  /** The effect, at some moment, whatever has become of the sender. */
  private land(
    sent: Sent,
    cls: CallClass,
    input: SimInput,
    call: CallInfo,
    id: string,
    wireMs: number,
  ): Promise<SimResult> {
    sent.onWire = true
    return new Promise((resolve) => {
      this.schedule.at(null, wireMs, () => {
        sent.onWire = false
        // An upstream that takes keys counts the same key once; another ignores what it is given.
        const key = cls === 'keyed' ? `${call.tool}/${call.runId}/${call.idempotencyKey}` : null
        const known = key === null ? undefined : this.byKey.get(key)
        const result = known ?? { effect: `e${++this.effects}`, site: input.site }
        sent.landed = result
        if (sent.process.dead) this.late++
        if (known === undefined) {
          const { runId } = call
          const attemptId = placeOf(call)
          this.landings.push({ runId, site: input.site, cls, attemptId, effect: result.effect })
          this.hooks.trace(`lands ${id} ${result.effect}`)
          if (key !== null) this.byKey.set(key, result)
        }
        this.schedule.at(sent.process, 0, () => resolve(result))
      })
    })
  }

  /** The upstream calls back by itself; the function's own end says nothing. */
  private async defer(
    token: string,
    landed: Promise<SimResult>,
    sent: Sent,
    afterMs: number,
  ): Promise<SimResult> {
    const watch = () => {
      if (sent.landed === null) return void this.schedule.at(null, 5, watch)
      const result = sent.landed
      this.schedule.at(null, afterMs, () => this.hooks.callBack(token, result))
    }
    this.schedule.at(null, 1, watch)
    void landed
    return { effect: 'deferred', site: '' }
  }

  /** The truth about a call, for a person who looks and for probes. */
  landed(runId: string, attemptIds: Iterable<string>): SimResult | null {
    for (const id of attemptIds) {
      const found = this.attempts.get(`${runId}/${id}`)?.landed
      if (found) return found
    }
    return null
  }

  /** Whether nothing of these attempts can land any more, as far as the world itself knows. */
  isOver(runId: string, attemptIds: Iterable<string>): boolean {
    for (const id of attemptIds) {
      const sent = this.attempts.get(`${runId}/${id}`)
      if (sent && (sent.onWire || (sent.running && !sent.process.dead))) return false
    }
    return true
  }
}
