// Owns: one visit whose code belongs to a foreign runtime. The same gate, records and order as a
// node's; but where a node would park, the host's call is answered with an error that says so.
// Does not own: the hold on the run (worker/scopes.ts), which outlives a single scope.
import type { Call } from '../model/context.ts'
import { CounterfoilError, ReplayUnsafeError } from '../model/errors.ts'
import type { Item } from '../model/records.ts'
import type { Tool } from '../model/tool.ts'
import type { CallRisk } from './call.ts'
import { Gate } from './gate.ts'
import { currentVisit, Visit, type VisitOptions } from './visit.ts'

export interface ScopeCallOptions extends CallRisk {
  /** The host's own id of the call (a model's tool_call_id): it stands for the occurrence. */
  callId?: string
}

export class ScopeVisit extends Visit {
  /** What waits for a person, once the scope has parked. */
  readonly parkedOn: Item[] = []
  private readonly gate: Gate
  private readonly over: Promise<never>
  private endCalls: (error: Error) => void = () => {}
  private ending: Error | null = null

  constructor(options: VisitOptions) {
    super(options)
    this.gate = new Gate(this)
    this.over = new Promise((_, reject) => {
      this.endCalls = reject
    })
    this.over.catch(() => {})
    void this.done.then((end) => {
      if (end === 'lost') this.refuseCalls(lost(this))
    })
  }

  call(tool: Tool, input: unknown, { callId, ...risk }: ScopeCallOptions): Call<unknown> {
    if (this.ending) return rejected(this.ending)
    const issued = currentVisit.run(this, () =>
      this.gate.issue(tool, input, { risk, callId: callId ?? null }),
    )
    const raced = Promise.race([issued, this.over])
    raced.catch(() => {})
    return Object.defineProperty(raced, 'replayed', { get: () => issued.replayed }) as Call<unknown>
  }

  /** No call is answered any more, now or later, but with this error. */
  refuseCalls(error: Error): void {
    this.ending ??= error
    this.endCalls(error)
  }

  protected override async park(): Promise<void> {
    const items = this.doubts.length > 0 ? this.doubts : this.waits
    this.parkedOn.push(...items)
    // What the host is told must be durable: it may die with the message in its hands.
    await this.log.whenDurable()
    const [first] = items
    if (first) this.refuseCalls(unsafe(this, first))
    this.finish(this.log.lost ? 'lost' : 'parked')
  }
}

function unsafe({ run }: Visit, item: Item): ReplayUnsafeError {
  const { subject, node, input, attempt, idempotencyKey } = item.body
  return new ReplayUnsafeError(
    {
      runId: run.runId,
      node,
      tool: subject?.tool ?? '',
      replayClass: 'unsafe_on_replay',
      input,
      attempt,
      idempotencyKey,
    },
    { itemId: item.itemId, title: item.title, reason: item.reason ?? item.kind },
  )
}

function lost({ run }: Visit): CounterfoilError {
  return new CounterfoilError(
    'SCOPE_LOST',
    `the hold on ${run.runId} is lost: another process may work on it now; open the scope again`,
    { retryable: true, details: { workflowId: run.runId } },
  )
}

function rejected(error: Error): Call<never> {
  const promise = Promise.reject(error)
  promise.catch(() => {})
  return promise as unknown as Call<never>
}
