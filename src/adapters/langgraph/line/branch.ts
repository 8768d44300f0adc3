// Branches: a thread that was taken back to an earlier checkpoint, or whose state was updated
// there, goes another way from there. What was sent on the way that was left stays sent. So a call
// of a branch that has no record of its own takes one of the same tool and input that was made off
// its line, and gets a row that names it. If there are only others of its tool, a model may have
// found other words for the same thing: a person sees both.
//
// A record was made from the checkpoint that was the head at the time: who is off the line sends
// nothing. Of the checkpoints of a line those were carried out that the next one is the result of;
// a fork or an update repeats the one it was made from.
import type { CheckpointMetadata } from '@langchain/langgraph-checkpoint'
import type { CallRecord, Counterfoil } from '../../../index.ts'
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import { canonical, sha256 } from '../../../model/json/canonical.ts'
import { leaseMs } from '../../../model/limits.ts'
import type { Task } from '../guard/task.ts'
import type { CounterfoilSaver } from '../saver/saver.ts'
import { openValue } from '../saver/write.ts'
import { type Anchor, messagesIn } from './anchor.ts'
import { hasBranches, storedAt } from './branch-notes.ts'
import { type IsOnLine, pathOf, recordsOf, standingOf, unclaimed } from './branch-records.ts'
import { pause } from './heard.ts'
import { isAskedBack, isLive, markOf } from './line.ts'
import { moved } from './turn.ts'

/** A call that is under way elsewhere is waited for; its process may have died with the hold. */
const waitMsMax = leaseMs + 5_000
const lookMs = 100
const looksPerSweep = 10

/**
 * What a call of a branch finds on the way that was left: a receipt that answers it; an item that
 * is open; or calls of its tool with other inputs, which may have had its effect. Null: it is sent.
 */
export type OffLine =
  | { readonly answer: CallRecord; readonly instead: boolean }
  | { readonly itemId: string }
  | { readonly alike: readonly CallRecord[] }

export async function offLine(
  saver: CounterfoilSaver,
  task: Task,
  anchor: Anchor,
  tool: string,
  input: unknown,
): Promise<OffLine | null> {
  const { cf } = saver
  if (isLive(task.config) || !(await isBranched(cf, task))) return null
  const { clock } = cf.store
  const until = clock.mono() + waitMsMax
  const inputHash = sha256(canonical(input === undefined ? null : input))
  const isSame = (row: CallRecord) => row.inputHash === inputHash
  for (let looks = 0; ; looks++) {
    const all = await recordsOf(cf, task.threadId, tool)
    const own = all.filter((row) => isAt(row, anchor))
    const mine = own.find(isSame)
    if (all.length === 0 || (mine && (await standingOf(cf, mine)) !== 'not sent')) return null
    const isOnLine = await onLineOf(saver, task)
    const isOurs = (row: CallRecord) => own.includes(row) || isOnLine(row)
    const left = unclaimed(all, isOurs, pathOf(anchor.nodeId))
    // What this call was withdrawn for, or a person has allowed once more, was perhaps sent since.
    const due = mine ? left.filter(({ createdAt }) => createdAt >= mine.createdAt) : left
    const same = due.find(isSame)
    const standings = await Promise.all((same ? [same] : due).map((row) => standingOf(cf, row)))
    const landed = standings.filter((one) => typeof one === 'object')
    const doubt = landed.find((one) => 'itemId' in one)
    if (doubt) return doubt
    if (!standings.includes('under way')) {
      const alike = landed.flatMap((one) => ('answer' in one ? [one.answer] : []))
      const [answer] = alike
      if (answer === undefined) return null
      const answers = same !== undefined && answer.status === 'committed'
      if (answers) return { answer, instead: mine !== undefined }
      if (mine) throw moved(tool, task.threadId)
      return { alike }
    }
    if (clock.mono() > until) throw underWay(tool, task.threadId)
    // A process that has died with it is found by whoever looks.
    if (looks % looksPerSweep === 0) cf.askAboutLeft().catch(() => {})
    await pause(cf, lookMs)
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

export async function isBranched(
  cf: Counterfoil,
  { config, threadId, levels }: Task,
): Promise<boolean> {
  const mark = markOf(config, { threadId, space: '' })
  if (mark && isAskedBack(mark, levels[''] ?? null)) return true
  return hasBranches(cf, threadId)
}

function isAt({ nodeId, checkpointId }: CallRecord, anchor: Anchor): boolean {
  return nodeId === anchor.nodeId && checkpointId === anchor.checkpointId
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
  const since = await storedAt(saver.cf, task.threadId)
  // What was begun in the very millisecond is not the branch's.
  const timeOf = ({ stepId, createdAt }: Step) => (since.get(stepId) ?? createdAt - 1) + 1
  const inTime = [...steps.values()].sort((a, b) => timeOf(a) - timeOf(b))
  const messages = new Set(messagesIn(task.scratchpad.currentTaskInput))
  return ({ createdAt, checkpointId }) => {
    const from = checkpointId.split('#')[0] ?? ''
    const head = inTime.findLast((step) => timeOf(step) <= createdAt)?.stepId
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

function underWay(tool: string, threadId: string): CounterfoilError {
  const what =
    `${tool} was not sent: the same call was begun on another branch of thread ${threadId}, and ` +
    'its end is not known yet'
  return errorFor('THREAD_BUSY', what, { tool, threadId })
}
