// Branches: a thread that was taken back to an earlier checkpoint, or whose state was updated
// there, goes another way from there. What was sent on the way that was left stays sent. So a call
// of a branch that has no record of its own takes one of the same tool and input that was made off
// its line, and gets a row that names it.
//
// A record was made from the checkpoint that was the head at the time: who is off the line sends
// nothing. Of the checkpoints of a line those were carried out that the next one is the result of;
// a fork or an update repeats the one it was made from.
import type { CheckpointMetadata } from '@langchain/langgraph-checkpoint'
import { type CallRecord, type Counterfoil, CounterfoilError } from '../../index.ts'
import { canonical, sha256 } from '../../model/canonical.ts'
import { leaseMs } from '../../model/limits.ts'
import { scopeVisit } from '../../model/scope.ts'
import { isRecord } from '../../model/state.ts'
import { type Anchor, messagesIn, namesOf } from './anchor.ts'
import { hasBranches } from './branch-notes.ts'
import { isAskedBack, markOf } from './line.ts'
import type { CounterfoilSaver } from './saver.ts'
import { openValue } from './saver-write.ts'
import type { Task } from './task.ts'

/** A call that is under way elsewhere is waited for; its process may have died with the hold. */
const waitMsMax = leaseMs + 5_000
const lookMs = 100

/** What answers a call of a branch: a receipt, or an item that is open; null if it is sent. */
export type OffLine = { readonly answer: CallRecord } | { readonly itemId: string }

export async function offLine(
  saver: CounterfoilSaver,
  task: Task,
  anchor: Anchor,
  tool: string,
  input: unknown,
): Promise<OffLine | null> {
  const { cf } = saver
  if (isLive(task) || !(await isBranched(cf, task))) return null
  const { clock } = cf.store
  const until = clock.mono() + waitMsMax
  const inputHash = sha256(canonical(input === undefined ? null : input))
  for (;;) {
    const all = (await recordsOf(cf, task.threadId)).filter(
      (row) => row.tool === tool && row.inputHash === inputHash,
    )
    if (all.length === 0 || all.some((row) => isAt(row, anchor))) return null
    const [found] = free(all, await onLineOf(saver, task), anchor)
    if (found === undefined) return null
    if (found.status === 'committed') return { answer: await whole(cf, found) }
    const itemId = await itemOf(cf, found)
    if (itemId !== null) return { itemId }
    if (clock.mono() > until) throw underWay(tool, task.threadId)
    await new Promise<void>((resolve) => {
      clock.after(lookMs, resolve)
    })
  }
}

const turns = new WeakMap<Counterfoil, Map<string, Promise<unknown>>>()

/** One call of a thread looks for a record at a time, until it has taken one, or `isOver`. */
export async function inTurn<T>(
  cf: Counterfoil,
  threadId: string,
  work: (isOver: () => void) => Promise<T>,
): Promise<T> {
  const all = turns.get(cf) ?? new Map<string, Promise<unknown>>()
  turns.set(cf, all)
  const before = all.get(threadId)
  let isOver = () => {}
  const turn = new Promise<void>((resolve) => {
    isOver = resolve
  })
  all.set(threadId, turn)
  await before
  try {
    return await work(isOver)
  } finally {
    isOver()
    if (all.get(threadId) === turn) all.delete(threadId)
  }
}

/** `configurable.counterfoil.live`: what the branch does is sent, on purpose. */
function isLive({ config }: Task): boolean {
  const given: unknown = config.configurable?.['counterfoil']
  return isRecord(given) && given['live'] === true
}

async function isBranched(cf: Counterfoil, { config, threadId, levels }: Task): Promise<boolean> {
  const mark = markOf(config, { threadId, space: '' })
  if (mark && isAskedBack(mark, levels[''] ?? null)) return true
  return hasBranches(cf, threadId)
}

async function recordsOf({ store, threads }: Counterfoil, runId: string): Promise<CallRecord[]> {
  const rows: CallRecord[] = []
  const ref = { namespace: threads.namespace, runId }
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await store.listRecords(ref, cursor === '' ? {} : { cursor })
    // Pure ones may be made again, and what failed for certain did nothing.
    rows.push(...page.items.filter((row) => row.replayClass !== 'pure' && row.status !== 'failed'))
    cursor = page.next
  }
  return rows
}

function isAt({ nodeId, checkpointId }: CallRecord, anchor: Anchor): boolean {
  return nodeId === anchor.nodeId && checkpointId === anchor.checkpointId
}

type IsOnLine = (row: CallRecord) => boolean

/** Records off the line that no call of it has taken: the same path first, then the oldest. */
function free(all: readonly CallRecord[], isOnLine: IsOnLine, { nodeId }: Anchor): CallRecord[] {
  const ours = all.filter(isOnLine)
  const path = pathOf(nodeId)
  const others = all
    .filter((row) => !isCopy(row) && !isOnLine(row))
    .sort((a, b) => a.createdAt - b.createdAt)
    .sort((a, b) => Number(pathOf(b.nodeId) === path) - Number(pathOf(a.nodeId) === path))
  for (const taken of ours.filter(isCopy)) {
    const same = others.findIndex(
      (row) => row.resultJson === taken.resultJson && row.externalId === taken.externalId,
    )
    others.splice(Math.max(0, same), 1)
  }
  return others
}

/** Nothing was sent for it. */
function isCopy({ attempt }: CallRecord): boolean {
  return attempt === 0
}

function pathOf(nodeId: string): string {
  return namesOf(nodeId.split('#')[0] ?? '')
}

/** Which records were made on the line that the task is on. */
async function onLineOf(saver: CounterfoilSaver, task: Task): Promise<IsOnLine> {
  const steps = await stepsOf(saver, task.threadId)
  const carriedOut = new Set<string>()
  let isNext = true
  for (let id = task.levels[''] ?? null; id !== null; ) {
    if (isNext) carriedOut.add(id)
    const step = steps.get(id)
    isNext = step?.source === 'loop'
    id = step?.parentId ?? null
  }
  const inTime = [...steps.values()].sort((a, b) => a.createdAt - b.createdAt)
  const messages = new Set(messagesIn(task.scratchpad.currentTaskInput))
  return ({ createdAt, checkpointId }) => {
    const from = checkpointId.split('#')[0] ?? ''
    const head = inTime.findLast((step) => step.createdAt <= createdAt)?.stepId
    return carriedOut.has(from) || messages.has(from) || carriedOut.has(head ?? '')
  }
}

interface Step {
  readonly stepId: string
  readonly parentId: string | null
  readonly source: string
  readonly createdAt: number
}

async function stepsOf({ cf, serde }: CounterfoilSaver, threadId: string) {
  const steps = new Map<string, Step>()
  const asked = { threadId, space: '', countMax: 200 }
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await cf.threads.listSteps(cursor === '' ? asked : { ...asked, cursor })
    for (const { stepId, parentId, createdAt, noteJson } of page.items) {
      const note = await openValue(serde, noteJson, `the metadata of checkpoint ${stepId}`)
      const { source = 'loop' } = note as Partial<CheckpointMetadata>
      steps.set(stepId, { stepId, parentId, source, createdAt })
    }
    cursor = page.next
  }
  return steps
}

/** With a large result, too. */
async function whole({ store }: Counterfoil, row: CallRecord): Promise<CallRecord> {
  const { nodeId, checkpointId } = row
  const at = { visit: scopeVisit(nodeId, checkpointId), scope: { nodeId, checkpointId } }
  const records = (await store.load(row, at))?.records ?? []
  const isIt = (each: CallRecord) =>
    each.tool === row.tool && each.inputHash === row.inputHash && each.occurrence === row.occurrence
  return records.find(isIt) ?? row
}

async function itemOf({ inbox }: Counterfoil, row: CallRecord): Promise<string | null> {
  const { items } = await inbox.list({ runId: row.runId, state: 'open' })
  const isIts = ({ body }: (typeof items)[number]) =>
    body.subject?.tool === row.tool &&
    body.subject.inputHash === row.inputHash &&
    body.subject.occurrence === row.occurrence
  return items.find(isIts)?.itemId ?? null
}

function underWay(tool: string, threadId: string): CounterfoilError {
  return new CounterfoilError(
    'THREAD_BUSY',
    `${tool} was not sent: the same call was begun on another branch of thread ${threadId}, and ` +
      'its end is not known yet; try again',
    { retryable: true, details: { tool, threadId } },
  )
}
