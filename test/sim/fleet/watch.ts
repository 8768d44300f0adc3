// Sees everything that reaches the store, and compares it with what must be true at that moment:
// one winner a fence, no dispatch without a durable intent, a history that is a prefix of what the
// code has observed. It has its own books and asks the store for nothing.
import { callKeyOfAttempt, keyOf, type Run } from '../../../src/model/records.ts'
import type { Changes, Commit, CommitResult } from '../../../src/store/store.ts'
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
  /** Attempts that are on record, and the calls that have one. */
  private readonly intents = new Set<string>()
  private readonly executions = new Map<string, Observed[]>()
  private readonly trace: (line: string) => void
  readonly settled = new Map<string, string>()
  private readonly over = new Set<string>()

  constructor(trace: (line: string) => void) {
    this.trace = trace
  }

  /** Calls the store for a process, and notes what came of it. */
  async around(
    process: Owner,
    name: string,
    args: readonly unknown[],
    call: () => Promise<unknown>,
  ): Promise<unknown> {
    const value = await call()
    if (name === 'claim') this.claimed(process, value as Run[])
    if (name === 'commit') this.committed(process, args[0] as Commit[], value as CommitResult[])
    else if (name !== 'renew' && name !== 'load') this.trace(`${process.name} ${name}`)
    return value
  }

  ended(runs: readonly { readonly runId: string }[]): boolean {
    return runs.every(({ runId }) => this.over.has(runId))
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
    if (!this.intents.has(`${runId}/${attemptId}`)) {
      this.notes.push(`EFFECT WITHOUT INTENT: ${runId} ${attemptId}`)
    }
    this.checkPrefix(runId, seen, `before ${attemptId} was sent`)
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
      this.note(runId, changes)
      this.check(process, runId, changes)
    })
  }

  private note(runId: string, changes: Changes): void {
    for (const { attemptId } of changes.attempts ?? []) {
      this.intents.add(`${runId}/${attemptId}`)
      this.intents.add(`${runId}/${callKeyOfAttempt(attemptId)}`)
    }
    for (const record of changes.records ?? []) {
      if (record.seq === null) continue
      const key = `${runId}/${record.checkpointId}/${keyOf(record)}`
      const result = `${record.status} ${record.resultJson}`
      const before = this.settled.get(key)
      if (before !== undefined && before !== result) this.notes.push(`RECEIPT CHANGED: ${key}`)
      this.settled.set(key, result)
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
  private check(process: Owner, runId: string, { checkpoints, run }: Changes): void {
    const observed = this.executions.get(`${process.name}/${runId}`) ?? []
    const visits = (checkpoints ?? []).map((row) => row.visit)
    if (run?.state === 'completed' || run?.state === 'failed') this.over.add(runId)
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
