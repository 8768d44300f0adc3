// The rows that a run begins with, the same for one that a client starts and for a child.
import type { Clock } from '../../clock.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { canonical, sha256 } from '../../model/json/canonical.ts'
import { firstCheckpoint } from '../../model/run/checkpoint.ts'
import type { Run } from '../../model/run/records.ts'
import type { NewRun, Parent } from '../store.ts'

export interface NewRunOf {
  readonly namespace: string
  readonly runId: string
  /** Validated, and plain. */
  readonly input: unknown
  readonly parent?: Parent
  /** Who asks for it. */
  readonly by?: string
  /** One trace over a run and all its children. */
  readonly traceId?: string
}

export function newRun(clock: Clock, graph: Graph, of: NewRunOf): NewRun {
  const { namespace, runId, input, parent } = of
  const now = clock.now()
  const at = { generation: 0, visit: 1 }
  const run: Run = {
    namespace,
    runId,
    graph: graph.name,
    version: graph.version,
    state: 'pending',
    node: graph.start,
    ...at,
    reached: at.visit,
    inputHash: sha256(canonical(input)),
    outputJson: null,
    outputDigest: null,
    errorJson: null,
    waitingFor: null,
    stop: null,
    fence: 0,
    workerId: null,
    arrivals: 0,
    claims: 0,
    commitId: null,
    traceId: of.traceId ?? clock.uuid().replaceAll('-', ''),
    parentRunId: parent?.runId ?? null,
    parentAttemptId: parent?.attemptId ?? null,
    startedBy: of.by ?? null,
    wakeAt: null,
    endedAt: null,
    swept: null,
    createdAt: now,
    updatedAt: now,
  }
  const { version, start: node } = graph
  const place = { namespace, runId, generation: at.generation, version, node, createdAt: now }
  const data = {
    graph: graph.id,
    ...(parent ? { parent: parent.runId } : {}),
    ...(of.by ? { by: of.by } : {}),
  }
  return {
    run,
    checkpoint: firstCheckpoint(place, input).row,
    event: { namespace, runId, ...at, at: now, kind: 'started', data },
  }
}
