// What the concerns share: a bench that opens a store of its own for every test, and rows to put.
import { attemptPlace } from '../../model/run/attempt-id.ts'
import type {
  Attempt,
  CallRecord,
  Checkpoint,
  Decision,
  Event,
  Evidence,
  Item,
  Run,
  RunRef,
  Signal,
} from '../../model/run/records.ts'
import { callKey } from '../../model/run/records.ts'
import { bootId } from '../../store/boot.ts'
import { completed, corePorts, ports, portsOf } from '../../store/ports.ts'
import type {
  Changes,
  Commit,
  CommitResult,
  Loaded,
  NewRun,
  OwnStore,
  Port,
  Store,
} from '../../store/store.ts'
import { type ManualClock, manualClock } from '../manual-clock.ts'

export interface StoreUnderTest {
  /** A new, empty store. */
  open(clock: ManualClock): Promise<OwnStore>
  /** The same store once more, after it was closed; for stores that keep what they are given. */
  reopen?(store: Store, clock: ManualClock): Promise<OwnStore>
  /** Whether it promises everything: one that does has no caveats. */
  durable: boolean
  /** Those that it has besides the core, which is always tested; every port, if it is not said. */
  ports?: readonly Port[]
}

/** The matchers that are used; vitest's and jest's `expect` have them. */
export interface Matchers {
  toBe(expected: unknown): void
  toEqual(expected: unknown): void
  toMatchObject(expected: object): void
}

export type Expect = (
  actual: unknown,
  message?: string,
) => Matchers & {
  rejects: { toMatchObject(expected: object): Promise<void> }
}

export interface TestApi {
  describe(name: string, fn: () => void): void
  test(name: string, fn: () => Promise<void>): void
  expect: Expect
}

/** One test's store, with a worker that can hold runs. */
export interface Subject {
  store: Store
  readonly clock: ManualClock
  /** A run that `worker` has claimed. */
  held(runId?: string): Promise<Run>
  commit(run: Run, changes: Changes, more?: Partial<Commit>): Promise<CommitResult | undefined>
  load(ref: RunRef): Promise<Loaded>
  /** Whatever the holder does meanwhile. */
  amend(ref: RunRef, changes: Changes): Promise<null>
  events(ref: RunRef): Promise<readonly Event[]>
}

export interface Bench extends TestApi {
  readonly under: StoreUnderTest
  /** The same store once more; null for one that keeps nothing. */
  readonly reopen: ((subject: Subject) => Promise<void>) | null
  has(port: Port): boolean
  /** A test with a store of its own, closed afterwards. */
  on(name: string, fn: (subject: Subject) => Promise<void>): void
  /** The same bench, whose tests are left out where the store lacks one of these ports. */
  of(...needs: readonly Port[]): Bench
}

export const namespace = 'default'
export const graphs = [{ name: 'g', version: '1.0.0' }]
export const leaseMs = 15_000
export const worker = 'w_1'

export function createBench(under: StoreUnderTest, api: TestApi): Bench {
  const there = ports.filter((port) => isUnder(under, port))
  const once = async (fn: (subject: Subject) => Promise<void>) => {
    const clock = manualClock()
    const subject = createSubject(opened(await under.open(clock), there), clock)
    await register(subject, worker)
    try {
      await fn(subject)
    } finally {
      await subject.store.close()
    }
  }
  const bench: Bench = {
    ...api,
    under,
    reopen: under.reopen === undefined ? null : reopening(under, under.reopen, there),
    has: (port) => there.includes(port),
    on: (name, fn) => api.test(name, () => once(fn)),
    of: (...needs) => (needs.every((port) => there.includes(port)) ? bench : { ...bench, on() {} }),
  }
  return bench
}

function reopening(
  under: StoreUnderTest,
  reopen: NonNullable<StoreUnderTest['reopen']>,
  there: readonly Port[],
): NonNullable<Bench['reopen']> {
  return async (s) => {
    s.store = opened(await reopen.call(under, s.store, s.clock), there)
  }
}

function isUnder({ ports: more = ports }: StoreUnderTest, port: Port): boolean {
  return corePorts.includes(port) || more.includes(port)
}

/** A port that nobody asked to test would be one that nothing tests. */
function opened(store: OwnStore, there: readonly Port[]): Store {
  const has = portsOf(store).join(', ')
  if (has !== there.join(', ')) {
    throw new Error(`the store has the ports ${has}, and these are tested: ${there.join(', ')}`)
  }
  return completed(store)
}

function createSubject(store: Store, clock: ManualClock): Subject {
  let commits = 0
  const subject: Subject = {
    store,
    clock,
    held: async (runId = 'r1') => {
      await subject.store.start(newRun(runId))
      const [run] = await subject.store.claim({ workerId: worker, graphs, countMax: 1 })
      if (run?.runId !== runId) throw new Error(`claimed ${run?.runId} instead of ${runId}`)
      return run
    },
    commit: async (run, changes, more) => {
      const one = commitOf(run, `c${++commits}`, changes, more)
      const [result] = await subject.store.commit([one])
      return result
    },
    load: async (ref) => {
      const loaded = await subject.store.load(ref)
      if (loaded === null) throw new Error(`there is no run ${ref.runId}`)
      return loaded
    },
    amend: (ref, changes) => subject.store.amend(ref, 'client', () => ({ changes, value: null })),
    events: async (ref) => {
      const { items } = await subject.store.listEvents(ref, { countMax: 500 })
      return items.map(({ id: _, ...row }) => row)
    },
  }
  return subject
}

export function commitOf(
  run: Run,
  commitId: string,
  changes: Changes,
  more: Partial<Commit> = {},
): Commit {
  const { namespace, runId, fence, workerId } = run
  return { namespace, runId, fence, workerId: workerId ?? '', commitId, changes, ...more }
}

export function register({ store, clock }: Subject, workerId: string): Promise<void> {
  const socket = { socketPath: null, socketInode: null }
  const process = { pid: 1, host: 'here', bootId: bootId(), startedAt: clock.now() }
  return store.register({ workerId, ...process, ...socket }, leaseMs)
}

export const ref = (runId = 'r1'): RunRef => ({ namespace, runId })

export function newRun(runId = 'r1', more: Partial<Run> = {}): NewRun {
  const run: Run = {
    ...ref(runId),
    graph: 'g',
    version: '1.0.0',
    state: 'pending',
    node: 'run',
    generation: 0,
    visit: 1,
    reached: 1,
    outputDigest: null,
    stop: null,
    inputHash: 'h0',
    outputJson: null,
    errorJson: null,
    waitingFor: null,
    fence: 0,
    workerId: null,
    arrivals: 0,
    claims: 0,
    commitId: null,
    traceId: 't1',
    parentRunId: null,
    parentAttemptId: null,
    startedBy: null,
    wakeAt: null,
    endedAt: null,
    swept: null,
    createdAt: 1_000,
    updatedAt: 1_000,
    ...more,
  }
  const { generation, visit, node, version } = run
  const at = { generation, visit, node, version, baseVisit: visit }
  return { run, checkpoint: checkpoint(runId, at), event: event('started', runId) }
}

export function checkpoint(runId = 'r1', more: Partial<Checkpoint> = {}): Checkpoint {
  return {
    ...ref(runId),
    generation: 0,
    visit: 1,
    node: 'run',
    version: '1.0.0',
    schemaVersion: 2,
    kind: 'base',
    baseVisit: 1,
    previous: null,
    bodyDigest: null,
    bodyJson: '{"input":1}',
    digest: 'd0',
    createdAt: 1_000,
    ...more,
  }
}

export function event(kind: string, runId = 'r1', data: Event['data'] = {}): Event {
  return { ...ref(runId), at: 1_000, kind, generation: 0, visit: 1, data }
}

/** A claim of this run and no other, whatever time has passed. */
export async function claimOne({ store }: Subject, runId: string, graph = 'g'): Promise<Run> {
  await store.renew(worker, leaseMs)
  const asked = [{ name: graph, version: '1.0.0' }]
  const one = { workerId: worker, graphs: asked, countMax: 1, only: ref(runId) }
  const [run] = await store.claim(one)
  if (run === undefined) throw new Error(`${runId} cannot be claimed`)
  return run
}

/** An intent; `settled` makes a receipt of it. */
export function record(nth = 1, more: Partial<CallRecord> = {}): CallRecord {
  return {
    ...ref(),
    nodeId: 'run',
    checkpointId: '1.0.0#0#1',
    tool: 'send',
    inputHash: `h${nth}`,
    occurrence: 0,
    nth,
    replayClass: 'unsafe_on_replay',
    idempotencyKey: null,
    expiresAt: null,
    status: 'pending',
    seq: null,
    after: 0,
    inputJson: '{"to":"ana"}',
    resultJson: null,
    externalId: null,
    errorJson: null,
    unresolved: false,
    attempt: 1,
    resultDigest: null,
    usageJson: null,
    dueAt: null,
    fence: 1,
    workerId: worker,
    spanId: 's1',
    createdAt: 2_000 + nth,
    settledAt: null,
    ...more,
  }
}

export function settled(row: CallRecord, more: Partial<CallRecord> = {}): CallRecord {
  const receipt = { status: 'committed', resultJson: '{"id":"m1"}', externalId: 'm1' } as const
  return { ...row, ...receipt, seq: row.nth, settledAt: 3_000, ...more }
}

export function attempt(nth = 1, more: Partial<Attempt> = {}): Attempt {
  return {
    ...ref(),
    attemptId: attemptPlace(0, 1, callKey('send', `h${nth}`, 0), 1),
    attempt: 1,
    fence: 1,
    workerId: worker,
    outlives: false,
    quietMs: 60_000,
    dispatchedAt: 2_000 + nth,
    tokenHash: null,
    beatAt: null,
    beatJson: null,
    endedAt: null,
    outcome: null,
    ...more,
  }
}

export function evidence(nth = 1, more: Partial<Evidence> = {}): Evidence {
  const { attemptId } = attempt(nth)
  const receipt = {
    resultJson: '{"id":"m1"}',
    resultDigest: null,
    externalId: 'm1',
    errorJson: null,
  }
  return { ...ref(), attemptId, outcome: 'landed', ...receipt, at: 4_000, seq: null, ...more }
}

export function signal(signalId = 's1', more: Partial<Signal> = {}): Signal {
  return { ...ref(), signalId, name: 'go', dataJson: '{"n":1}', at: 4_500, usedBy: null, ...more }
}

/** A child that the first call of `r1` asks for. */
export function child(runId = 'kid', more: Partial<Run> = {}): NewRun {
  return newRun(runId, { parentRunId: 'r1', parentAttemptId: attempt().attemptId, ...more })
}

export function item(itemId = 'i1', more: Partial<Item> = {}): Item {
  const subject = { tool: 'send', inputHash: 'h1', occurrence: 0, nth: 1 }
  return {
    ...ref(),
    itemId,
    kind: 'doubt',
    reason: 'unknown',
    state: 'open',
    version: 1,
    queue: 'default',
    title: 'Did it happen?',
    generation: 0,
    visit: 1,
    createdAt: 5_000,
    closedAt: null,
    closedBy: null,
    dueAt: null,
    overdueAt: null,
    body: {
      subject,
      node: 'run',
      input: { to: 'ana' },
      attempt: 1,
      idempotencyKey: null,
      unmatched: [],
      error: null,
      probe: null,
      data: null,
      approval: null,
      damage: null,
      scope: null,
    },
    ...more,
  }
}

export function decision(decisionId = 'd1', more: Partial<Decision> = {}): Decision {
  return {
    ...ref(),
    decisionId,
    itemId: 'i1',
    kind: 'doubt',
    reason: 'unknown',
    generation: 0,
    visit: 1,
    subject: { tool: 'send', inputHash: 'h1', occurrence: 0, nth: 1 },
    outcome: 'did_not_happen',
    record: null,
    resultJson: null,
    by: 'ana',
    why: 'I looked',
    evidence: null,
    madeSure: false,
    version: 1,
    at: 6_000,
    seq: null,
    usedBy: null,
    voidedAt: null,
    shownHash: null,
    ...more,
  }
}
