// Owns: the way of a call through its visit. Every call is moved from state to state here and
// nowhere else: a step says what is to be done next (next.ts), and the loop below does it.
// Does not own: what a step does (steps.ts), which moves are legal (states.ts), the order of
// deliveries (order.ts).
// Invariants: a step that waits goes on through the loop, and what it held its visit up with is let
// go first. A step that fails before anything of its call is on record refuses the call; one that
// fails later loses the run, which whoever has it next takes up from its records.
import type { Call } from '../../model/graph/context.ts'
import type { Entry, Settled } from '../../model/replay/entry.ts'
import { validate } from '../../model/tool/schema.ts'
import type { Tool } from '../../model/tool/tool.ts'
import { itemChanges, known, leftBehindItem, mostAlike } from '../ask/doubt.ts'
import { refuseLate } from '../visit/refusal.ts'
import type { Visit } from '../visit/visit.ts'
import type { WaitSpec } from '../wait/spec.ts'
import { admit, claim } from './admit.ts'
import { type Ask, type CallRisk, IssuedCall, type Placed, unaskedCall } from './call.ts'
import { checked } from './checked.ts'
import { deny, type Go, judgeIt, type Next } from './next.ts'
import { placeOf } from './placed.ts'
import { type CallState, holdsOf, isOver } from './states.ts'
import { take } from './steps.ts'

export interface IssueOptions {
  ask?: Ask | null
  risk?: CallRisk
  /** A foreign runtime's own id of the call: it stands for the occurrence. */
  callId?: string | null
  /** The call has a place of its own, by that id. */
  placed?: Placed | null
  /** What the node waits for, instead of sending anything. */
  wait?: WaitSpec
}

export class Gate {
  private readonly visit: Visit
  private readonly once = new Map<string, IssuedCall>()
  private held: IssuedCall[] = []

  constructor(visit: Visit) {
    this.visit = visit
    visit.wantsQuiet = () => this.held.length > 0
    visit.onQuiet = () => this.quiet()
  }

  issue(tool: Tool, raw: unknown, options?: IssueOptions): Call<unknown> {
    return this.issued(tool, raw, options).promise
  }

  issued(
    tool: Tool,
    raw: unknown,
    { ask = null, risk = {}, callId = null, placed = null, wait }: IssueOptions = {},
  ): IssuedCall {
    const { visit } = this
    const place = placed ? placeOf(tool.name, callId) : visit.match.nextPlace(tool.name)
    const call = new IssuedCall(tool, place, visit.order.lastSeq, ask, risk)
    call.callId = callId
    call.placed = placed
    call.wait = wait ?? null
    if (visit.phase === 'closed') {
      call.move('refused')
      return visit.hasEnded ? refuseLate(visit, call) : call
    }
    call.release = visit.hold('call')
    visit.order.acted()
    try {
      this.drive(call, this.validated(call, raw))
    } catch (error) {
      this.drive(call, deny(error))
    }
    return call
  }

  /** From then on the call has a key, and a record may answer it. */
  private validated(call: IssuedCall, raw: unknown): Next {
    const { visit } = this
    const { name, rules } = call.tool
    const admitted = (input: unknown) => admit(visit, this.once, call, input)
    if (rules.input === null) return admitted(raw)
    const what = { code: 'INPUT_INVALID', subject: `input of ${name}` } as const
    const input = validate(rules.input, raw, what)
    return input instanceof Promise ? checked(visit, input, admitted, deny) : admitted(input)
  }

  /** A call on record that nobody asks for: as the table says, but nothing is sent. */
  lookAt(entry: Entry, tool: Tool): Promise<unknown> {
    const { visit } = this
    const call = unaskedCall(entry, tool, visit.order.lastSeq)
    call.release = visit.hold('call')
    this.drive(call, { do: 'claim', entry })
    return call.promise
  }

  /** Does what is next, until nothing is to be done but to wait. */
  private drive(call: IssuedCall, first: Next): void {
    let next = first
    for (;;) {
      switch (next.do) {
        case 'claim':
          return this.claim(call, next.entry)
        case 'follow':
          return this.follow(call, next.key)
        case 'hold':
          call.move('held')
          this.held.push(call)
          return this.visit.order.arm()
        case 'until':
          return this.until(call, next.state, next.begin)
        case 'answer':
          return this.answer(call, next.settled, next.replayed)
        case 'deny':
          return this.deny(call, next.error)
        case 'stay':
          return call.move(next.state)
        case 'stop':
          return
        case 'judge':
          call.move('judged')
          next = take(this.visit, call, next)
          break
        default:
          next = take(this.visit, call, next)
      }
    }
  }

  private until(call: IssuedCall, state: CallState, begin: (go: Go) => void): void {
    call.move(state)
    const kind = holdsOf[state]
    const release = kind === undefined ? null : this.visit.hold(kind)
    begin((next) => {
      release?.()
      if (this.visit.phase === 'closed') return
      try {
        this.drive(call, next)
      } catch (error) {
        this.failed(call, error)
      }
    })
  }

  private failed(call: IssuedCall, error: unknown): void {
    if (call.record === null && !isOver(call.state)) this.deny(call, error)
    else this.visit.log.lose(error)
  }

  private claim(call: IssuedCall, entry: Entry): void {
    claim(this.visit, call, entry)
    this.drive(call, judgeIt)
    this.visit.order.acted()
    this.unhold()
  }

  /** Nothing is left that a call without a record could be: those that waited for it go on. */
  unhold(): void {
    if (this.held.length === 0 || this.visit.match.hasUnclaimed()) return
    const held = this.held
    this.held = []
    for (const waiting of held) if (waiting.state === 'held') this.drive(waiting, judgeIt)
  }

  /**
   * Nothing more can match: the held call that looks most like an unclaimed record is asked about.
   */
  private quiet(): void {
    const { visit } = this
    if (!visit.match.hasUnclaimed()) return
    if (this.held.length === 0) {
      if (visit.leftBehind()) {
        const item = leftBehindItem(visit)
        visit.doubt(known(visit, item) ?? item, itemChanges(visit, item))
      }
      return
    }
    const best = mostAlike(visit, this.held)
    if (best) this.drive(best, { do: 'judge', quiet: true })
  }

  private follow(call: IssuedCall, key: string): void {
    call.move('following')
    call.release()
    const tell = (ok: boolean) => (value: unknown) => {
      call.move('answered')
      call.answer({ seq: 0, ok, value }, true)
    }
    this.once.get(key)?.promise.then(tell(true), tell(false))
  }

  private answer(call: IssuedCall, settled: Settled, replayed: boolean): void {
    call.move('settled')
    this.visit.order.push({
      settled,
      deliver: () => {
        call.release()
        call.move('answered')
        call.answer(settled, replayed && settled.fresh !== true)
      },
    })
  }

  /**
   * Refuses a call that goes no further, in a turn of its own: a loop that catches all starves
   * nobody.
   */
  private deny(call: IssuedCall, error: unknown): void {
    call.move('settled')
    this.visit.order.first(() => {
      call.release()
      call.move('answered')
      call.reject(error)
    })
  }
}
