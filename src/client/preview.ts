// "If the worker died now" (C7): what a resume would do with every recorded call of the run's
// present visit, by the same verdict that the engine asks.

import type { Clock } from '../clock.ts'
import { numberOfAttempt, ofCall } from '../model/attempt-id.ts'
import { setAside } from '../model/carried.ts'
import type { Graph } from '../model/graph.ts'
import { type KeyRules, keyUseOf, keyWindow, type Moment } from '../model/key-window.ts'
import * as limits from '../model/limits.ts'
import {
  type CallRecord,
  type Decision,
  isAsked,
  isHeld,
  isWait,
  keyOf,
  type Run,
  type RunRef,
} from '../model/records.ts'
import { isEnded } from '../model/run-state.ts'
import { scopeGraph, scopeVisit } from '../model/scope.ts'
import { stricter, type Tool } from '../model/tool.ts'
import { unknownAttempts } from '../model/unknown-attempts.ts'
import { type Verdict, verdict } from '../model/verdict.ts'
import {
  answeredWaits,
  SignalPool,
  signalTool,
  sleepTool,
  spawnTool,
  trustedSignals,
} from '../model/waits.ts'
import { rowsOf } from '../store/pages.ts'
import type { LoadAt, Loaded, Sealed, Store } from '../store/store.ts'

/**
 * `replay`: its recorded result or failure is given again. `rerun`: it is sent (again). `probe`:
 * its upstream is asked first, and a person if that does not know. `park`: a person is asked.
 * `wait`: for a person who is asked already, a time, a signal, a child or a callback: as before.
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
  const moment = { now: clock.now(), steady: store.steadyNow() }
  const places = now.run.graph === scopeGraph.name ? await scopesOf(store, now) : [now]
  const calls = places.flatMap((place) => {
    const over = wakened(place, moment.now)
    const aside = setAside(place.records, now.run)
    const isNobodys = (record: Sealed<CallRecord>) =>
      aside.has(record) && (graph?.tools.get(record.tool)?.replayClass ?? 'pure') === 'pure'
    return place.records
      .filter((record) => !isReplaced(place, record))
      .map((record) =>
        isNobodys(record) ? asideCall(record) : previewOf(place, record, graph, moment, over),
      )
  })
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

/** A foreign workflow's scopes that have calls without an end; the others replay as they are. */
async function scopesOf(store: Store, { run }: Loaded): Promise<Loaded[]> {
  const open = new Map<string, LoadAt>()
  for await (const { status, nodeId, checkpointId } of rowsOf((page) =>
    store.listRecords(run, page),
  )) {
    if (status !== 'pending' && status !== 'in_doubt') continue
    const visit = scopeVisit(nodeId, checkpointId)
    open.set(`${visit}`, { visit, scope: { nodeId, checkpointId } })
  }
  const loaded = await Promise.all([...open.values()].map((at) => store.load(run, at)))
  return loaded.filter((place) => place !== null)
}

function previewOf(
  now: Loaded,
  record: Sealed<CallRecord>,
  graph: Graph | null,
  moment: Moment,
  over: ReadonlySet<string>,
): PreviewCall {
  const tool = graph?.tools.get(record.tool)
  const replayClass = tool ? stricter(record.replayClass, tool.replayClass) : record.replayClass
  const { tool: name, nth, attempt } = record
  const call = { tool: name, nth, replayClass, status: record.status, attempt }
  const decision = decisionAbout(now, record)
  const unknown = unknownOf(now, record)
  if (decision === null && isLearnt(now, record, unknown)) {
    return { ...call, action: 'replay', why: 'what was learnt late answers' }
  }
  if (over.has(keyOf(record))) {
    return { ...call, action: 'replay', why: 'what it waited for has come' }
  }
  const said = verdict({
    replayClass,
    decided: decision !== null,
    record: {
      status: record.status === 'in_doubt' && unknown === 0 ? 'pending' : record.status,
      verifies: record.verifies,
      unknownAttempts: unknown,
      keyWindow: keyWindow(keyUseOf(record, now.attempts), tool?.rules ?? unknownTool, moment),
      callback: waits(record, tool, moment.now) ? 'open' : 'none',
    },
    unmatched: false,
    quiet: false,
    unresolved: false,
    alike: 'none',
    probe: tool?.rules.probe ? 'unasked' : 'none',
  })
  if (decision && allows.includes(decision.outcome) && !isAsked(name)) {
    return { ...call, action: 'rerun', why: 'a person has allowed one send' }
  }
  return { ...call, ...inWords(said, record) }
}

/** A pure call of another version that no effect followed from. */
function asideCall({ tool, nth, replayClass, status, attempt }: CallRecord): PreviewCall {
  const why = 'its record is of another version, and no effect followed from it'
  return { tool, nth, replayClass, status, attempt, action: 'rerun', why }
}

/** Of a tool that is not at hand: what most say. */
const unknownTool: KeyRules = { keyTtlMs: null, keyMarginMs: limits.timeoutMs }

/** Ends by something that is still to come: an answer, a time, a signal, a child, a callback. */
function waits(record: CallRecord, tool: Tool | undefined, at: number): boolean {
  if (isAsked(record.tool) || isWait(record.tool) || isHeld(record)) return true
  const asynchronous = tool ? tool.rules.callbackMs !== null : true
  return asynchronous && record.dueAt !== null && at < record.dueAt
}

/** Waits whose signal or time has come since: a resume finds them answered. */
function wakened({ records, signals }: Loaded, now: number): Set<string> {
  const open = records.map((record) => ({ record, verifies: record.verifies, settled: null }))
  const pool = new SignalPool(trustedSignals(signals))
  return new Set(answeredWaits(open, pool, now).map(({ entry }) => keyOf(entry.record)))
}

const allows: readonly Decision['outcome'][] = ['did_not_happen', 'send', 'approve', 'edit']

function isFinal({ status }: CallRecord): boolean {
  return status === 'committed' || status === 'failed'
}

/** A failed call that was sent again has a record of its own since: this one is nobody's. */
function isReplaced({ decisions }: Loaded, record: CallRecord): boolean {
  return decisions.some(
    (row) => row.reason === 'failed' && row.usedBy !== null && isAbout(row, record),
  )
}

function isAbout({ subject }: Decision, record: CallRecord): boolean {
  return subject !== null && keyOf(subject) === keyOf(record)
}

/** What a person said about this call, if it is still to be obeyed. */
function decisionAbout(now: Loaded, record: Sealed<CallRecord>): Decision | null {
  const open = now.decisions.filter(
    (row) => row.verifies && row.usedBy === null && row.voidedAt === null,
  )
  const mine = open.findLast((row) => {
    if (row.reason === 'failed') return isAbout(row, record) && !voids(now, record, row)
    if (isFinal(record)) return false
    if (row.outcome === 'use_record') return givesRecord(row, record)
    return isAbout(row, record) && row.reason !== 'drift'
  })
  // Asked anew since, or about a row that was altered: then it does not count.
  if (mine === undefined || (mine.kind === 'approval' && isAsking(now, record))) return null
  return allows.includes(mine.outcome) && !record.verifies ? null : mine
}

/** Evidence that it had landed voids a send that was not used (I11). */
function voids({ attempts }: Loaded, record: CallRecord, { outcome }: Decision): boolean {
  const own = ofCall(attempts, keyOf(record))
  return outcome === 'send' && own.some((row) => row.outcome === 'landed')
}

function givesRecord(row: Decision, record: CallRecord): boolean {
  const { record: given, resultJson, reason } = row
  return (
    reason !== 'same_effect' &&
    given !== null &&
    resultJson !== null &&
    keyOf(given) === keyOf(record)
  )
}

function isAsking({ items }: Loaded, record: CallRecord): boolean {
  return items.some(
    ({ kind, state, body: { subject } }) =>
      kind === 'approval' && state === 'open' && subject && keyOf(subject) === keyOf(record),
  )
}

/** Whether late evidence settles the call: it landed, or every attempt is certain not to have. */
function isLearnt({ evidence }: Loaded, record: Sealed<CallRecord>, unknown: number): boolean {
  if (isFinal(record) || !record.verifies) return false
  return ofCall(evidence, keyOf(record)).some(
    (row) =>
      row.verifies && (row.outcome === 'landed' || (row.outcome === 'refused' && unknown === 0)),
  )
}

/** A grant that was used rules out the attempts before it. */
function unknownOf({ attempts, decisions, evidence }: Loaded, record: CallRecord): number {
  const grants = decisions
    .filter((row) => row.outcome === 'did_not_happen' && row.verifies && isAbout(row, record))
    .map(({ usedBy }) => (usedBy === null ? 0 : numberOfAttempt(usedBy)))
  const own = ofCall(attempts, keyOf(record))
  return unknownAttempts(record, own, evidence, Math.max(1, ...grants))
}

const words: Record<Verdict['do'], readonly [PreviewAction, string]> = {
  obey: ['replay', 'a person has decided it'],
  return: ['replay', 'its receipt answers'],
  throw: ['replay', 'it failed for certain, and fails again'],
  copy: ['replay', 'the receipt of the same call answers'],
  stay_parked: ['wait', 'a person is asked already'],
  wait_for_quiet: ['park', 'no record matches'],
  wait_for_callback: ['wait', 'its upstream is to call back'],
  probe: ['probe', 'its upstream is asked whether it landed'],
  record_probe: ['replay', 'its upstream says that it landed'],
  dispatch: ['rerun', 'it was certainly not sent'],
  resend: ['rerun', 'with the same key'],
  doubt: ['park', 'nobody knows whether it happened'],
}

/** What is waited for without a call, and by whom it ends. */
const waitWords: Readonly<Record<string, string>> = {
  [sleepTool]: 'it sleeps, and goes on sleeping until the same time',
  [signalTool]: 'it waits for its signal',
  [spawnTool]: 'it waits for its child, which is started already',
}

function inWords(said: Verdict, record: CallRecord): { action: PreviewAction; why: string } {
  const [action, why] = words[said.do]
  if (said.do === 'wait_for_callback') {
    const asked = isAsked(record.tool) || isHeld(record) ? words.stay_parked[1] : why
    return { action, why: waitWords[record.tool] ?? asked }
  }
  return {
    action,
    why: said.do === 'doubt' && said.reason === 'tampered' ? 'its record was altered' : why,
  }
}

function notesOn({ run }: Loaded, graph: Graph | null): string[] {
  if (isEnded(run.state)) return [`the run is ${run.state}: nothing would happen`]
  const notes = []
  if (run.state === 'paused') notes.push('the run is paused: nothing happens before it is resumed')
  if (run.stop) notes.push(`it is to be ${run.stop.to}: whoever takes it does that first`)
  if (run.state === 'running') notes.push('pure calls in flight have no record yet: they run again')
  if (graph === null) {
    notes.push('the graph is not at hand: a tool that has a probe is asked before a person is')
  }
  return notes
}
