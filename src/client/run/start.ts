// Starts a run. The id is the caller's own key: an at-least-once queue may start it twice (C8).
import type { Clock } from '../../clock.ts'
import { CounterfoilError, errorFor, isCounterfoilError } from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import * as limits from '../../model/limits.ts'
import type { Run } from '../../model/run/records.ts'
import { absorb } from '../../model/run/state.ts'
import { validate } from '../../model/tool/schema.ts'
import { writeUntilAcknowledged } from '../../store/insist.ts'
import { newRun } from '../../store/rules/new-run.ts'
import type { LedgerPort, NewRun } from '../../store/store.ts'

const retryMs = 20
const retryMaxMs = 500
const triesMax = 5

export async function startRun(
  store: LedgerPort,
  clock: Clock,
  graph: Graph,
  raw: unknown,
  { namespace, runId, by }: { namespace: string; runId: string; by?: string },
): Promise<Run> {
  checkRunId(runId)
  const subject = `input of ${graph.id}`
  const valid = await validate(graph.input, raw, { code: 'INPUT_INVALID', subject })
  const input = absorb(valid === undefined ? null : valid, '$', limits.depthMax)
  const made = newRun(clock, graph, {
    namespace,
    runId,
    input,
    ...(by === undefined ? {} : { by }),
  })
  const { created, run } = await insist(store, clock, made)
  if (created) return run
  if (run.graph !== graph.name || run.inputHash !== made.run.inputHash) {
    const what = run.graph === graph.name ? 'with another input' : `of graph ${run.graph}`
    throw errorFor('RUN_EXISTS', runId, what)
  }
  return run
}

/**
 * A start whose answer was lost may have been made. By its id it is one however often it is asked
 * for, while a caller that has no id of its own would start another run.
 */
async function insist(store: LedgerPort, clock: Clock, made: NewRun) {
  let tries = 0
  const goesOn = (error: unknown) =>
    isCounterfoilError(error) && error.retryable && ++tries < triesMax
  try {
    const patience = { clock, waitMs: retryMs, waitMaxMs: retryMaxMs, goesOn }
    return await writeUntilAcknowledged(() => store.start(made), patience)
  } catch (error) {
    throw isCounterfoilError(error) && error.retryable ? notKnown(made.run.runId, error) : error
  }
}

function notKnown(runId: string, cause: CounterfoilError): CounterfoilError {
  const message =
    `${cause.message}; it is unknown whether run ${runId} was started: ` +
    'start it again with this run id, and it is started once'
  const details = { ...cause.details, runId }
  return new CounterfoilError<string>(cause.code, message, { retryable: true, details, cause })
}

function checkRunId(runId: unknown): void {
  const usable = typeof runId === 'string' && runId !== '' && runId.length <= limits.runIdLengthMax
  // Control characters would break listings; lone surrogates cannot be stored.
  if (usable && !/\p{Cc}|\p{Cs}/u.test(runId)) return
  throw errorFor('RUN_ID_INVALID', runId)
}
