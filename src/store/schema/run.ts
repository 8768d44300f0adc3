// Runs, their checkpoints, their history, and what is sent to them by name.
import type { Checkpoint, Event, Run, Signal } from '../../model/run/records.ts'
import { allBut, count, describe, type Fields, json, maybe, text, time } from './describe.ts'

/** How a run ended is held still by triggers of their own: it may be retried, and swept. */
export const runs = describe<Run>(
  'runs',
  {
    namespace: text('namespace'),
    runId: text('run_id'),
    graph: text('graph'),
    version: text('version'),
    state: text('state'),
    node: text('node'),
    generation: count('generation'),
    visit: count('visit'),
    reached: count('reached'),
    inputHash: text('input_hash'),
    outputJson: maybe(text('output_json')),
    outputDigest: maybe(text('output_digest')),
    errorJson: maybe(text('error_json')),
    waitingFor: maybe(json('waiting_for')),
    stop: maybe(json('stop')),
    fence: count('fence'),
    workerId: maybe(text('worker_id')),
    arrivals: count('arrivals'),
    claims: count('claims'),
    commitId: maybe(text('commit_id')),
    traceId: text('trace_id'),
    parentRunId: maybe(text('parent_run_id')),
    parentAttemptId: maybe(text('parent_attempt_id')),
    startedBy: maybe(text('started_by')),
    wakeAt: maybe(time('wake_at')),
    endedAt: maybe(time('ended_at')),
    swept: maybe(text('swept')),
    createdAt: time('created_at'),
    updatedAt: time('updated_at'),
  },
  { key: ['namespace', 'runId'] },
)

/** What never changes of a run. An index over it would be written again for nothing. */
export const fixedOfRun = [
  ...(['namespace', 'runId', 'graph', 'inputHash', 'traceId'] as const),
  ...(['parentRunId', 'parentAttemptId', 'startedBy', 'createdAt'] as const),
] as const satisfies readonly (keyof Run)[]

/** How a run ended: these stay as they are, unless it is retried. */
export const endOfRun = [
  ...(['state', 'fence', 'workerId', 'outputJson', 'outputDigest', 'errorJson'] as const),
] as const satisfies readonly (keyof Run)[]

/** A replay from an earlier checkpoint comes to the same visits again, and rewrites them. */
export const checkpoints = describe<Checkpoint>(
  'checkpoints',
  {
    namespace: text('namespace'),
    runId: text('run_id'),
    generation: count('generation'),
    visit: count('visit'),
    node: text('node'),
    version: text('version'),
    schemaVersion: count('schema_version'),
    kind: text('kind'),
    baseVisit: count('base_visit'),
    previous: maybe(text('previous')),
    bodyJson: text('body_json'),
    bodyDigest: maybe(text('body_digest')),
    digest: text('digest'),
    createdAt: time('created_at'),
  },
  { key: ['namespace', 'runId', 'generation', 'visit'] },
)

const eventFields: Fields<Event> = {
  namespace: text('namespace'),
  runId: text('run_id'),
  at: time('at'),
  kind: text('kind'),
  generation: count('generation'),
  visit: count('visit'),
  data: json('data_json'),
}

export const events = describe<Event>('events', eventFields, {
  final: { fixed: allBut(eventFields, []), once: [], says: 'an event' },
  kept: 'an event is never deleted',
})

const signalFields: Fields<Signal> = {
  namespace: text('namespace'),
  runId: text('run_id'),
  signalId: text('signal_id'),
  name: text('name'),
  dataJson: maybe(text('data_json')),
  at: time('at'),
  usedBy: maybe(text('used_by')),
}

export const signals = describe<Signal>('signals', signalFields, {
  key: ['namespace', 'runId', 'signalId'],
  sealed: { as: 'signal', fields: allBut(signalFields, []) },
  final: {
    fixed: allBut(signalFields, ['usedBy']),
    once: [['usedBy']],
    again: 'usedBy',
    says: 'a signal can only be taken, and once',
  },
  kept: 'a signal is never deleted',
})
