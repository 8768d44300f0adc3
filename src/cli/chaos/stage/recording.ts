// Reads an uninterrupted run from its ledger: what it was started with, what its calls were
// answered, and what people and signals said.
import { readState } from '../../../client/run/document.ts'
import { errorFor } from '../../../model/errors.ts'
import { type CallRecord, callKey, type Run, sentHash } from '../../../model/run/records.ts'
import type { Counterfoil } from '../../../open.ts'
import { rowsOf } from '../../../store/pages.ts'
import type { LedgerPort } from '../../../store/store.ts'
import { readEnd } from '../judge/end.ts'
import type { Asked, ChaosEnd, End } from '../types.ts'
import type { Recorded } from '../upstream.ts'
import { answerOf, heldOf, signalOf, type Word } from './words.ts'

export interface Recording {
  readonly runId: string
  readonly graph: string
  readonly input: unknown
  readonly end: End
  readonly calls: readonly Recorded[]
  readonly answers: readonly Word[]
  /** About calls that the gate held. */
  readonly held: readonly Word[]
  readonly signals: readonly Word[]
}

export async function readRecording(
  cf: Counterfoil,
  namespace: string,
  runId: string,
  ends: ChaosEnd,
): Promise<Recording> {
  const { store } = cf
  const run = await store.getRun({ namespace, runId })
  if (run === null) throw errorFor('RUN_NOT_FOUND', runId)
  if (run.state !== ends) {
    const message = `run ${runId} is ${run.state}: only one that has ${ends} can be replayed`
    const hint = run.state === 'failed' ? '; if that is how it should end: --ends failed' : ''
    throw errorFor('CHAOS_OPTIONS', `${message}${hint}`)
  }
  const [first] = await store.listCheckpoints(run)
  const runs = await familyOf(store, run)
  const records = (await Promise.all(runs.map((one) => recordsOf(store, one)))).flat()
  return {
    runId,
    graph: `${run.graph}@${run.version}`,
    input: await readState(store, run, first?.visit ?? run.visit),
    end: await readEnd(store, run),
    calls: records.filter(({ tool }) => !tool.startsWith('counterfoil.')).flatMap(callOf),
    answers: records.flatMap(answerOf),
    held: (await Promise.all(runs.map((one) => heldOf(store, one)))).flat(),
    signals: records.flatMap(signalOf),
  }
}

async function familyOf(store: LedgerPort, run: Run): Promise<Run[]> {
  const family = [run]
  const filter = { namespace: run.namespace, parentRunId: run.runId }
  for await (const child of rowsOf((page) => store.listRuns({ ...filter, ...page }))) {
    family.push(...(await familyOf(store, child)))
  }
  return family
}

/** By visit: so large results come too. */
async function recordsOf(store: LedgerPort, run: Run): Promise<CallRecord[]> {
  const records: CallRecord[] = []
  for (let visit = 1; visit <= run.reached; visit++) {
    const loaded = await store.load(run, { visit })
    records.push(...(loaded?.records ?? []).filter(({ verifies }) => verifies))
  }
  return records
}

function callOf(record: CallRecord): Recorded[] {
  const { runId, checkpointId, tool, inputHash, occurrence, status } = record
  if (status !== 'committed' && status !== 'failed') return []
  const [, generation, visit] = checkpointId.split('#')
  const callId = `${generation}#${visit}/${callKey(tool, inputHash, occurrence)}`
  const { resultJson, errorJson } = record
  // What was sent, if a person edited it: the upstream sees nothing else.
  return [{ runId, callId, tool, inputHash: sentHash(record), resultJson, errorJson }]
}

/**
 * What was said, each word once, in the order it was said; about the very call if that is on
 * record, else about one like it. Whoever is asked more often says the last again.
 */
export class Prompter {
  private readonly recording: Recording | null
  private readonly used = new Set<Word>()

  constructor(recording: Recording | null) {
    this.recording = recording
  }

  answer({ runId, title, tool, call }: Asked): unknown {
    const { answers = [], held = [] } = this.recording ?? {}
    const own = ofRun(tool === null ? answers : held, runId, tool ?? title)
    const exact = own.filter((word) => word.call === call)
    const words = exact.length > 0 ? exact : own
    return (this.next(words) ?? words.at(-1))?.value
  }

  signal(name: string, runId: string): unknown {
    return this.next(ofRun(this.recording?.signals ?? [], runId, name))?.value
  }

  private next(words: readonly Word[]): Word | undefined {
    const word = words.find((one) => !this.used.has(one))
    if (word) this.used.add(word)
    return word
  }
}

function ofRun(words: readonly Word[], runId: string, about: string): Word[] {
  return words.filter((word) => word.runId === runId && word.about === about)
}
