// Reads an uninterrupted run from its ledger: what it was started with, what its calls were
// answered, and what people and signals said.
import { readState } from '../../client/document.ts'
import { CounterfoilError } from '../../model/errors.ts'
import { type CallRecord, callKey, type Run } from '../../model/records.ts'
import type { Counterfoil } from '../../open.ts'
import { rowsOf } from '../../store/pages.ts'
import type { Store } from '../../store/store.ts'
import type { Asked, ChaosEnd, Ruling } from './types.ts'
import type { Recorded } from './upstream.ts'

/** What somebody said, by the run and the title or name it was said to. */
interface Word {
  readonly runId: string
  readonly about: string
  readonly value: unknown
}

export interface Recording {
  readonly runId: string
  readonly graph: string
  readonly input: unknown
  readonly calls: readonly Recorded[]
  readonly answers: readonly Word[]
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
  if (run === null) throw new CounterfoilError('RUN_NOT_FOUND', `there is no run ${runId}`)
  if (run.state !== ends) {
    const message = `run ${runId} is ${run.state}: only one that has ${ends} can be replayed`
    const hint = run.state === 'failed' ? '; if that is how it should end: --ends failed' : ''
    throw new CounterfoilError('CHAOS_OPTIONS', `${message}${hint}`)
  }
  const [first] = await store.listCheckpoints(run)
  const runs = await familyOf(store, run)
  const records = (await Promise.all(runs.map((one) => recordsOf(store, one)))).flat()
  return {
    ...{ runId, graph: `${run.graph}@${run.version}` },
    input: await readState(store, run, first?.visit ?? run.visit),
    calls: records.filter(({ tool }) => !tool.startsWith('counterfoil.')).flatMap(callOf),
    answers: records.flatMap(answerOf),
    signals: records.flatMap(signalOf),
  }
}

async function familyOf(store: Store, run: Run): Promise<Run[]> {
  const family = [run]
  const filter = { namespace: run.namespace, parentRunId: run.runId }
  for await (const child of rowsOf((page) => store.listRuns({ ...filter, ...page }))) {
    family.push(...(await familyOf(store, child)))
  }
  return family
}

/** By visit: so large results come too. */
async function recordsOf(store: Store, run: Run): Promise<CallRecord[]> {
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
  return [{ runId, callId, tool, inputHash, resultJson, errorJson }]
}

function answerOf({ tool, runId, inputJson, resultJson }: CallRecord): Word[] {
  if (inputJson === null || resultJson === null) return []
  const { title } = JSON.parse(inputJson) as { title: string }
  const said = JSON.parse(resultJson)
  if (tool === 'counterfoil.ask') return [{ runId, about: title, value: said.answer }]
  if (tool !== 'counterfoil.approval') return []
  return [{ runId, about: title, value: rulingOf(said) }]
}

function rulingOf(said: { outcome: string; approved: boolean; data: unknown; answer: unknown }) {
  if (said.outcome === 'edit') return { edit: said.data } satisfies Ruling
  if (said.outcome === 'respond') return { respond: said.answer } satisfies Ruling
  return (said.approved ? 'approve' : 'reject') satisfies Ruling
}

function signalOf({ tool, runId, resultJson }: CallRecord): Word[] {
  if (tool !== 'counterfoil.signal' || resultJson === null) return []
  const said = JSON.parse(resultJson) as { name: string; data: unknown } | null
  return said === null ? [] : [{ runId, about: said.name, value: said.data ?? null }]
}

/** What was said, each word once, in the order it was said. */
export class Prompter {
  private readonly recording: Recording | null
  private readonly counts = new Map<string, number>()

  constructor(recording: Recording | null) {
    this.recording = recording
  }

  answer({ runId, title }: Asked): unknown {
    return this.next(this.recording?.answers ?? [], runId, title)
  }

  signal(name: string, runId: string): unknown {
    return this.next(this.recording?.signals ?? [], runId, `${name}`)
  }

  private next(words: readonly Word[], runId: string, about: string): unknown {
    const place = `${runId}\n${about}`
    const nth = this.counts.get(place) ?? 0
    this.counts.set(place, nth + 1)
    const own = words.filter((word) => word.runId === runId && word.about === about)
    return own[nth]?.value
  }
}
