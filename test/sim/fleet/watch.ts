// Sees everything that reaches the store, and compares it with what must be true at that moment:
// one winner a fence, no dispatch without a durable intent, a history that is a prefix of what the
// code has observed. It has its own books and asks the store for nothing.
import { callKeyOfAttempt, placeOfAttempt } from '../../../src/model/run/attempt-id.ts'
import { keyOf, type Run } from '../../../src/model/run/records.ts'
import { isEnded } from '../../../src/model/run/states.ts'
import type { Amendment, Changes, Commit, CommitResult, Loaded } from '../../../src/store/store.ts'
import type { Owner } from './schedule.ts'

/** What the code of one execution has been given, in its order. */
export interface Observed {
  readonly token: string
  readonly visit: number
}

export class Watch {
  readonly notes: string[] = []
  private readonly holders = new Map<string, { fence: number; workerId: string }>()
  /** Ids of results and signals that are in a settled record. */
  private readonly durable = new Set<string>()
  /** Attempts that are on record with their fence, and the calls that have one. */
  private readonly intents = new Map<string, number>()
  /** Calls that are known to have landed by somebody who no longer holds the run. */
  private readonly known = new Set<string>()
  /** Runs of which a grant was voided. */
  private readonly voided = new Set<string>()
  /** Commits without an answer. */
  private readonly unknown = new Map<string, string>()
  private readonly executions = new Map<string, Observed[]>()
  private readonly trace: (line: string) => void
  readonly settled = new Map<string, string>()
  /** Calls that have failed for certain. */
  readonly failed = new Set<string>()
  private readonly over = new Set<string>()
  private readonly children = new Set<string>()

  constructor(trace: (line: string) => void) {
    this.trace = trace
  }

  /** Calls the store for a process, and notes what came of it. */
  async around(
    process: Owner,
    name: string,
    args: readonly unknown[],
    call: (...args: unknown[]) => Promise<unknown>,
  ): Promise<unknown> {
    if (name === 'amend') return this.amended(process, args, call)
    if (name === 'commit') this.checkRepeats(process, args[0] as Commit[])
    const value = await call(...args)
    if (name === 'claim') this.claimed(process, value as Run[])
    if (name === 'commit') this.committed(process, args[0] as Commit[], value as CommitResult[])
    else if (name !== 'renew' && name !== 'load') this.trace(`${process.name} ${name}`)
    return value
  }

  /** Children too, whether their parent waits for them or not. */
  ended(runs: readonly { readonly runId: string }[]): boolean {
    const all = [...runs.map(({ runId }) => runId), ...this.children]
    return all.every((runId) => this.over.has(runId))
  }

  /** The answer to these was lost: whoever wrote them knows nothing (I4). */
  unanswered(process: Owner, batch: readonly Commit[]): void {
    for (const { runId, fence, commitId } of batch) {
      this.unknown.set(`${process.name}/${runId}/${fence}`, commitId)
    }
  }

  isHolder({ runId, fence, workerId }: Run): boolean {
    const holder = this.holders.get(runId)
    return holder?.fence === fence && holder.workerId === workerId
  }

  /** A node begins: what it is given from now on, behind what led to it in this execution. */
  begin(process: Owner, runId: string, visit: number): Observed[] {
    const key = `${process.name}/${runId}`
    const led = (this.executions.get(key) ?? []).filter((each) => each.visit < visit)
    this.executions.set(key, led)
    return led
  }

  /** An attempt is being sent, by code that had seen so much when it issued the call. */
  sent(runId: string, attemptId: string, seen: readonly Observed[]): void {
    const fence = this.intents.get(`${runId}/${attemptId}`)
    if (fence === undefined) this.notes.push(`EFFECT WITHOUT INTENT: ${runId} ${attemptId}`)
    else if (fence !== this.holders.get(runId)?.fence) {
      this.notes.push(`SENT BY A STALE HOLDER: ${runId} ${attemptId}`)
    }
    this.checkPrefix(runId, seen, `before ${attemptId} was sent`)
  }

  /** I4: after an error the same commit again, unless the lease may be over. */
  private checkRepeats(process: Owner, batch: readonly Commit[]): void {
    for (const { runId, fence, commitId } of batch) {
      const key = `${process.name}/${runId}/${fence}`
      const before = this.unknown.get(key)
      this.unknown.delete(key)
      if (before === undefined || before === commitId || process.frozenUntil > 0) continue
      this.notes.push(`COMMIT NOT REPEATED: ${runId} ${before}, then ${commitId}`)
    }
  }

  private async amended(
    process: Owner,
    [ref, by, change, ...rest]: readonly unknown[],
    call: (...args: unknown[]) => Promise<unknown>,
  ): Promise<unknown> {
    let made: Changes | null = null
    const seen = (now: Loaded) => {
      const amendment = (change as (now: Loaded) => Amendment<unknown>)(now)
      made = amendment.changes
      return amendment
    }
    const value = await call(ref, by, seen, ...rest)
    const { runId } = ref as Run
    const { evidence = [], decisions = [] } = (made ?? {}) as Changes
    for (const { attemptId, outcome } of evidence) {
      if (outcome === 'landed') this.known.add(`${runId}/${callKeyOfAttempt(attemptId)}`)
    }
    if (decisions.some(({ voidedAt }) => voidedAt !== null)) this.voided.add(runId)
    const said = [...evidence, ...decisions].map(({ outcome }) => outcome)
    this.trace(`${process.name} amends ${runId} ${said.join(' ')}`)
    return value
  }

  private claimed(process: Owner, runs: readonly Run[]): void {
    for (const { runId, fence, workerId } of runs) {
      const before = this.holders.get(runId)
      if (before && before.fence >= fence) this.notes.push(`FENCE GIVEN TWICE: ${runId} ${fence}`)
      this.holders.set(runId, { fence, workerId: workerId ?? '' })
      this.executions.delete(`${process.name}/${runId}`)
      this.trace(`${process.name} claims ${runId} ${fence}`)
    }
  }

  private committed(process: Owner, batch: readonly Commit[], results: readonly string[]): void {
    batch.forEach((commit, i) => {
      const { runId, fence, workerId, commitId, changes } = commit
      this.trace(`${process.name} commits ${runId} ${commitId} ${results[i]} ${summary(changes)}`)
      if (results[i] !== 'done') return
      const holder = this.holders.get(runId)
      if (holder?.fence !== fence || holder.workerId !== workerId) {
        this.notes.push(`STALE WRITE LANDED: ${runId} ${commitId} of ${process.name}`)
      }
      this.checkRefusal(runId, changes)
      this.note(runId, changes, fence)
      this.check(process, runId, changes)
    })
  }

  /** Nothing is refused but the use of a grant that evidence has voided at this moment (I11). */
  private checkRefusal(runId: string, { events = [] }: Changes): void {
    const refused = events.find(({ data }) => data['refused'] === true)
    if (refused === undefined) return
    const cause = String(refused.data['cause'])
    if (this.voided.has(runId) && /decision \S+ is final/.test(cause)) return
    this.notes.push(`CHANGES REFUSED: ${runId} ${cause}`)
  }

  private note(runId: string, changes: Changes, fence: number): void {
    for (const { attemptId: id, endedAt } of changes.attempts ?? []) {
      const attemptId = placeOfAttempt(id)
      const call = `${runId}/${callKeyOfAttempt(attemptId)}`
      const isNew = endedAt === null && !this.intents.has(`${runId}/${attemptId}`)
      if (isNew && this.known.has(call) && !call.includes('/keyed/')) {
        this.notes.push(`SENT AFTER EVIDENCE: ${runId} ${attemptId}`)
      }
      if (isNew) this.intents.set(`${runId}/${attemptId}`, fence)
      this.intents.set(call, fence)
    }
    for (const record of changes.records ?? []) {
      if (record.seq === null) continue
      const key = `${runId}/${record.checkpointId}/${keyOf(record)}`
      const result = `${record.status} ${record.resultJson}`
      const before = this.settled.get(key)
      if (before !== undefined && before !== result) this.notes.push(`RECEIPT CHANGED: ${key}`)
      this.settled.set(key, result)
      if (record.status === 'failed') this.failed.add(`${runId}/${keyOf(record)}`)
      for (const token of tokensOf(record.resultJson)) this.durable.add(token)
      this.checkIntent(runId, record.status, record)
    }
  }

  /** A receipt of what was never put on record before. */
  private checkIntent(
    runId: string,
    status: string,
    record: { tool: string; inputHash: string; occurrence: number; replayClass: string },
  ): void {
    if (record.replayClass === 'pure' || status !== 'committed') return
    if (record.tool.startsWith('counterfoil.')) return
    const call = `${runId}/${keyOf(record)}`
    if (!this.intents.has(call)) this.notes.push(`RECEIPT WITHOUT INTENT: ${call}`)
  }

  /** I3, and the end of a run: nothing durable without what led to it. */
  private check(process: Owner, runId: string, changes: Changes): void {
    const { checkpoints, run, children = [] } = changes
    for (const child of children) this.children.add(child.run.runId)
    const observed = this.executions.get(`${process.name}/${runId}`) ?? []
    const visits = (checkpoints ?? []).map((row) => row.visit)
    if (run?.state !== undefined && isEnded(run.state)) this.over.add(runId)
    if (run?.state === 'completed') visits.push(Number.POSITIVE_INFINITY)
    for (const visit of visits) {
      const led = observed.filter((each) => each.visit < visit)
      this.checkPrefix(runId, led, `before checkpoint ${visit}`)
    }
  }

  private checkPrefix(runId: string, seen: readonly Observed[], when: string): void {
    const missing = seen.find(({ token }) => !this.durable.has(token))
    if (missing) this.notes.push(`NOT A PREFIX: ${runId}: ${missing.token} ${when}`)
  }
}

/** Ids of effects and signals in what a call was answered with. */
export function tokensOf(json: string | null): string[] {
  if (json === null) return []
  return [...json.matchAll(/"(?:effect|id)":"([^"]+)"/g)].map((match) => match[1] as string)
}

function summary({ records, checkpoints, run, items, attempts }: Changes): string {
  const said = (records ?? []).map(({ tool, status, attempt }) => `${tool}:${status}:${attempt}`)
  const counts = [attempts?.length ?? 0, items?.length ?? 0, checkpoints?.length ?? 0]
  return `[${said.join(' ')}] ${counts.join('/')} ${run?.state ?? ''}`
}
