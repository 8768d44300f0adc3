// A call of the ledger, for people: one line for what it is, and below it how it came about.

import type { LedgerEntry } from '../../client/ledger/ledger.ts'
import { iso } from '../../client/wire/iso.ts'
import { systemClock } from '../../clock.ts'
import { isMarked } from '../../model/decisions/outcomes.ts'
import { numberOfAttempt } from '../../model/run/attempt-id.ts'
import type { Attempt, CallRecord, Decision, Evidence, Run } from '../../model/run/records.ts'
import { scopeGraph } from '../../model/run/scope.ts'
import type { Sealed } from '../../store/store.ts'
import type { Cli } from '../cli.ts'
import { field, jsonField } from './fields.ts'
import { clean, clip, relative } from './text.ts'

const margin = 4

/** A foreign runtime's visit goes by the ids that it gave. */
export function visitTitle(run: Run, { record, generation, visit }: LedgerEntry): string {
  if (run.graph === scopeGraph.name) return `${record.nodeId}, ${record.checkpointId}`
  const again = generation === 0 ? '' : `, generation ${generation}`
  return `visit ${visit}, node ${record.nodeId}${again}`
}

export function entryLines(cli: Cli, entry: LedgerEntry, full: boolean): string[] {
  const { record, attempts, evidence, decisions } = entry
  return [
    headLine(cli, record),
    ...(full ? fullLines(cli, record) : []),
    ...attempts.flatMap((row) => attemptWords(cli, row, entry)),
    ...evidence.flatMap((row) => evidenceWords(cli, row)),
    ...decisions.flatMap((row) => decisionWords(cli, row, margin)),
  ]
}

function headLine(cli: Cli, record: Sealed<CallRecord>): string {
  const { colors, width } = cli.out
  const name = clip(`${record.tool}#${record.nth}`, 30)
  const state = stateWords(record)
  const bad = !record.verifies || record.status === 'failed'
  const good = record.status === 'committed' ? colors.green : colors.yellow
  const more = `${record.replayClass}${record.externalId === null ? '' : `  ${record.externalId}`}`
  const room = width - 2 - name.length - 2 - state.length - 2
  return `  ${name}  ${(bad ? colors.red : good)(state)}  ${colors.dim(clip(clean(more), room))}`
}

function stateWords({
  status,
  verifies,
  unresolved,
  resultJson,
  resultDigest,
}: Sealed<CallRecord>) {
  const blob = !verifies && resultJson === null && resultDigest !== null
  const marks = [
    ...(verifies ? [] : [blob ? 'altered, or its blob is' : 'altered']),
    ...(unresolved ? ['outcome unknown'] : []),
  ]
  return [status, ...marks].join(', ')
}

function fullLines(cli: Cli, record: Sealed<CallRecord>): string[] {
  const text = (name: string, value: string | null) =>
    value === null ? [] : field(cli, name, value, { margin })
  const json = (name: string, value: string | null) =>
    value === null
      ? []
      : jsonField(cli, name, JSON.parse(value), {
          margin,
          lineMax: Number.POSITIVE_INFINITY,
          wrapped: true,
        })
  const times = [`made ${iso(record.createdAt)}`]
  if (record.settledAt !== null) times.push(`settled ${iso(record.settledAt)}`)
  return [
    ...json('input', record.inputJson),
    ...json('result', record.resultJson),
    ...(record.resultJson === null ? text('blob', record.resultDigest) : []),
    ...json('error', record.errorJson),
    ...json('usage', record.usageJson),
    ...text('key', record.idempotencyKey),
    ...text('key until', iso(record.expiresAt)),
    ...text('times', times.join(', ')),
    ...text('hash', `${record.inputHash}, occurrence ${record.occurrence}`),
    ...text('span', record.spanId),
    ...text('worker', `${record.workerId}, fence ${record.fence}`),
  ]
}

function attemptWords(cli: Cli, row: Sealed<Attempt>, entry: LedgerEntry): string[] {
  const sent = `sent ${iso(row.dispatchedAt)} by ${row.workerId}`
  const altered = row.verifies ? '' : ', altered'
  const text = `${endOf(row, entry)}${altered}; ${sent}`
  return field(cli, `attempt ${row.attempt}`, text, { margin })
}

/** An attempt that was answered has no end of its own: the receipt is written instead. */
function endOf(row: Attempt, { record, decisions, evidence }: LedgerEntry): string {
  const { dispatchedAt } = row
  if (row.endedAt !== null) return `${row.outcome} after ${took(row.endedAt - dispatchedAt)}`
  const told = decisions.some(({ outcome }) => isMarked(outcome, 'answers'))
  const last = row.attempt === record.attempt && evidence.length === 0 && !told
  if (!last || record.status !== 'committed' || record.settledAt === null) {
    return 'no end on record'
  }
  return `answered after ${took(record.settledAt - dispatchedAt)}`
}

function took(ms: number): string {
  return ms < 1_000 ? `${Math.max(0, Math.round(ms))} ms` : `${(ms / 1_000).toFixed(1)} s`
}

function evidenceWords(cli: Cli, row: Sealed<Evidence>): string[] {
  const id = row.externalId === null ? '' : `, ${row.externalId}`
  const altered = row.verifies ? '' : ', altered'
  const text = `attempt ${numberOfAttempt(row.attemptId)} ${row.outcome}`
  return field(cli, 'evidence', `${text}${id}${altered}; learnt ${iso(row.at)}`, { margin })
}

export function decisionWords(cli: Cli, row: Sealed<Decision>, indent: number): string[] {
  const marks = [
    row.outcome,
    ...(row.verifies ? [] : ['altered']),
    ...(row.madeSure ? ['made sure'] : []),
    ...(row.voidedAt === null ? [] : ['voided by evidence']),
  ]
  const proof = row.evidence === null ? '' : ` (${row.evidence})`
  const when = relative(row.at, systemClock.now())
  const text = `${marks.join(', ')}, by ${row.by} ${when}: ${row.why}${proof}`
  return field(cli, 'decision', text, { margin: indent })
}
