// counterfoil/store: the contract, and the rules that the author of a store asks. Nothing of the
// stores that Counterfoil has.
export { type Clock, systemClock } from '../clock.ts'
export type {
  Attempt,
  CallRecord,
  Checkpoint,
  Decision,
  Event,
  Evidence,
  Item,
  Notice,
  Run,
  RunRef,
  Signal,
} from '../model/records.ts'
export { letGo } from './adoption.ts'
export { askedOf, workerDead } from './claim-rules.ts'
export { checkCommit, judge } from './commit-rules.ts'
export { grouped, inTurn, rotated } from './fair.ts'
export { isEnd, parentOf, toldOfCancel, toldOfEnd, woken } from './family.ts'
export * as finality from './finality.ts'
export { applyRunChange, checkChanges } from './policy.ts'
export { corePorts, methodsOf, ports } from './ports.ts'
export { checkNotSwept, checkRetention, dueOf, keepsChildren, tombstone } from './retention.ts'
export {
  claimableOf,
  claimCause,
  claimed,
  dueRuns,
  hasEnded,
  isProvable,
  newWorker,
} from './rules/claims.ts'
export { countsOf } from './rules/counts.ts'
export { isOverdue, itemPage, overdueOf, paged, runPage } from './rules/lists.ts'
export { attemptIn, isOpenCall, loadedOf, readsOf } from './rules/read-rows.ts'
export { checkRows, newRows, putRows, type RunRows } from './rules/run-rows.ts'
export { applyRows, commitRows, type RunsAt, runNotFound } from './rules/write-rows.ts'
export * as tables from './schema/index.ts'
export {
  createSealer,
  isSigned,
  type Key,
  keyCheck,
  rowText,
  type Sealer,
  sharedText,
} from './seal.ts'
export type * from './store.ts'
export * as threads from './thread-rules.ts'
