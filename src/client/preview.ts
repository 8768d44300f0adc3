// "If the worker died now" (C7): what a resume would do with every recorded call of the run's present
// visit, by the same verdict that the engine asks.
import type { Clock } from '../clock.ts'
import type { Graph } from '../model/graph.ts'
import {
  type Attempt,
  type CallRecord,
  callKeyOfAttempt,
  isAsked,
  isHeld,
  keyOf,
  type Outcome,
  type Run,
  type RunRef,
} from '../model/records.ts'
import { isEnded } from '../model/run-state.ts'
import { stricter } from '../model/tool.ts'
import { type Verdict, verdict } from '../model/verdict.ts'
import type { Loaded, Sealed, Store } from '../store/store.ts'

/**
 * `replay`: its recorded result or failure is given again. `rerun`: it is sent (again). `probe`: its
 * upstream is asked first, and a person if that does not know. `park`: a person is asked. `wait`: a
 * person is being asked already, or will be asked the same again.
 */
export type PreviewAction = 'replay' | 'rerun' | 'probe' | 'park' | 'wait'

export interface PreviewCall {
  readonly tool: string
  readonly nth: number
  readonly replayClass: string
  readonly status: CallRecord['status']
  readonly attempt: number
  readonly action: PreviewAction
  readonly why: string
}

export interface Preview {
  readonly run: Run
  readonly calls: readonly PreviewCall[]
  readonly replay: number
  readonly rerun: number
  readonly park: number
  /** What cannot be seen from outside the worker. */
  readonly notes: readonly string[]
}

export async function previewRun(
  store: Store,
  clock: Clock,
  graphs: ReadonlyMap<string, Graph>,
  ref: RunRef,
): Promise<Preview | null> {
  const now = await store.load(ref)
  if (now === null) return null
  const graph = graphs.get(`${now.run.graph}@${now.run.version}`) ?? null
  const calls = now.records.map((record) => previewOf(now, record, graph, clock.now()))
  const count = (...actions: PreviewAction[]) =>
    calls.filter((call) => actions.includes(call.action)).length
  return {
    run: now.run,
    calls,
    replay: count('replay'),
    rerun: count('rerun'),
    park: count('park', 'probe', 'wait'),
    notes: notesOn(now, graph),
  }
}

function previewOf(
  now: Loaded,
  record: Sealed<CallRecord>,
  graph: Graph | null,
  at: number,
): PreviewCall {
  const tool = graph?.tools.get(record.tool)
  const replayClass = tool ? stricter(record.replayClass, tool.replayClass) : record.replayClass
  const decision = now.decisions.findLast(
    (row) => row.subject !== null && keyOf(row.subject) === keyOf(record) && isOpen(row),
  )
  const final = record.status === 'committed' || record.status === 'failed'
  const decided = decision !== undefined && !final
  const said = verdict({
    replayClass,
    decided,
    record: {
      status: record.status,
      verifies: record.verifies,
      unknownAttempts: unknownAttempts(now.attempts, record),
      keyWindow: record.expiresAt === null || at < record.expiresAt ? 'open' : 'closed',
      callback: isAsked(record.tool) || isHeld(record) ? 'open' : 'none',
    },
    unmatched: false,
    quiet: false,
    unresolved: false,
    probe: tool?.rules.probe ? 'unasked' : 'none',
  })
  const { tool: name, nth, status, attempt } = record
  const call = { tool: name, nth, replayClass, status, attempt }
  if (said.do === 'obey' && allows.includes(decision?.outcome ?? 'fail') && !isAsked(name)) {
    return { ...call, action: 'rerun', why: 'a person has allowed one send' }
  }
  return { ...call, ...inWords(said) }
}

const allows: readonly Outcome[] = ['did_not_happen', 'send', 'approve', 'edit']

function isOpen(decision: Loaded['decisions'][number]): boolean {
  return decision.verifies && decision.usedBy === null && decision.voidedAt === null
}

function unknownAttempts(attempts: readonly Sealed<Attempt>[], record: CallRecord): number {
  const certain = attempts.filter(
    (row) =>
      callKeyOfAttempt(row.attemptId) === keyOf(record) &&
      row.verifies &&
      (row.outcome === 'refused' || row.outcome === 'not_sent'),
  )
  return Math.max(0, record.attempt - certain.length)
}

const words: Record<Verdict['do'], readonly [PreviewAction, string]> = {
  obey: ['replay', 'a person has decided it'],
  return: ['replay', 'its receipt answers'],
  throw: ['replay', 'it failed for certain, and fails again'],
  stay_parked: ['wait', 'a person is asked already'],
  wait_for_quiet: ['park', 'no record matches'],
  wait_for_callback: ['wait', 'a person is asked already'],
  probe: ['probe', 'its upstream is asked whether it landed'],
  record_probe: ['replay', 'its upstream says that it landed'],
  dispatch: ['rerun', 'it was certainly not sent'],
  resend: ['rerun', 'with the same key'],
  doubt: ['park', 'nobody knows whether it happened'],
}

function inWords(said: Verdict): { action: PreviewAction; why: string } {
  const [action, why] = words[said.do]
  return {
    action,
    why: said.do === 'doubt' && said.reason === 'tampered' ? 'its record was altered' : why,
  }
}

function notesOn({ run }: Loaded, graph: Graph | null): string[] {
  if (isEnded(run.state)) return [`the run is ${run.state}: nothing would happen`]
  const notes = []
  if (run.state === 'running') notes.push('pure calls in flight have no record yet: they run again')
  if (graph === null) {
    notes.push('the graph is not at hand: a tool that has a probe is asked before a person is')
  }
  return notes
}
