// The run document (D7): everything an agent's context is rebuilt from, as a typed view over its
// state and its ledger. The state gives what only the agent knows (contract, plan, messages); the
// ledger gives what was really done. The model's context is made of it, and is never its source.
import type { CallRecord, Decision, Run, WaitingFor } from './records.ts'
import { absorb } from './state.ts'

export interface RunDocument {
  readonly runId: string
  readonly traceId: string
  readonly threadId: string | null
  /** `name@version` of the graph. */
  readonly agentVersion: string
  readonly promptHash: string | null
  readonly contract: { readonly goal: unknown; readonly definitionOfDone: unknown }
  readonly plan: unknown
  readonly cursor: { readonly node: string; readonly visit: number; readonly state: Run['state'] }
  readonly completed: readonly CompletedStep[]
  readonly sideEffects: readonly SideEffect[]
  readonly memory: unknown
  readonly messages: readonly unknown[]
  readonly pendingCalls: readonly PendingCall[]
  readonly decisions: readonly DecisionLine[]
  readonly budget: {
    readonly tokensIn: number
    readonly tokensOut: number
    readonly usd: number
    readonly calls: number
  }
  readonly waitingFor: WaitingFor | null
}

export interface CompletedStep {
  readonly node: string
  readonly tool: string
  readonly at: number
  /** Where the proof lies: the receipt's span, and the upstream's own id. */
  readonly evidence: { readonly span: string; readonly externalId: string | null }
}

export interface SideEffect extends CompletedStep {
  readonly replayClass: string
  readonly input: unknown
  readonly idempotencyKey: string | null
}

export interface PendingCall {
  readonly node: string
  readonly tool: string
  readonly replayClass: string
  readonly status: string
  readonly attempt: number
  readonly since: number
}

export interface DecisionLine {
  readonly item: string
  readonly outcome: string
  readonly by: string
  readonly reason: string
  readonly at: number
}

/** What the state says, by the graph's own `document` or by these names in the state itself. */
const stateNames = [
  'contract',
  'plan',
  'messages',
  'memory',
  'promptHash',
  'threadId',
  'budget',
] as const

export interface DocumentParts {
  readonly run: Run
  readonly state: unknown
  readonly records: readonly CallRecord[]
  readonly decisions: readonly Decision[]
  /** The graph's own reading of the state. */
  readonly read: ((state: unknown) => Record<string, unknown>) | null
}

export function documentOf({ run, state, records, decisions, read }: DocumentParts): RunDocument {
  const said = read ? read(state) : pick(state)
  const own = records.filter((row) => !row.tool.startsWith('counterfoil.'))
  const done = own.filter((row) => row.status === 'committed')
  const contract = (said['contract'] ?? {}) as { goal?: unknown; definitionOfDone?: unknown }
  return {
    runId: run.runId,
    traceId: run.traceId,
    threadId: (said['threadId'] as string | undefined) ?? null,
    agentVersion: `${run.graph}@${run.version}`,
    promptHash: (said['promptHash'] as string | undefined) ?? null,
    contract: {
      goal: contract.goal ?? null,
      definitionOfDone: contract.definitionOfDone ?? null,
    },
    plan: said['plan'] ?? null,
    cursor: { node: run.node, visit: run.visit, state: run.state },
    completed: done.map((row) => made(steps, row, stepOf)),
    sideEffects: done
      .filter((row) => row.replayClass !== 'pure')
      .map((row) => made(effects, row, effectOf)),
    memory: said['memory'] ?? null,
    messages: Array.isArray(said['messages']) ? said['messages'] : [],
    pendingCalls: own.filter(isOpen).map(pendingOf),
    decisions: decisions
      .filter(({ outcome }) => outcome !== 'comment')
      .map(({ itemId: item, outcome, by, why: reason, at }) => ({
        item,
        outcome,
        by,
        reason,
        at,
      })),
    budget: sum(own),
    waitingFor: run.waitingFor,
  }
}

// A settled row is never written again, so what is made of it stays as well: a context that is
// asked for at every step costs what is new in it.
const steps = new WeakMap<CallRecord, CompletedStep>()
const effects = new WeakMap<CallRecord, SideEffect>()

function made<T>(known: WeakMap<CallRecord, T>, row: CallRecord, make: (row: CallRecord) => T): T {
  const old = known.get(row)
  if (old !== undefined) return old
  const line = absorb(make(row))
  known.set(row, line)
  return line
}

function pick(state: unknown): Record<string, unknown> {
  if (typeof state !== 'object' || state === null) return {}
  const from = state as Record<string, unknown>
  return Object.fromEntries(stateNames.filter((name) => name in from).map((n) => [n, from[n]]))
}

function isOpen({ status }: CallRecord): boolean {
  return status === 'pending' || status === 'in_doubt'
}

function stepOf(row: CallRecord): CompletedStep {
  const { nodeId: node, tool, settledAt, createdAt, spanId: span, externalId } = row
  return { node, tool, at: settledAt ?? createdAt, evidence: { span, externalId } }
}

function effectOf(row: CallRecord): SideEffect {
  const input = row.inputJson === null ? null : JSON.parse(row.inputJson)
  const { replayClass, idempotencyKey } = row
  return { ...stepOf(row), replayClass, input, idempotencyKey }
}

function pendingOf(row: CallRecord): PendingCall {
  const { nodeId: node, tool, replayClass, status, attempt, createdAt: since } = row
  return { node, tool, replayClass, status, attempt, since }
}

function sum(records: readonly CallRecord[]): RunDocument['budget'] {
  const total = { tokensIn: 0, tokensOut: 0, usd: 0, calls: 0 }
  for (const { usageJson, status } of records) {
    if (status === 'committed') total.calls++
    if (usageJson === null) continue
    const usage = JSON.parse(usageJson) as Partial<typeof total>
    total.tokensIn += usage.tokensIn ?? 0
    total.tokensOut += usage.tokensOut ?? 0
    total.usd += usage.usd ?? 0
  }
  return total
}
