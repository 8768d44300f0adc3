// Pins an earlier, good checkpoint of a run that cannot go on from its own (D11). The run stands at
// that visit again; records of later visits stay, and answer their calls when the run comes there.
import { type Clock, timeId } from '../../clock.ts'
import { authorFault } from '../../model/decisions/author.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { expectedAt, readChain, rebase } from '../../model/run/checkpoint.ts'
import {
  bare,
  type Decision,
  eventOf,
  type Item,
  type Run,
  type RunRef,
} from '../../model/run/records.ts'
import type { RunState } from '../../model/run/states.ts'
import type { LedgerPort, Loaded } from '../../store/store.ts'

export interface PinRequest {
  /** The visit whose checkpoint is to be used. */
  visit: number
  by: string
  reason: string
}

const pinnable: readonly RunState[] = ['waiting_human', 'paused', 'failed']

export async function pinCheckpoint(
  store: LedgerPort,
  clock: Clock,
  ref: RunRef,
  request: PinRequest,
): Promise<void> {
  const run = await store.getRun(ref)
  if (run === null) throw errorFor('RUN_NOT_FOUND', ref.runId)
  const fault = authorFault(request)
  if (fault) throw refused(run, `a pin ${fault}`)
  const { visit } = request
  if (!Number.isInteger(visit)) {
    throw refused(run, `\`visit\` must be a number, and is ${String(visit)}`)
  }
  const chain = await store.loadCheckpoints(run, run.generation, visit)
  const read = readChain(chain, expectedAt(run, visit))
  if (!read.ok) throw refused(run, `the checkpoint of visit ${visit} cannot be used: ${read.why}`)
  const last = chain.at(-1)
  if (last === undefined) throw refused(run, `visit ${visit} has no checkpoint`)
  const { row: base } = rebase(read, { ...last, createdAt: clock.now() })
  await store.amend(ref, 'client', (now) => {
    checkState(now.run, visit)
    // What was read above is of this state of the run: it may have been worked on meanwhile.
    if (now.run.fence !== run.fence)
      throw refused(run, 'a worker has continued it meanwhile: look again')
    const at = clock.now()
    const cause = `checkpoint of visit ${visit} pinned by ${request.by}: ${request.reason}`
    const { items, decisions } = decideDamage(now, request, at, timeId(clock, 'dec'))
    // Nobody waits for the others any more; what they ask is asked anew if the run comes there.
    const others = now.items.filter((row) => row.state === 'open' && !items.some(isOf(row)))
    return {
      changes: {
        items: [...items, ...others.map((row) => closed(row, at, cause))],
        decisions: [...decisions, ...abandonsVoided(now, at)],
        checkpoints: [base],
        run: {
          state: 'pending',
          waitingFor: null,
          errorJson: null,
          arrive: true,
          node: base.node,
          visit,
          rewind: true,
        },
        events: [
          eventOf(now.run, at, 'checkpoint_pinned', { from: now.run.visit, to: visit }),
          eventOf(now.run, at, 'state', { from: now.run.state, to: 'pending', cause }),
        ],
      },
      value: null,
    }
  })
}

function checkState(run: Run, visit: number): void {
  if (visit > run.visit) throw refused(run, `it is at visit ${run.visit}, before ${visit}`)
  if (pinnable.includes(run.state)) return
  throw refused(run, `it is ${run.state}; pause it first`)
}

/** Who pins a run has thought better of its end: it must not end there again. */
function abandonsVoided({ decisions }: Loaded, at: number): Decision[] {
  return decisions
    .filter((row) => row.outcome === 'abandon' && row.voidedAt === null)
    .map((row) => ({ ...bare(row), voidedAt: at }))
}

function isOf({ itemId }: Item): (other: Item) => boolean {
  return (other) => other.itemId === itemId
}

function closed(item: Item, at: number, closedBy: string): Item {
  return { ...item, state: 'closed', version: item.version + 1, closedAt: at, closedBy }
}

function decideDamage(
  now: Loaded,
  { by, reason: why }: PinRequest,
  at: number,
  decisionId: string,
): { items: Item[]; decisions: Decision[] } {
  const item = now.items.find((row) => row.reason === 'checkpoint' && row.state === 'open')
  if (item === undefined) return { items: [], decisions: [] }
  const { namespace, runId, itemId, kind, reason, generation, visit, version } = item
  const decision: Decision = {
    namespace,
    runId,
    itemId,
    kind,
    reason,
    generation,
    visit,
    version,
    at,
    by,
    why,
    decisionId,
    subject: null,
    outcome: 'pin',
    record: null,
    resultJson: null,
    shownHash: null,
    evidence: null,
    madeSure: false,
    seq: null,
    usedBy: null,
    voidedAt: null,
  }
  return {
    items: [{ ...item, state: 'decided', version: item.version + 1, closedAt: at }],
    decisions: [decision],
  }
}

function refused(run: Run, why: string): CounterfoilError {
  return errorFor('PIN_REFUSED', run.runId, why)
}
