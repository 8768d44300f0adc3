// The steps of foreign runtimes' threads.

import {
  checked,
  compareText,
  compareWrites,
  isAside,
  isAsSeen,
  spaceKey,
  stepPage,
  stepsOf,
  writeKey,
} from '../rules/threads.ts'

import type {
  Pruning,
  SpaceRef,
  StepFilter,
  ThreadStep,
  ThreadsPort,
  ThreadWrite,
} from '../store.ts'
import { isOpenCall } from '../whole-runs/read-rows.ts'
import { type Data, refKey, type SpaceData } from './data.ts'
import { isFree } from './lease.ts'

export function threads(data: Data): ThreadsPort {
  const stepsIn = (ref: SpaceRef): Steps => data.spaces.get(spaceKey(ref))?.steps ?? new Map()
  return checked({
    putStep: async (step, seen, head) => {
      const { steps } = spaceOf(data, step)
      if (head !== undefined && latestOf(steps) !== head) return false
      if (!isAsSeen(seen, (stepId) => steps.get(stepId)?.bodyJson)) return false
      if (!step.whole && !mayStandOn(steps, step)) return false
      steps.set(step.stepId, step)
      return true
    },
    putWrites: async (all, replace, seen) => {
      const steps = stepsIn(all[0] as ThreadWrite)
      if (!isAsSeen(seen, (stepId) => steps.get(stepId)?.bodyJson)) return false
      for (const write of all) {
        const { writes } = spaceOf(data, write)
        const key = writeKey(write)
        if (replace || !writes.has(key)) writes.set(key, write)
      }
      return true
    },
    loadSteps: async (ref, stepId) => {
      const steps = stepsIn(ref)
      return chainOf(steps, stepId ?? latestOf(steps))
    },
    headOf: async (ref) => latestOf(stepsIn(ref)),
    listSteps: async (filter) => list(data, filter),
    listWrites: async (ref, stepIds) =>
      [...(data.spaces.get(spaceKey(ref))?.writes.values() ?? [])]
        .filter(({ stepId }) => stepIds.includes(stepId))
        .sort(compareWrites),
    pruneSteps: async (ref, pruning) => prune(spaceOf(data, ref), pruning),
    dropThread: async (namespace, threadId) => {
      for (const [key, { ref }] of data.spaces) {
        if (ref.namespace === namespace && ref.threadId === threadId) data.spaces.delete(key)
      }
    },
    listIdleThreads: async (namespace, before, countMax) =>
      listIdle(data, namespace, before).slice(0, countMax),
  })
}

function spaceOf(data: Data, ref: SpaceRef): SpaceData {
  const key = spaceKey(ref)
  const { namespace, threadId, space } = ref
  const made = { ref: { namespace, threadId, space }, steps: new Map(), writes: new Map() }
  const found = data.spaces.get(key) ?? made
  data.spaces.set(key, found)
  return found
}

type Steps = ReadonlyMap<string, ThreadStep>

/** The head of the space. */
function latestOf(steps: Steps): string | null {
  let latest: string | null = null
  for (const id of steps.keys()) {
    if (!isAside(id) && (latest === null || compareText(id, latest) > 0)) latest = id
  }
  return latest
}

/** From the nearest whole step to this one. */
function chainOf(steps: Steps, stepId: string | null): ThreadStep[] {
  const chain: ThreadStep[] = []
  for (let id = stepId; id !== null; ) {
    const step = steps.get(id)
    if (step === undefined) break
    chain.unshift(step)
    id = step.whole ? null : step.parentId
  }
  return chain
}

/** Its parent is there, and does not stand on this step itself. */
function mayStandOn(steps: Steps, { parentId, stepId }: ThreadStep): boolean {
  const chain = chainOf(steps, parentId)
  return chain.length > 0 && chain.every((step) => step.stepId !== stepId)
}

function prune({ steps, writes }: SpaceData, { whole, drop, seen }: Pruning): boolean {
  if (!isAsSeen(seen, (stepId) => steps.get(stepId)?.bodyJson)) return false
  const next = new Map(steps)
  for (const step of whole) {
    if (!steps.has(step.stepId)) return false
    next.set(step.stepId, step)
  }
  for (const stepId of drop) next.delete(stepId)
  const gone = new Set(drop)
  for (const step of next.values()) {
    if (!step.whole && step.parentId !== null && gone.has(step.parentId)) return false
  }
  for (const step of whole) steps.set(step.stepId, step)
  for (const stepId of drop) steps.delete(stepId)
  for (const [key, write] of writes) if (gone.has(write.stepId)) writes.delete(key)
  return true
}

/** The latest first; those of other threads and spaces that have the same id by these. */
function compareSteps(a: ThreadStep, b: ThreadStep): number {
  const ids = compareText(b.stepId, a.stepId)
  return ids || compareText(b.threadId, a.threadId) || compareText(b.space, a.space)
}

function list(data: Data, filter: StepFilter) {
  const { after, count } = stepPage(filter)
  const { namespace, threadId, space, before } = filter
  const rows = [...data.spaces.values()]
    .filter(
      ({ ref }) =>
        ref.namespace === namespace &&
        (threadId ?? ref.threadId) === ref.threadId &&
        (space ?? ref.space) === ref.space,
    )
    .flatMap(({ steps }) => [...steps.values()])
    .filter(({ stepId }) => before === undefined || compareText(stepId, before) < 0)
    .filter(({ stepId }) => filter.aside === true || !isAside(stepId))
    .sort(compareSteps)
  if (after === null) return stepsOf(rows, count)
  const [stepId, ofThread, ofSpace] = after
  const behind = (row: ThreadStep) =>
    compareSteps({ ...row, stepId, threadId: ofThread, space: ofSpace }, row) < 0
  return stepsOf(rows.filter(behind), count)
}

function listIdle(data: Data, namespace: string, before: number): string[] {
  const last = new Map<string, number>()
  for (const { ref, steps } of data.spaces.values()) {
    if (ref.namespace !== namespace) continue
    for (const { createdAt } of steps.values()) {
      last.set(ref.threadId, Math.max(last.get(ref.threadId) ?? createdAt, createdAt))
    }
  }
  return [...last]
    .filter(([threadId, at]) => at < before && !isAwaited(data, namespace, threadId))
    .sort(([one, a], [two, b]) => a - b || compareText(one, two))
    .map(([threadId]) => threadId)
}

function isAwaited(data: Data, namespace: string, threadId: string): boolean {
  const of = data.runs.get(refKey({ namespace, runId: threadId }))
  if (of === undefined) return false
  const isHeld = of.run.state === 'running' && !isFree(data, of)
  const isOpen = [...of.items.values()].some(({ state }) => state === 'open')
  return isHeld || isOpen || [...of.records.values()].some(isOpenCall)
}
