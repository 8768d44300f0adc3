// What people and signals said to a recorded run, word by word, and to what they said it.
import {
  type CallRecord,
  type Decision,
  isAsked,
  keyOf,
  type Run,
  type Subject,
} from '../../../model/run/records.ts'
import type { InboxPort, LedgerPort } from '../../../store/store.ts'
import type { Ruling } from '../types.ts'

export interface Word {
  readonly runId: string
  /** A title, a signal's name, or the tool of a call that was held. */
  readonly about: string
  /** The very call, as `callAt` names it; null for signals. */
  readonly call: string | null
  readonly value: unknown
}

/** A call's name within its run: the same in every run that takes the same way. */
export function callAt(visit: number, subject: Omit<Subject, 'nth'>): string {
  return `${visit}/${keyOf(subject)}`
}

/** What was said to what the node itself asked. */
export function answerOf(record: CallRecord): Word[] {
  const { tool, runId, inputJson, resultJson, checkpointId } = record
  if (!isAsked(tool) || inputJson === null || resultJson === null) return []
  const { title } = JSON.parse(inputJson) as { title: string }
  const said = JSON.parse(resultJson)
  const value = tool === 'counterfoil.ask' ? said.answer : rulingOf(said)
  const visit = Number(checkpointId.split('#')[2])
  return [{ runId, about: title, call: callAt(visit, record), value }]
}

function rulingOf(said: { outcome: string; approved: boolean; data: unknown; answer: unknown }) {
  if (said.outcome === 'edit') return { edit: said.data } satisfies Ruling
  if (said.outcome === 'respond') return { respond: said.answer } satisfies Ruling
  return (said.approved ? 'approve' : 'reject') satisfies Ruling
}

/** What was said about calls that the gate held: their records do not tell, decisions do. */
export async function heldOf(store: LedgerPort & InboxPort, run: Run): Promise<Word[]> {
  const decisions = await store.listDecisions(run)
  return decisions
    .filter(({ verifies, generation }) => verifies && generation === run.generation)
    .flatMap(heldWord)
}

function heldWord({ runId, kind, subject, visit, outcome, resultJson }: Decision): Word[] {
  if (kind !== 'approval' || subject === null || isAsked(subject.tool)) return []
  const result = resultJson === null ? null : JSON.parse(resultJson)
  const rulings: Partial<Record<typeof outcome, Ruling>> = {
    approve: 'approve',
    reject: 'reject',
    edit: { edit: result },
    // A held call whose time is over is not sent.
    respond: { respond: result },
    expire: 'reject',
  }
  const value = rulings[outcome]
  return value ? [{ runId, about: subject.tool, call: callAt(visit, subject), value }] : []
}

export function signalOf({ tool, runId, resultJson }: CallRecord): Word[] {
  if (tool !== 'counterfoil.signal' || resultJson === null) return []
  const said = JSON.parse(resultJson) as { name: string; data: unknown } | null
  return said === null ? [] : [{ runId, about: said.name, call: null, value: said.data ?? null }]
}
