// Starts a run. The id is the caller's own key: an at-least-once queue may start it twice (C8).
import type { Clock } from '../clock.ts'
import { canonical, sha256 } from '../model/canonical.ts'
import { firstCheckpoint } from '../model/checkpoint.ts'
import { CounterfoilError } from '../model/errors.ts'
import type { Graph } from '../model/graph.ts'
import * as limits from '../model/limits.ts'
import type { Run } from '../model/records.ts'
import { validate } from '../model/schema.ts'
import { absorb } from '../model/state.ts'
import type { NewRun, Store } from '../store/store.ts'

export async function startRun(
  store: Store,
  clock: Clock,
  graph: Graph,
  raw: unknown,
  { namespace, runId }: { namespace: string; runId: string },
): Promise<Run> {
  checkRunId(runId)
  const subject = `input of ${graph.id}`
  const valid = await validate(graph.input, raw, { code: 'INPUT_INVALID', subject })
  const input = absorb(valid === undefined ? null : valid)
  const made = newRun(clock, graph, { namespace, runId, input })
  const { created, run } = await store.start(made)
  if (created) return run
  if (run.graph !== graph.name || run.inputHash !== made.run.inputHash) {
    const what = run.graph === graph.name ? 'with another input' : `of graph ${run.graph}`
    throw new CounterfoilError(
      'RUN_EXISTS',
      `run ${runId} exists already, ${what}: the same id means the same work; choose another id`,
      { details: { runId } },
    )
  }
  return run
}

function newRun(
  clock: Clock,
  graph: Graph,
  of: { namespace: string; runId: string; input: unknown },
): NewRun {
  const { namespace, runId, input } = of
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
    traceId: clock.uuid().replaceAll('-', ''),
    parentRunId: null,
    parentAttemptId: null,
    wakeAt: null,
    endedAt: null,
    swept: null,
    createdAt: now,
    updatedAt: now,
  }
  const { version, start: node } = graph
  const place = { namespace, runId, generation: at.generation, version, node, createdAt: now }
  return {
    run,
    checkpoint: firstCheckpoint(place, input).row,
    event: { namespace, runId, ...at, at: now, kind: 'started', data: { graph: graph.id } },
  }
}

function checkRunId(runId: unknown): void {
  const usable = typeof runId === 'string' && runId !== '' && runId.length <= limits.runIdLengthMax
  // Control characters would break listings; lone surrogates cannot be stored.
  if (usable && !/\p{Cc}|\p{Cs}/u.test(runId)) return
  throw new CounterfoilError(
    'RUN_ID_INVALID',
    `run id ${JSON.stringify(runId)} is not usable: 1 to ${limits.runIdLengthMax} characters, ` +
      'none of them a control character',
  )
}
