// "If the worker died now" (C7): what a resume would do with every recorded call of the run's
// present visit. What a record means is said by model/replay, which the engine asks too.

import type { Clock } from '../../clock.ts'
import type { Graph } from '../../model/graph/graph.ts'
import * as limits from '../../model/limits.ts'
import { type Foretold, type ForetoldAction, foretell } from '../../model/replay/foretell.ts'
import { type Opening, openEntries } from '../../model/replay/opening.ts'
import { type CallRecord, keyOf, type Run, type RunRef } from '../../model/run/records.ts'
import { scopeGraph, scopeVisit } from '../../model/run/scope.ts'
import { isEnded } from '../../model/run/states.ts'
import { rowsOf } from '../../store/pages.ts'
import type { LoadAt, Loaded, Store } from '../../store/store.ts'

export type PreviewAction = ForetoldAction

export interface PreviewCall {
  readonly tool: string
  readonly nth: number
  /** With the tool, which record it is: two can have had the same place. */
  readonly inputHash: string
  readonly occurrence: number
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
  /** What is not about a recorded call, and what cannot be seen from outside the worker. */
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
  const loaded = now.run.graph === scopeGraph.name ? await scopesOf(store, now) : [now]
  const places = loaded.map((rows) => ({ rows, opening: openEntries(rows, moment.now) }))
  const tools = graph?.tools ?? new Map()
  const calls = places.flatMap((place) => foretell({ ...place, tools, moment }).map(shown))
  const count = (...actions: PreviewAction[]) =>
    calls.filter((call) => actions.includes(call.action)).length
  return {
    run: now.run,
    calls,
    replay: count('replay'),
    rerun: count('rerun'),
    park: count('park', 'probe', 'wait'),
    notes: [...notesOn(now, graph), ...places.flatMap(besides)],
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

function shown({ record, replayClass, action, why }: Foretold): PreviewCall {
  const { tool, nth, inputHash, occurrence, status, attempt } = record
  return { tool, nth, inputHash, occurrence, replayClass, status, attempt, action, why }
}

/** What waits or is allowed and has no record of its own, so that no call above tells of it. */
function besides({ rows, opening }: { rows: Loaded; opening: Opening }): string[] {
  const { abandoned, places, entries } = opening
  if (abandoned) return [`it was abandoned by ${abandoned.by}: nothing is sent, and it ends`]
  const sends = [...places.values()].flatMap(({ send, decision: { subject } }) => {
    if (!send || subject === null || entries.has(keyOf(subject))) return []
    return [`a person has allowed one send of ${subject.tool}#${subject.nth}`]
  })
  const asked = rows.items
    .filter(({ state, body: { subject } }) => {
      return state === 'open' && !(subject && entries.has(keyOf(subject)))
    })
    .map(({ title }) => `a person is asked already: ${title}`)
  return [...sends, ...asked]
}

function notesOn({ run }: Loaded, graph: Graph | null): string[] {
  if (isEnded(run.state)) return [`the run is ${run.state}: nothing would happen`]
  const notes = []
  if (run.state === 'paused') notes.push('the run is paused: nothing happens before it is resumed')
  if (run.stop) notes.push(`it is to be ${run.stop.to}: whoever takes it does that first`)
  if (run.state === 'running') notes.push('pure calls in flight have no record yet: they run again')
  if (run.claims >= limits.claimsMax) {
    notes.push('its workers died of it again and again: a person is asked before anything is done')
  }
  if (graph === null) {
    notes.push('the graph is not at hand: a tool that has a probe is asked before a person is')
  }
  return notes
}
