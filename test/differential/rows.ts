// The rows that an operation means, made for the run as it is when its turn comes.
import { attemptPlace } from '../../src/model/run/attempt-id.ts'
import { callKey, type Notice, type Run, type RunRef } from '../../src/model/run/records.ts'
import { runStates, transitions } from '../../src/model/run/states.ts'
import type { Authority, Changes, RunChange } from '../../src/store/store.ts'
import * as fixtures from '../../src/testing/store/fixtures.ts'
import type { ChangesSpec } from './operations.ts'

const receipt = { committed: { resultJson: '{"id":"m1"}' }, failed: { errorJson: '{"code":"X"}' } }

function attemptId(call: number, visit: number, nth: number): string {
  return attemptPlace(0, visit, callKey('send', `h${call}`, 0), nth)
}

type Spec<K extends keyof ChangesSpec> = NonNullable<ChangesSpec[K]> extends (infer R)[] ? R : never

function recordOf(run: Run, spec: Spec<'records'>) {
  const { call, visit, status, replayClass, attempt, moved, unresolved } = spec
  const isKeyed = replayClass === 'idempotent_with_key'
  const ended = status === 'committed' || status === 'failed'
  return fixtures.record(call, {
    ...{ namespace: run.namespace, runId: run.runId, checkpointId: `1.0.0#0#${visit}` },
    ...{ status, replayClass, attempt, fence: run.fence, workerId: run.workerId ?? 'w0' },
    ...{ idempotencyKey: isKeyed ? `k${call}` : null, expiresAt: isKeyed ? 9_000 : null },
    ...(ended ? { ...receipt[status], seq: call, settledAt: 3_000 } : {}),
    ...{ createdAt: 2_000 + call + (moved ? 1 : 0), unresolved },
  })
}

function attemptOf(run: Run, spec: Spec<'attempts'>) {
  const { call, visit, nth, outcome, token, beat, moved } = spec
  return fixtures.attempt(call, {
    ...{ namespace: run.namespace, runId: run.runId, attemptId: attemptId(call, visit, nth) },
    ...{ attempt: nth, outcome, endedAt: outcome === null ? null : 2_900 },
    ...{ dispatchedAt: 2_000 + call + (moved ? 1 : 0) },
    ...{
      tokenHash: token === 1 ? `t-${run.namespace}-${run.runId}-${call}-${visit}-${nth}` : null,
    },
    ...(beat ? { beatAt: 2_500, beatJson: '1' } : {}),
  })
}

function itemOf(run: Run, now: number, spec: Spec<'items'>) {
  const { id, state, version, dueMs, noticed } = spec
  return fixtures.item(`i${id}`, {
    ...{ namespace: run.namespace, runId: run.runId, state, version, visit: run.visit },
    ...{ dueAt: dueMs === null ? null : now + dueMs, overdueAt: noticed ? now : null },
    ...(state === 'open' ? {} : { closedAt: 5_500, closedBy: 'ana' }),
  })
}

function noticeOf(run: Run, { id, said }: Spec<'notices'>): Notice {
  const { namespace, runId } = run
  const noticeId = `n${id}`
  const rest = { kind: 'doubt', itemId: null, at: 5_000, dataJson: `${said}` } as const
  return { namespace, runId, noticeId, ...rest }
}

function childOf(run: Run, { id, stranger }: Spec<'children'>) {
  const { namespace } = run
  const parentRunId = stranger ? 'r1' : run.runId
  const made = fixtures.newRun(`${run.runId}-k${id}`, {
    ...{ namespace, graph: run.graph, parentRunId, parentAttemptId: attemptId(1, 1, 1) },
  })
  return inNamespace(made, namespace)
}

/** Fixtures make rows of one namespace. */
export function inNamespace(made: ReturnType<typeof fixtures.newRun>, namespace: string) {
  const checkpoint = made.checkpoint && { ...made.checkpoint, namespace }
  return { run: { ...made.run, namespace }, checkpoint, event: { ...made.event, namespace } }
}

function changeOf(
  run: Run,
  now: number,
  spec: NonNullable<ChangesSpec['run']>,
  wild: boolean,
): RunChange {
  const { waits, output, error, stop, digest, wakeMs, state: nth, release, ...rest } = spec
  const waitingFor = { kind: 'doubt', items: ['i0'], since: now, queue: 'default' } as const
  const legal = wild ? runStates : transitions[run.state].filter((next) => next !== 'running')
  const state = nth === undefined ? undefined : legal[nth % legal.length]
  const plain = {
    ...{ ...rest, state },
    // A holder gives a run back with another state.
    release: wild || (state ?? run.state) !== 'running' ? release : undefined,
  }
  return {
    ...Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined)),
    ...(waits === undefined ? {} : { waitingFor: waits ? waitingFor : null }),
    ...(output === undefined ? {} : { outputJson: `${output}` }),
    ...(error === undefined ? {} : { errorJson: `{"n":${error}}` }),
    ...(digest === undefined ? {} : { outputDigest: digest === null ? null : `d${digest}` }),
    ...(wakeMs === undefined ? {} : { wakeAt: wakeMs === null ? null : now + wakeMs }),
    ...(stop === undefined ? {} : { stop: stop && { to: stop, by: 'ana', why: 'so', at: now } }),
    ...(plain.visit === undefined ? {} : { node: `n${plain.visit}` }),
  }
}

export type By = Authority | 'holder'

const mine: Record<By, readonly (keyof Changes)[]> = {
  holder: [
    ...(['records', 'attempts', 'evidence', 'items', 'decisions', 'events'] as const),
    ...(['checkpoints', 'signals', 'children', 'notices', 'run'] as const),
  ],
  client: ['items', 'decisions', 'events', 'signals', 'notices', 'run'],
  evidence: ['evidence', 'attempts', 'items', 'decisions', 'events', 'notices', 'run'],
}

/** A row in one form; what a wild change has is left as it is. */
function once<T>(rows: T[] | undefined, key: (row: T) => unknown, wild: boolean): T[] | undefined {
  return wild ? rows : rows && [...new Map(rows.map((row) => [key(row), row])).values()]
}

/** Only what a change of this kind has, and whoever makes it may have. */
export function changesOf(run: Run, now: number, spec: ChangesSpec, by: By): Changes {
  const ref: RunRef = { namespace: run.namespace, runId: run.runId }
  const { generation } = run
  const { wild } = spec
  const made: { [K in keyof Changes]?: Changes[K] | undefined } = {
    records: once(spec.records, ({ call, visit }) => call + 10 * visit, wild)?.map((row) =>
      recordOf(run, row),
    ),
    attempts: spec.attempts
      ?.map((row) => (by === 'evidence' && !wild ? { ...row, beat: true } : row))
      .map((row) => attemptOf(run, row)),
    evidence: spec.evidence?.map(({ call, visit, outcome, seq, said }) =>
      fixtures.evidence(call, {
        ...{ ...ref, attemptId: attemptId(call, visit, 1), outcome, seq, externalId: `m${said}` },
      }),
    ),
    items: spec.items?.map((row) => itemOf(run, now, row)),
    decisions: spec.decisions?.map(({ id, outcome, seq, used, voided }) =>
      fixtures.decision(`d${id}`, {
        ...{ ...ref, outcome, seq, visit: run.visit, usedBy: used ? attemptId(1, 1, 2) : null },
        ...{ voidedAt: voided || (by === 'evidence' && !wild) ? 6_500 : null },
      }),
    ),
    events: spec.events?.map(({ kind }) => ({ ...fixtures.event(kind), ...ref, at: now })),
    checkpoints: spec.checkpoints?.map(({ visit, digest }) =>
      fixtures.checkpoint(run.runId, { ...ref, generation, visit, digest: `d${digest}` }),
    ),
    signals: spec.signals?.map(({ id, taken, said }) => {
      const used = wild ? taken : by === 'holder'
      const usedBy = used ? attemptId(2, 1, 0) : null
      return fixtures.signal(`s${id}`, { ...ref, dataJson: `${said}`, usedBy })
    }),
    children: spec.children?.map((row) => childOf(run, row)),
    notices: spec.notices?.map((row) => noticeOf(run, row)),
    run: spec.run && changeOf(run, now, spec.run, wild),
  }
  const there = Object.entries(made).filter(
    ([key, rows]) => rows !== undefined && (wild || mine[by].includes(key as keyof Changes)),
  )
  return Object.fromEntries(there) as Changes
}
