// Owns: one visit whose code belongs to a foreign runtime. The same gate, records and order as a
// node's; but where a node would park, the host's call is answered with an error that says so.
// Does not own: the hold on the run (worker/hold.ts), which outlives a single scope.

import { type CounterfoilError, errorFor, ReplayUnsafeError } from '../../model/errors.ts'
import type { Call } from '../../model/graph/context.ts'
import { askKey, type Entry, isLeft } from '../../model/replay/entry.ts'
import type { CallRecord, Item } from '../../model/run/records.ts'
import { makeTool, type Tool } from '../../model/tool/tool.ts'
import type { Changes } from '../../store/store.ts'
import { itemChanges, known, leftBehindItem } from '../ask/doubt.ts'
import type { CallRisk, Placed } from '../call/call.ts'
import { Gate } from '../call/gate.ts'
import { placeOf } from '../call/placed.ts'
import { closeItems } from './leave.ts'
import { currentVisit, Visit, type VisitEnd, type VisitOptions } from './visit.ts'

export interface ScopeCallOptions extends CallRisk {
  /** The host's own id of the call (a model's tool_call_id): it stands for the occurrence. */
  callId?: string
  /** The id is a place of its own: the order in which the host makes its calls says nothing. */
  placed?: Placed
}

export class ScopeVisit extends Visit {
  /** Told of every doubt, before the host is. */
  onDoubt: (item: Item) => void = () => {}
  /** Tools that this process was given, by name, for calls that nobody asks for any more. */
  atHand = new Map<string, Tool>()
  private readonly gate: Gate
  private readonly over: Promise<never>
  private readonly calls = new Set<Promise<unknown>>()
  private readonly tools = new Map<string, Tool>()
  private rejectCalls: (error: Error) => void = () => {}
  private refusal: Error | null = null

  constructor(options: VisitOptions) {
    super(options)
    this.gate = new Gate(this)
    this.over = new Promise((_, reject) => {
      this.rejectCalls = reject
    })
    this.over.catch(() => {})
    void this.done.then((end) => {
      if (end === 'lost') this.endCalls(scopeLost(this.run.runId))
    })
  }

  call(tool: Tool, input: unknown, { callId, placed, ...risk }: ScopeCallOptions): Call<unknown> {
    if (this.refusal) return rejected(this.refusal)
    if (tool.rules.callbackMs !== null) return rejected(asynchronous(tool))
    this.tools.set(tool.name, tool)
    this.atHand.set(tool.name, tool)
    const issued = currentVisit.run(this, () =>
      this.gate.issue(tool, input, { risk, callId: callId ?? null, placed: placed ?? null }),
    )
    this.track(issued)
    const raced = Promise.race([issued, this.over])
    raced.catch(() => {})
    return Object.defineProperty(raced, 'replayed', { get: () => issued.replayed }) as Call<unknown>
  }

  /** The host knows how these calls ended, and will not make them again. */
  seen(calls: Iterable<{ readonly tool: string; readonly callId: string }>): void {
    for (const { tool, callId } of calls) this.match.see(placeOf(tool, callId))
    this.gate.unhold()
  }

  /**
   * The host's step is over. As at the end of a node, a person is told of records that it has left
   * behind; of those that nobody knows the outcome of, they are asked that (`left`). I3: what the
   * host goes on with follows from the receipts of the step, so those are durable then.
   */
  async stepOver(): Promise<void> {
    await this.log.whenDurable()
    if (this.phase !== 'running') return
    if (!this.match.unclaimedEntries().some(({ settled }) => settled?.ok === true)) return
    const item = leftBehindItem(this)
    this.doubt(known(this, item) ?? item, itemChanges(this, item))
    if ((await this.done) === 'lost') throw scopeLost(this.run.runId)
  }

  /** The host has come back for what it seemed to have left behind. */
  closeExplained(): void {
    if (this.match.hasUnclaimed()) return
    const isAboutLeft = ({ reason, body }: Item) => reason === 'drift' && body.subject === null
    const items = closeItems(this, 'its calls were asked for again', isAboutLeft)
    if (items.length > 0) this.append({ items })
  }

  /** Calls on record that were sent, of which nobody knows the outcome or has asked since. */
  left(): Entry[] {
    return [...this.match.entries.values()].filter(isLeft)
  }

  /** Such a call, as the verdict has it: its tool is probed if it is at hand, nothing is sent. */
  lookAt(entry: Entry): void {
    const { record } = entry
    const tool = this.atHand.get(record.tool) ?? unknownTool(record)
    this.track(currentVisit.run(this, () => this.gate.lookAt(entry, tool)))
  }

  private track(issued: Promise<unknown>): void {
    this.calls.add(issued)
    const forget = () => this.calls.delete(issued)
    issued.then(forget, forget)
  }

  /** From now on calls are answered with this error; those under way go on. */
  refuseCalls(error: Error): void {
    this.refusal ??= error
  }

  /** Calls under way are not answered any more either. */
  endCalls(error: Error): void {
    this.refuseCalls(error)
    this.rejectCalls(error)
  }

  /** When every call that was issued has been answered, or none will be. */
  async settled(): Promise<void> {
    const answered = async () => {
      while (this.calls.size > 0) await Promise.allSettled(this.calls)
    }
    await Promise.race([answered(), this.done])
  }

  /** Nobody knows the outcome of these in other scopes: the same call here goes to a person. */
  beware(calls: Iterable<{ readonly tool: string; readonly inputHash: string }>): void {
    const unresolved = this.opening.unresolved as Set<string>
    for (const call of calls) unresolved.add(askKey(call))
  }

  override doubt(item: Item, changes: Changes): void {
    super.doubt(item, changes)
    this.onDoubt(item)
  }

  protected override async park(): Promise<VisitEnd> {
    const [first] = this.doubts.length > 0 ? this.doubts : this.asked
    // What the host is told must be durable: it may die with the message in its hands.
    await this.log.whenDurable()
    if (this.log.lost) return 'lost'
    if (first) this.endCalls(this.unsafe(first))
    return 'parked'
  }

  private unsafe(item: Item): ReplayUnsafeError {
    const { subject, node, input, attempt, idempotencyKey, error } = item.body
    const message = error?.code === 'RESULT_UNRECORDED' ? { message: error.message } : {}
    const tool = subject?.tool ?? ''
    const replayClass = this.tools.get(tool)?.replayClass ?? 'unsafe_on_replay'
    const { runId } = this.run
    return new ReplayUnsafeError(
      { runId, node, tool, replayClass, input, attempt, idempotencyKey },
      { itemId: item.itemId, title: item.title, reason: item.reason ?? item.kind, ...message },
    )
  }
}

export function scopeLost(workflowId: string): CounterfoilError {
  return errorFor('SCOPE_LOST', workflowId)
}

/** What stands for a tool that this process was not given: it says of its class what is known. */
function unknownTool({ tool, replayClass, idempotencyKey }: CallRecord): Tool {
  const run = () => Promise.reject(new Error(`${tool} is not available in this process`))
  const key = { idempotencyKey: () => idempotencyKey ?? '', keyTtlMs: Number.POSITIVE_INFINITY }
  const keyed = replayClass === 'idempotent_with_key' ? key : {}
  return makeTool(tool, { replayClass, ...keyed, run })
}

function asynchronous({ name }: Tool): CounterfoilError {
  const why = 'is asynchronous (`callbackMs`): a scope cannot wait for its callback'
  return errorFor('DEFER_INVALID', name, why)
}

function rejected(error: Error): Call<never> {
  const promise = Promise.reject(error)
  promise.catch(() => {})
  return promise as unknown as Call<never>
}
