// Owns: what the contexts of an execution are made of, and how they are recorded: the records of
// the whole run, read once and kept up to date by what this execution writes itself, since nobody
// else may write records of a run that is held; and the decisions, read again when something came.
// Does not own: what a context says (model/run/document.ts), nor its form (context-chain.ts there).

import { parseResult } from '../../model/replay/answers.ts'
import { buildsOn, ContextChain, contextTool } from '../../model/run/context-chain.ts'
import { type CallRecord, type Decision, keyOf, type Run } from '../../model/run/records.ts'
import { trustedRecords } from '../../store/pages.ts'
import type { Sealed, Store } from '../../store/store.ts'
import type { RunLog } from '../committer.ts'

export class Contexts {
  readonly chain = new ContextChain()
  private readonly store: Store
  private readonly log: RunLog
  private readonly rows = new Map<string, CallRecord>()
  private decided: { arrivals: number; rows: readonly Decision[] } | null = null
  private reading: Promise<void> | null = null

  constructor(store: Store, log: RunLog) {
    this.store = store
    this.log = log
  }

  /**
   * Before a visit is opened whose own contexts cannot be read without earlier ones. A context is
   * trusted no more than what it builds on (B8).
   */
  async prepare<T extends Sealed<CallRecord>>(records: readonly T[]): Promise<readonly T[]> {
    const needs = (row: T) => row.tool === contextTool && buildsOn(parseResult(row.resultJson))
    if (!records.some(needs)) return records
    await this.ready()
    const isRead = (row: T) => !needs(row) || this.chain.canRead(parseResult(row.resultJson))
    return records.map((row) => (isRead(row) ? row : { ...row, verifies: false }))
  }

  /** The run's records so far, in the order they were made; without the results of calls. */
  async records(): Promise<readonly CallRecord[]> {
    await this.ready()
    return [...this.rows.values()]
  }

  async decisions(run: Run): Promise<readonly Decision[]> {
    const arrivals = (await this.store.getRun(run))?.arrivals ?? 0
    if (this.decided?.arrivals !== arrivals) {
      const rows = (await this.store.listDecisions(run)).filter((row) => row.verifies)
      this.decided = { arrivals, rows }
    }
    return this.decided.rows
  }

  private ready(): Promise<void> {
    this.reading ??= this.read()
    return this.reading
  }

  private async read(): Promise<void> {
    const since: CallRecord[] = []
    this.log.onRecords = (rows) => void since.push(...rows)
    await this.log.whenDurable()
    for (const row of await trustedRecords(this.store, this.log.run)) this.put(row)
    for (const row of since) this.put(row)
    this.log.onRecords = (rows) => {
      for (const row of rows) this.put(row)
    }
  }

  private put(row: CallRecord): void {
    const name = `${row.checkpointId}/${keyOf(row)}`
    // Results may be large, and no document shows them.
    this.rows.set(name, { ...row, resultJson: null })
    if (row.tool !== contextTool || row.resultJson === null) return
    this.chain.add(name, parseResult(row.resultJson))
  }
}
