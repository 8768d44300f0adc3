// Checks the history of every run of a store against itself and against the upstream's own log:
// one winner for each fence, no receipt without its effect, no effect without its intent, and
// nothing durable that follows from something that is not. True at the end, and of the file as a
// dead process has left it.

import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyLedger } from '../../src/client/ledger/verify.ts'
import { open } from '../../src/index.ts'
import { attemptName, callOfAttempt } from '../../src/model/run/attempt-id.ts'
import { type CallRecord, keyOf, type Run } from '../../src/model/run/records.ts'
import { scopeGraph, scopeVisit } from '../../src/model/run/scope.ts'
import { rowsOf } from '../../src/store/pages.ts'
import type { Store } from '../../src/store/store.ts'
import type { Effect } from './driver.ts'

/** Tools of the loads that act upstream. */
const acting = ['mail', 'charge', 'fetched', 'post']

/** Everything that is wrong with the runs of this store, in words. */
export async function checkHistory(store: Store, effects: readonly Effect[]): Promise<string[]> {
  const { findings } = await verifyLedger(store, { namespace: 'default' })
  const wrong = findings.map(
    (each) => `${each.runId} ${each.kind} ${each.subject}: ${each.message}`,
  )
  const byRun = new Map<string, Effect[]>()
  for (const effect of effects) {
    const runId = runIdOf(effect)
    byRun.set(runId, [...(byRun.get(runId) ?? []), effect])
  }
  for await (const run of rowsOf((page) => store.listRuns({ namespace: 'default', ...page }))) {
    const mine = byRun.get(run.runId) ?? []
    byRun.delete(run.runId)
    const found = await new RunHistory(store, run, mine).check()
    wrong.push(...found.map((each) => `${run.runId}: ${each}`))
  }
  for (const runId of byRun.keys()) wrong.push(`${runId}: it has effects, and there is no such run`)
  return wrong
}

/** The file of a dead process, as it was left: the copy is read, and nothing of it is changed. */
export async function checkCopy(db: string, effects: readonly Effect[]): Promise<string[]> {
  // It died before there was anything.
  if (!existsSync(db) || !existsSync(`${db}.key`)) return []
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-copy-'))
  const copy = join(folder, 'runs.db')
  for (const end of ['', '-wal', '.key']) {
    if (existsSync(`${db}${end}`)) copyFileSync(`${db}${end}`, `${copy}${end}`)
  }
  try {
    const blobDir = `${db}.blobs`
    const cf = await open({ store: `sqlite:${copy}`, blobDir, onWarning: () => {} })
    try {
      const wrong = await checkHistory(cf.store, effects)
      return wrong.map((each) => `as it was left: ${each}`)
    } finally {
      await cf.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function runIdOf({ runId, input }: Effect): string {
  return runId ?? (input as { to: string }).to
}

class RunHistory {
  private readonly store: Store
  private readonly run: Run
  private readonly effects: readonly Effect[]
  private readonly wrong: string[] = []
  private attempts: { attemptId: string; workerId: string; fence: number }[] = []

  constructor(store: Store, run: Run, effects: readonly Effect[]) {
    this.store = store
    this.run = run
    this.effects = effects
  }

  async check(): Promise<string[]> {
    const { store, run } = this
    this.attempts = await store.listAttempts(run)
    const records: CallRecord[] = []
    for await (const row of rowsOf((page) => store.listRecords(run, page))) records.push(row)
    const winners = await this.winners()
    for (const { attemptId, workerId, fence } of this.attempts) {
      if (winners.get(fence) !== workerId) {
        this.wrong.push(`${attemptId} was sent by ${workerId}, who had not won fence ${fence}`)
      }
    }
    this.checkEffects()
    for (const record of records) this.checkReceipt(record)
    await this.checkPrefix(records)
    return this.wrong
  }

  /** Each fence was given once, one after the other. */
  private async winners(): Promise<Map<number, unknown>> {
    const winners = new Map<number, unknown>()
    const { store, run } = this
    for await (const { kind, data } of rowsOf((page) => store.listEvents(run, page))) {
      if (kind !== 'claimed' && kind !== 'taken_over') continue
      const fence = Number(data['fence'])
      if (winners.has(fence)) this.wrong.push(`fence ${fence} was won twice`)
      if (fence !== winners.size + 1) this.wrong.push(`fence ${fence} after ${winners.size} claims`)
      winners.set(fence, data['worker'])
    }
    return winners
  }

  private checkEffects(): void {
    const known = new Set(this.attempts.map(({ attemptId }) => attemptName(attemptId)))
    for (const { tool, attemptId } of this.effects) {
      // A host asks its model by itself, and may ask it again.
      if (tool === 'model' && attemptId === null) continue
      if (!known.has(attemptId ?? '')) this.wrong.push(`no intent for effect ${attemptId}`)
    }
  }

  private checkReceipt(record: CallRecord): void {
    if (record.status !== 'committed' || !acting.includes(record.tool)) return
    const call = `${this.placeOf(record)}/${keyOf(record)}`
    const own = this.attempts.filter(({ attemptId }) => callOfAttempt(attemptId) === call)
    const names = new Set(own.map(({ attemptId }) => attemptName(attemptId)))
    const landed = this.effects.filter(({ attemptId }) => names.has(attemptId ?? ''))
    if (landed.length === 0) return void this.wrong.push(`a receipt without an effect: ${call}`)
    if (record.resultJson === null) return
    const { id } = JSON.parse(record.resultJson) as { id?: string }
    const ids = landed.map(({ result }) => (result as { id: string }).id)
    if (id !== undefined && !ids.includes(id)) {
      this.wrong.push(`the receipt of ${call} says ${id}, the upstream ${ids.join(', ')}`)
    }
  }

  /** What a call was issued after is on record as well (I1). */
  private async checkPrefix(records: readonly CallRecord[]): Promise<void> {
    const seqs = new Set<string>()
    const add = (place: string, seq: number | null) => seq !== null && seqs.add(`${place}:${seq}`)
    for (const record of records) add(this.placeOf(record), record.seq)
    for (const row of await this.store.listEvidence(this.run)) {
      add(row.attemptId.slice(0, row.attemptId.indexOf('/')), row.seq)
    }
    for (const row of await this.store.listDecisions(this.run)) {
      add(`${row.generation}#${row.visit}`, row.seq)
    }
    for (const record of records) {
      const { after } = record
      const place = this.placeOf(record)
      if (after === 0 || seqs.has(`${place}:${after}`)) continue
      this.wrong.push(`${keyOf(record)} was issued after seq ${after} of ${place}, which is lost`)
    }
  }

  private placeOf({ nodeId, checkpointId }: CallRecord): string {
    const { graph, generation } = this.run
    if (graph === scopeGraph.name) return `${generation}#${scopeVisit(nodeId, checkpointId)}`
    return checkpointId.slice(checkpointId.indexOf('#') + 1)
  }
}
