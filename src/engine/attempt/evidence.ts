// What is learnt about an attempt when its call is no longer this visit's to settle: after a
// takeover, or after its timeout. It is written by attempt id, whoever holds the run now (I2, I11).
import { applyEvidence } from '../../model/replay/evidence.ts'
import type { Attempt, Evidence } from '../../model/run/records.ts'
import { writeUntilAcknowledged } from '../../store/insist.ts'
import type { Loaded } from '../../store/store.ts'
import type { Visit } from '../visit/visit.ts'
import { type AttemptEnd, certainEnd } from './attempt.ts'

const waitMs = 100
const waitMaxMs = 5_000

export async function reportEvidence(
  visit: Visit,
  attempt: Attempt,
  end: AttemptEnd,
): Promise<void> {
  const { store, clock, run } = visit
  const landed = end.outcome === 'landed' ? end.result : null
  const said = end.outcome === 'landed' ? end : certainEnd(end)
  const failure = said.outcome === 'landed' ? null : said.failure
  const evidence: Evidence = {
    namespace: run.namespace,
    runId: run.runId,
    attemptId: attempt.attemptId,
    outcome: said.outcome,
    resultJson: landed?.json ?? null,
    resultDigest: null,
    externalId: landed?.externalId ?? null,
    errorJson: failure && JSON.stringify(failure),
    at: clock.now(),
    seq: null,
  }
  // By the attempt's own visit: the run may be further on. As long as this process lives: a receipt
  // that is known must not be lost to an outage.
  const change = (now: Loaded) => ({
    changes: isOurs(now, attempt) ? applyEvidence(now, evidence) : null,
    value: undefined,
  })
  const write = () => store.amend(run, 'evidence', change, visit.at)
  await writeUntilAcknowledged(write, { clock, waitMs, waitMaxMs }).catch(() => {})
}

/**
 * An intent that was refused has left its number to the next holder: of that one's attempt nothing
 * is known here, least of all that it was not sent.
 */
function isOurs(now: Loaded, { attemptId, fence, workerId }: Attempt): boolean {
  const row = now.attempts.find((each) => each.attemptId === attemptId)
  return row?.fence === fence && row.workerId === workerId
}
