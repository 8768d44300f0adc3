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
} from '../model/run/records.ts'
export { corePorts, methodsOf, ports } from './ports.ts'
export { letGo } from './rules/adoption.ts'
export { askedOf, workerDead } from './rules/claim.ts'
export { checkCommit, judge } from './rules/commit.ts'
export { grouped, inTurn, rotated } from './rules/fair.ts'
export { isEnd, parentOf, toldOfCancel, toldOfEnd, woken } from './rules/family.ts'
export * as finality from './rules/finality.ts'
export { applyRunChange, checkChanges } from './rules/policy.ts'
export {
  checkNotSwept,
  checkRetention,
  dueOf,
  keepsChildren,
  tombstone,
} from './rules/retention.ts'
export * as threads from './rules/threads.ts'
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
export {
  claimableOf,
  claimCause,
  claimed,
  dueRuns,
  hasEnded,
  isProvable,
  newWorker,
} from './whole-runs/claims.ts'
export { countsOf } from './whole-runs/counts.ts'
export { isOverdue, itemPage, overdueOf, paged, runPage } from './whole-runs/lists.ts'
export { attemptIn, isOpenCall, loadedOf, readsOf } from './whole-runs/read-rows.ts'
export { checkRows, newRows, putRows, type RunRows } from './whole-runs/run-rows.ts'
export { applyRows, commitRows, type RunsAt, runNotFound } from './whole-runs/write-rows.ts'
