// What the rows of threads may contain, and how lists of them are paged. Every store asks here, so
// that all of them take, refuse and order the same.

import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { sha256 } from '../../model/json/canonical.ts'
import * as limits from '../../model/limits.ts'
import type {
  Pruning,
  Seen,
  SpaceRef,
  StepFilter,
  ThreadStep,
  ThreadsPort,
  ThreadWrite,
} from '../ports/threads.ts'

/** The same store; what no store could give back as it was is refused before it is asked. */
export function checked(store: ThreadsPort): ThreadsPort {
  return {
    putStep: async (step, seen, head) => {
      checkStep(step)
      if (typeof head === 'string') checkKey(step, head)
      return store.putStep(step, seen, head)
    },
    putWrites: async (writes, replace, seen) => {
      for (const write of writes) checkWrite(write)
      const last = lastOfEach(replace ? writes : writes.toReversed())
      if (last.length === 0) return true
      if (seen && new Set(last.map(spaceKey)).size > 1) {
        throw invalid('writes for which steps were seen must be of one space')
      }
      return store.putWrites(last, replace, seen)
    },
    loadSteps: async (ref, stepId) => {
      checkKey(ref, stepId)
      return store.loadSteps(ref, stepId)
    },
    headOf: async (ref) => {
      checkKey(ref)
      return store.headOf(ref)
    },
    listSteps: async (filter) => {
      const { namespace, threadId = '-', space = '', before } = filter
      checkKey({ namespace, threadId, space }, before)
      return store.listSteps(filter)
    },
    listWrites: async (ref, stepIds) => {
      for (const stepId of stepIds) checkKey(ref, stepId)
      return stepIds.length === 0 ? [] : store.listWrites(ref, [...new Set(stepIds)])
    },
    pruneSteps: async (ref, pruning) => {
      checkPruning(ref, pruning)
      return store.pruneSteps(ref, pruning)
    },
    dropThread: async (namespace, threadId) => {
      checkKey({ namespace, threadId, space: '' })
      return store.dropThread(namespace, threadId)
    },
    listIdleThreads: (namespace, before, countMax) =>
      store.listIdleThreads(namespace, before, Math.max(0, countMax)),
  }
}

/** Ids of steps that were set aside begin with it; those of a runtime do not. */
export const asidePrefix = '!'
/** The same in SQL. */
export const onLine = `substr(step_id, 1, 1) <> '${asidePrefix}'`

export function isAside(stepId: string): boolean {
  return stepId.startsWith(asidePrefix)
}

/** Of a row, as `seen` names it. `is_as_seen` on a server counts alike. */
export function bodySum(bodyJson: string): string {
  return sha256(bodyJson)
}

/** `bodyOf`: the body that a step has now, if it is there. */
export function isAsSeen(
  seen: Seen | undefined,
  bodyOf: (stepId: string) => string | undefined,
): boolean {
  for (const [stepId, sum] of seen ?? []) {
    const body = bodyOf(stepId)
    if (sum !== (body === undefined ? null : bodySum(body))) return false
  }
  return true
}

function checkStep(step: ThreadStep): void {
  const { stepId, parentId, whole, bodyJson, noteJson, createdAt } = step
  checkKey(step, stepId)
  if (parentId !== null) checkKey(step, parentId)
  checkText('bodyJson', bodyJson)
  checkText('noteJson', noteJson)
  if (!Number.isFinite(createdAt)) throw invalid('`createdAt` must be milliseconds')
  if (!whole && (parentId === null || parentId === stepId)) {
    throw invalid(`step ${stepId} is not whole, so it needs another one as its parent`)
  }
}

function checkWrite(write: ThreadWrite): void {
  checkKey(write, write.stepId, write.taskId)
  checkText('channel', write.channel)
  checkText('bodyJson', write.bodyJson)
  // The range of the narrowest integer that a store has.
  if ((write.place | 0) !== write.place) throw invalid('`place` must be an integer of 32 bits')
}

function checkPruning(ref: SpaceRef, { whole, drop }: Pruning): void {
  checkKey(ref)
  for (const stepId of drop) checkKey(ref, stepId)
  for (const step of whole) {
    checkStep(step)
    const elsewhere = spaceKey(step) !== spaceKey(ref)
    if (elsewhere || !step.whole || drop.includes(step.stepId)) {
      throw invalid(`step ${step.stepId} must be a whole one of this space, and not be dropped`)
    }
  }
}

function checkKey(ref: SpaceRef, stepId?: string, taskId = ''): void {
  const { namespace, threadId, space } = ref
  checkText('threadId', threadId)
  checkText('space', space)
  checkText('stepId', stepId ?? '-')
  checkText('taskId', taskId)
  if (threadId === '' || stepId === '') throw invalid('an id is empty')
  const bytes = Buffer.byteLength(`${namespace}${threadId}${space}${stepId ?? ''}${taskId}`)
  if (bytes <= limits.threadKeyBytesMax) return
  throw invalid(
    `the ids of thread ${threadId.slice(0, 64)} have ${bytes} bytes together; ` +
      `${limits.threadKeyBytesMax} are the most`,
  )
}

/** NUL has no place in the text of a server, half a surrogate pair none in UTF-8. */
function checkText(name: string, text: unknown): void {
  if (typeof text !== 'string') throw invalid(`\`${name}\` must be a text`)
  const { isWellFormed } = text as string & { isWellFormed(): boolean }
  if (isWellFormed.call(text) && !text.includes('\0')) return
  throw invalid(`\`${name}\` has a NUL or half a surrogate pair, which no store can keep`)
}

function invalid(what: string): CounterfoilError {
  return errorFor('THREAD_INVALID', what)
}

/** In the order of their keys: two that write the same rows cannot wait for each other. */
function lastOfEach(writes: readonly ThreadWrite[]): ThreadWrite[] {
  const last = new Map(writes.map((write) => [writeKey(write), write]))
  return [...last.values()].sort(
    (a, b) => compareText(spaceKey(a), spaceKey(b)) || compareWrites(a, b),
  )
}

export function spaceKey({ namespace, threadId, space }: SpaceRef): string {
  return JSON.stringify([namespace, threadId, space])
}

export function writeKey(write: ThreadWrite): string {
  return JSON.stringify([spaceKey(write), write.stepId, write.taskId, write.place])
}

/** By bytes of UTF-8, as databases do; JavaScript compares halves of surrogate pairs. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

export function compareWrites(a: ThreadWrite, b: ThreadWrite): number {
  const steps = compareText(a.stepId, b.stepId)
  return steps || compareText(a.taskId, b.taskId) || a.place - b.place
}

/** Where a list goes on: behind the step with these ids, in the order of this list. */
export type StepPlace = readonly [stepId: string, threadId: string, space: string]

export function stepPage(filter: StepFilter): { after: StepPlace | null; count: number } {
  const { cursor, countMax = limits.pageSize } = filter
  const count = Math.max(1, Math.min(countMax, limits.pageSizeMax))
  return { after: cursor === undefined ? null : readCursor(cursor), count }
}

/** Of one row more than the page has; the last row tells whether there is a next page. */
export function stepsOf(rows: readonly ThreadStep[], count: number) {
  const items = rows.slice(0, count)
  const last = items.at(-1)
  return { items, next: rows.length > count && last ? writeCursor(last) : null }
}

function writeCursor({ stepId, threadId, space }: ThreadStep): string {
  return Buffer.from(JSON.stringify([stepId, threadId, space])).toString('base64url')
}

function readCursor(cursor: string): StepPlace {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(place) && place.length === 3 && place.every((id) => typeof id === 'string')) {
      return place as unknown as StepPlace
    }
  } catch {
    // Said below.
  }
  throw errorFor('CURSOR_INVALID', cursor)
}
