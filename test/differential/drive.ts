// Asks every store the same, at the same time, and compares what they answer and what they hold.
import { isCounterfoilError } from '../../src/model/errors.ts'
import type { Run, RunRef } from '../../src/model/run/records.ts'
import type { ClaimRequest, Commit, Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/index.ts'
import { leaseMs, newRun } from '../../src/testing/store/fixtures.ts'
import { holdings, plain } from './holdings.ts'
import { type CommitSpec, type Op, runs } from './operations.ts'
import { changesOf, inNamespace } from './rows.ts'

export interface Stage {
  readonly clock: ManualClock
  /** The first is asked how a run stands; if another knows better, that is a difference. */
  readonly stores: Readonly<Record<string, Store>>
  /** Before every name, so that stores can be used again without being emptied of everything. */
  readonly prefix: string
}

type Ask = (store: Store) => Promise<unknown>

const day = 24 * 3_600_000
const keep = { pureMs: day, keyedMs: 10 * day, unsafeMs: 20 * day }

class Drive {
  private readonly stage: Stage
  private readonly first: Store
  private readonly sent = new Map<number, Commit>()
  private count = 0

  constructor(stage: Stage) {
    this.stage = stage
    this.first = Object.values(stage.stores)[0] as Store
  }

  refOf(index: number): RunRef {
    const { namespace, runId } = runs[index] as RunRef
    return { namespace: this.stage.prefix + namespace, runId }
  }

  /** Nobody claims what an earlier sequence has left. */
  graphOf = (index: number) => `${this.stage.prefix}g${index}`
  workerOf = (index: number) => `${this.stage.prefix}w${index}`

  /** The run as it is; one that is not there, if there is none. */
  private async at(index: number): Promise<Run> {
    const ref = this.refOf(index)
    return (await this.first.getRun(ref)) ?? { ...newRun().run, ...ref }
  }

  async ask(op: Op): Promise<Ask> {
    const { clock } = this.stage
    switch (op.op) {
      case 'start': {
        const { namespace, runId } = this.refOf(op.run)
        const made = newRun(runId, { namespace, graph: this.graphOf(op.graph) })
        return (store) => store.start(inNamespace(made, namespace))
      }
      case 'register':
        return (store) => store.register(this.newWorker(op.worker), leaseMs)
      case 'renew':
        return (store) => store.renew(this.workerOf(op.worker), leaseMs)
      case 'stopWorker':
        return (store) => store.stopWorker(this.workerOf(op.worker), op.ended)
      case 'declareDead':
        return (store) => store.declareDead(this.workerOf(op.worker), 'seen')
      case 'claim':
        return this.claim(op)
      case 'commit':
        return this.commit(op.batch)
      case 'amend':
        return this.amend(op)
      case 'advance':
        clock.advance(op.ms)
        return async () => null
      case 'wakeDue':
        return (store) => store.wakeDue(op.countMax)
      case 'retain':
        // SQLite looks for workers to forget once a day.
        clock.advance(day)
        return (store) => store.retain(keep, 100)
      case 'adopt':
        return (store) => store.adopt('ana', 'it was restored')
      case 'look':
        return async (store) => [await store.stops(this.workerOf(op.worker)), await store.backlog()]
      case 'takeShare':
        return (store) => store.takeShare(this.share(op.share), this.workerOf(op.worker), 30_000)
      case 'putShare': {
        const shared = op.made ? { resultJson: '1', externalId: null } : null
        const { share, worker } = op
        return (store) => store.putShare(this.share(share), this.workerOf(worker), shared, 60_000)
      }
    }
  }

  private share(index: number) {
    return { namespace: `${this.stage.prefix}a`, tool: 'look_up', inputHash: `h${index}` }
  }

  private newWorker(index: number) {
    const socket = { socketPath: '/none', socketInode: '1' }
    const process = { pid: 1, host: 'here', bootId: 'unknown', startedAt: 1_000 }
    return { workerId: this.workerOf(index), ...process, ...socket }
  }

  private claim({ worker, where, run, countMax, graphs }: Op & { op: 'claim' }): Ask {
    const only = this.refOf(run)
    const request: ClaimRequest = {
      workerId: this.workerOf(worker),
      graphs: graphs.map((index) => ({ name: this.graphOf(index), version: '1.0.0' })),
      countMax,
      ...(where === 'namespace' ? { namespace: only.namespace } : {}),
      ...(where === 'only' ? { only } : {}),
    }
    return (store) => store.claim(request)
  }

  private async commit(specs: readonly CommitSpec[]): Promise<Ask> {
    const batch: Commit[] = []
    for (const spec of specs) {
      // Which of a family is told first is nobody's promise.
      if (batch.some(({ runId }) => isKin(runId, this.refOf(spec.run).runId))) continue
      const last = this.sent.get(spec.run)
      const one = spec.again && last ? last : await this.newCommit(spec)
      this.sent.set(spec.run, one)
      batch.push(one)
    }
    return (store) => commitAll(store, batch)
  }

  private async newCommit(spec: CommitSpec): Promise<Commit> {
    const run = await this.at(spec.run)
    const { namespace, runId, parentRunId, parentAttemptId } = run
    const fence = run.fence - (spec.stale ? 1 : 0)
    const number = spec.late ? 0 : ++this.count
    const own = parentRunId !== null && parentAttemptId !== null && spec.parent === 'said'
    const parent = own
      ? { runId: parentRunId, attemptId: parentAttemptId }
      : { runId: 'r1', attemptId: '0#1/send/h1/0/1' }
    return {
      ...{ namespace, runId, fence, commitId: `${fence}.${number}` },
      workerId: spec.by === 'holder' ? (run.workerId ?? '') : this.workerOf(spec.by),
      ...(spec.seen === 'no'
        ? {}
        : { arrivalsSeen: run.arrivals - (spec.seen === 'less' ? 1 : 0) }),
      ...(spec.parent === 'unsaid' ? {} : { parent }),
      changes: changesOf(run, this.stage.clock.now(), spec.changes, 'holder'),
    }
  }

  private async amend(op: Op & { op: 'amend' }): Promise<Ask> {
    const run = await this.at(op.run)
    const changes = changesOf(run, this.stage.clock.now(), op.changes, op.by)
    const at = op.visit === undefined ? undefined : { visit: op.visit }
    return (store) => store.amend(run, op.by, (now) => ({ changes, value: now }), at)
  }
}

function isKin(a: string, b: string): boolean {
  return a.startsWith(b) || b.startsWith(a)
}

/**
 * As the engine does: of a batch that is refused nobody knows what was written, and each commit is
 * sent again by itself.
 */
async function commitAll(store: Store, batch: readonly Commit[]): Promise<unknown> {
  if (batch.length === 1) return store.commit(batch)
  const all = await answer(() => store.commit(batch))
  if ('answers' in all) return all
  const each: unknown[] = []
  for (const one of batch) each.push(await answer(() => store.commit([one])))
  return each
}

export class Difference extends Error {}

/** Throws at the first answer that is not the same everywhere, or at what is held in the end. */
export async function drive(stage: Stage, ops: readonly Op[]): Promise<void> {
  const driven = new Drive(stage)
  const set: readonly Op[] = [
    { op: 'register', worker: 0 },
    { op: 'register', worker: 1 },
    { op: 'start', run: 0, graph: 0 },
    { op: 'start', run: 1, graph: 1 },
    { op: 'start', run: 2, graph: 0 },
    { op: 'claim', worker: 0, where: 'only', run: 0, countMax: 1, graphs: [0] },
  ]
  for (const op of [...set, ...ops]) {
    const ask = await driven.ask(op)
    await compare(stage, JSON.stringify(op), (store) => answer(() => ask(store)))
  }
  const refs = runs.map((_, i) => driven.refOf(i))
  await compare(stage, 'what they hold', (store) => holdings(store, refs, stage.prefix))
}

type Answer = { answers: unknown } | { refuses: string }

/** Of a refusal only its code: words may differ. */
async function answer(ask: () => Promise<unknown>): Promise<Answer> {
  try {
    return { answers: await ask() }
  } catch (error) {
    return { refuses: isCounterfoilError(error) ? error.code : String(error) }
  }
}

async function compare(stage: Stage, of: string, ask: Ask): Promise<void> {
  const said = await Promise.all(
    Object.entries(stage.stores).map(async ([name, store]) => [name, plain(await ask(store))]),
  )
  const texts = said.map(([, found]) => JSON.stringify(found, null, 1))
  if (texts.every((text) => text === texts[0])) return
  throw new Difference(`${of}\n${said.map(([name], i) => differs(name, texts, i)).join('\n')}`)
}

/** The lines of one answer that are not in all. */
function differs(name: unknown, texts: readonly string[], i: number): string {
  const all = texts.map((text) => text.split('\n'))
  const own = all[i] ?? []
  const odd = own.filter((line, at) => all.some((other) => other[at] !== line))
  return `${name}: ${odd.slice(0, 12).join('\n  ')}`
}
