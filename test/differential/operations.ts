// Random sequences of what a store is asked to do. An operation says only what is meant ("the
// holder commits", "an earlier fence"); drive.ts makes rows and numbers of it when its turn comes,
// so that most of a sequence is legal and what fast-check leaves of a failing one still is.
import { fc } from '../seed.ts'

/** Runs that sequences are about: one id in two namespaces, and two children of the first. */
export const runs = [
  { namespace: 'a', runId: 'r0' },
  { namespace: 'a', runId: 'r1' },
  { namespace: 'b', runId: 'r0' },
  { namespace: 'a', runId: 'r0-k0' },
  { namespace: 'a', runId: 'r0-k1' },
] as const

const run = fc.constantFrom(0, 0, 0, 1, 1, 2, 3, 4)
const few = fc.nat({ max: 1 })
const visit = fc.constantFrom(1, 1, 2)
const call = fc.constantFrom(1, 1, 2)
const worker = fc.nat({ max: 2 })
const rarely = fc.nat({ max: 15 }).map((n) => n === 15)
const outcome = fc.constantFrom('landed' as const, 'refused' as const, 'unknown' as const)

function some<T>(row: fc.Arbitrary<T>): fc.Arbitrary<T[] | undefined> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: fc.array(row, { minLength: 1, maxLength: 2 }) },
  )
}

function maybe<T>(value: fc.Arbitrary<T>, weight = 3): fc.Arbitrary<T | undefined> {
  const nothing = { weight, arbitrary: fc.constant(undefined) }
  return fc.oneof({ withCrossShrink: true }, nothing, { weight: 1, arbitrary: value })
}

const changes = fc.record({
  records: some(
    fc.record({
      call,
      visit,
      status: fc.constantFrom(
        ...(['pending', 'pending', 'committed', 'failed', 'in_doubt'] as const),
      ),
      replayClass: fc.constantFrom(
        ...(['pure', 'idempotent_with_key', 'unsafe_on_replay'] as const),
      ),
      attempt: fc.nat({ max: 2 }),
      moved: rarely,
      unresolved: rarely,
    }),
  ),
  attempts: some(
    fc.record({
      call,
      visit,
      nth: fc.constantFrom(1, 2),
      outcome: fc.option(outcome),
      token: few,
      beat: fc.boolean(),
      moved: rarely,
    }),
  ),
  evidence: some(fc.record({ call, visit, outcome, seq: fc.option(few), said: few })),
  items: some(
    fc.record({
      id: few,
      state: fc.constantFrom('open' as const, 'decided' as const, 'closed' as const),
      version: fc.constantFrom(1, 2),
      dueMs: fc.option(fc.constantFrom(0, 5_000)),
      noticed: rarely,
    }),
  ),
  decisions: some(
    fc.record({
      id: few,
      outcome: fc.constantFrom('did_not_happen' as const, 'happened' as const),
      seq: fc.option(few),
      used: fc.boolean(),
      voided: rarely,
    }),
  ),
  events: some(fc.record({ kind: fc.constantFrom('log', 'lease_lost') })),
  checkpoints: some(fc.record({ visit: fc.constantFrom(1, 2, 3), digest: few })),
  signals: some(fc.record({ id: few, taken: fc.boolean(), said: few })),
  children: some(fc.record({ id: few, stranger: rarely })),
  notices: some(fc.record({ id: few, said: few })),
  run: maybe(
    fc.record({
      /** One of those that are legal, unless it is wild. */
      state: maybe(fc.nat({ max: 7 }), 1),
      waits: maybe(fc.boolean()),
      output: maybe(few),
      error: maybe(few),
      arrive: maybe(fc.boolean()),
      stop: maybe(fc.option(fc.constantFrom('paused' as const, 'cancelled' as const))),
      visit: maybe(fc.constantFrom(1, 2, 3)),
      reached: maybe(fc.constantFrom(1, 2, 4)),
      rewind: maybe(fc.boolean(), 7),
      digest: maybe(fc.option(few)),
      wakeMs: maybe(fc.option(fc.constantFrom(0, 10_000)), 1),
      release: maybe(fc.boolean(), 1),
      progress: maybe(fc.boolean()),
    }),
    1,
  ),
  /** Whatever may not be is left in. */
  wild: rarely,
})

const commit = fc.record({
  run,
  /** As held; or as said by another, or under the fence before. */
  by: fc.oneof({ arbitrary: fc.constant('holder' as const), weight: 12 }, worker),
  stale: rarely,
  /** The commit that was sent last for the run, once more. */
  again: rarely,
  /** A number before the last, as a connection given up may bring it. */
  late: rarely,
  seen: fc.constantFrom(...(['no', 'no', 'no', 'yes', 'yes', 'less'] as const)),
  parent: fc.constantFrom(...(['unsaid', 'unsaid', 'unsaid', 'said', 'said', 'other'] as const)),
  changes,
})

const day = 24 * 3_600_000
const weighted = (weight: number, arbitrary: fc.Arbitrary<Op>) => ({ weight, arbitrary })

export const operation: fc.Arbitrary<Op> = fc.oneof(
  weighted(3, fc.record({ op: fc.constant('start' as const), run, graph: few })),
  weighted(3, fc.record({ op: fc.constant('register' as const), worker })),
  weighted(1, fc.record({ op: fc.constant('renew' as const), worker })),
  weighted(1, fc.record({ op: fc.constant('stopWorker' as const), worker, ended: fc.boolean() })),
  weighted(1, fc.record({ op: fc.constant('declareDead' as const), worker })),
  weighted(
    14,
    fc.record({
      op: fc.constant('claim' as const),
      worker,
      where: fc.constantFrom('all' as const, 'namespace' as const, 'only' as const),
      run,
      countMax: fc.constantFrom(0, 1, 1, 2, 3, 10, 10),
      graphs: fc.constantFrom(0, 1, 2, 2).map((n) => (n === 2 ? [0, 1] : [n])),
    }),
  ),
  weighted(
    14,
    fc.record({
      op: fc.constant('commit' as const),
      batch: fc.uniqueArray(commit, { minLength: 1, maxLength: 3, selector: (one) => one.run }),
    }),
  ),
  weighted(
    8,
    fc.record({
      op: fc.constant('amend' as const),
      run,
      by: fc.constantFrom('client' as const, 'client' as const, 'evidence' as const),
      visit: fc.option(visit, { nil: undefined }),
      changes,
    }),
  ),
  weighted(
    4,
    fc.record({
      op: fc.constant('advance' as const),
      ms: fc.constantFrom(1, 5_000, 20_000, day, 20 * day),
    }),
  ),
  weighted(2, fc.record({ op: fc.constant('wakeDue' as const), countMax: fc.constantFrom(0, 10) })),
  weighted(1, fc.record({ op: fc.constantFrom('retain' as const, 'adopt' as const) })),
  weighted(1, fc.record({ op: fc.constant('look' as const), worker })),
  weighted(1, fc.record({ op: fc.constant('takeShare' as const), worker, share: few })),
  weighted(
    1,
    fc.record({ op: fc.constant('putShare' as const), worker, share: few, made: fc.boolean() }),
  ),
)

export type CommitSpec = FromArbitrary<typeof commit>
export type ChangesSpec = FromArbitrary<typeof changes>
type FromArbitrary<A> = A extends fc.Arbitrary<infer T> ? T : never

export type Op =
  | { op: 'start'; run: number; graph: number }
  | { op: 'register' | 'renew' | 'declareDead' | 'look'; worker: number }
  | { op: 'stopWorker'; worker: number; ended: boolean }
  | {
      op: 'claim'
      worker: number
      where: 'all' | 'namespace' | 'only'
      run: number
      countMax: number
      graphs: number[]
    }
  | { op: 'commit'; batch: CommitSpec[] }
  | {
      op: 'amend'
      run: number
      by: 'client' | 'evidence'
      visit: number | undefined
      changes: ChangesSpec
    }
  | { op: 'advance'; ms: number }
  | { op: 'wakeDue'; countMax: number }
  | { op: 'retain' | 'adopt' }
  | { op: 'takeShare'; worker: number; share: number }
  | { op: 'putShare'; worker: number; share: number; made: boolean }
