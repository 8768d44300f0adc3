// Under which ids a call is recorded: those that a new process finds again when LangGraph resumes.
//
// A call that a model asked for, in a reply that is in the stored state, has the ids of that reply
// and of the call: they stay when the thread is forked or its state is updated. Any other call (a
// node's own, or below a subgraph that keeps no checkpoints, where a replay asks the model again)
// is counted among those of its task.
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import { canonical, sha256 } from '../../../model/json/canonical.ts'
import { isRecord } from '../../../model/run/state.ts'
import type { Task } from '../guard/task.ts'
import type { CounterfoilSaver } from '../saver/saver.ts'
import { spacesOf } from '../saver/spaces.ts'
import { markOf } from './line.ts'
import { originOf } from './origin.ts'
import { type Made, type TaskLevel, takeTurn } from './turn.ts'

const idLengthMax = 256

export interface Anchor extends Made {
  readonly nodeId: string
  readonly checkpointId: string
  /** The model's id of the call, or of the first of its like in the same reply. */
  readonly callId: string | null
  readonly standsFor: readonly string[]
  /** Its place among the calls of the reply. */
  readonly index: number
}

/** What is called, as far as its ids depend on it. */
export interface Called {
  readonly tool: string
  readonly callId: string | null
  readonly input: unknown
  /** Word for word the same calls of one reply are one. */
  readonly collapses: boolean
  /** It may be made again without harm. */
  readonly isPure: boolean
  /** All that its task does is this call. */
  readonly isTask: boolean
}

/** Waits until all that the call is recorded under is in the store. */
export async function anchorOf(saver: CounterfoilSaver, task: Task, call: Called): Promise<Anchor> {
  const { threadId, path } = task
  const spaces = spacesOf(saver.cf)
  const levels = levelsOf(task)
  const unkept = levels.findIndex(({ space }) => !spaces.isOpen(threadId, space))
  const kept = unkept < 0 ? levels : levels.slice(0, unkept)
  const deepest = kept.at(-1)
  if (deepest === undefined) throw noSaver()
  for (const { space, checkpointId } of kept) {
    if (spaces.attempt(threadId, space) > 1 && !call.isPure) throw retried(call.tool, space)
    if (await spaces.whenStored(threadId, space, checkpointId)) continue
    throw notDurable(call.tool, checkpointId)
  }
  const at = tasksAt(task, kept)
  if (!call.isPure) {
    await takeTurn(saver.cf, task.config, at, call.tool)
    await checkNotRestarted(saver, threadId, kept, call.tool)
  }
  const uncounted = { callId: null, standsFor: [], index: 0, levels: at } as const
  if (kept.length < levels.length) return { ...belowUnkept(task, deepest), ...uncounted }
  const asked = call.callId === null ? null : askedIn(task.scratchpad.currentTaskInput, call.callId)
  const { checkpointId, space } = deepest
  const originId = () => originOf(saver, { threadId, space, stepId: checkpointId })
  if (asked === null || call.callId === null) {
    const pushed = task.pushed === null ? '' : `#${sha256(task.pushed).slice(0, 16)}`
    const nodeId = short(`${namesOf(path)}${pushed}`)
    const id = await originId()
    if (!call.isTask) return { nodeId, checkpointId: id, taskId: taskIdOf(path), ...uncounted }
    const own = { nodeId, checkpointId: short(`${id}#${call.tool}`), taskId: null }
    return { ...own, ...uncounted, callId: call.tool }
  }
  const alike = call.collapses ? alikeIn(asked.calls, call) : [call.callId]
  const leader = alike[0] ?? call.callId
  const from = asked.messageId ?? (await originId())
  return {
    nodeId: short(namesOf(path)),
    checkpointId: short(`${from}#${leader}`),
    taskId: null,
    callId: leader,
    standsFor: alike.filter((id) => id !== leader),
    index: asked.calls.findIndex(({ id }) => id === call.callId),
    levels: at,
  }
}

/**
 * A fork or an update of the state around a subgraph starts it anew, in another space: what it had
 * sent before would be sent again.
 */
async function checkNotRestarted(
  saver: CounterfoilSaver,
  threadId: string,
  kept: readonly Graph[],
  tool: string,
): Promise<void> {
  for (const [i, inner] of kept.slice(1).entries()) {
    const outer = kept[i] as Graph
    const { space: name, checkpointId: stepId } = outer
    const from = await originOf(saver, { threadId, space: name, stepId })
    if (from === outer.checkpointId) continue
    const configurable = { thread_id: threadId }
    for await (const { config, metadata } of saver.list({ configurable })) {
      const space = String(config.configurable?.['checkpoint_ns'] ?? '')
      if (space === inner.space || namesOf(space) !== namesOf(inner.space)) continue
      const parents = (metadata?.parents ?? {}) as Record<string, string>
      if (parents[outer.space] === from) throw restarted(tool, inner.space)
    }
  }
}

interface Graph {
  readonly space: string
  readonly checkpointId: string
}

/** The graphs around the task, the outermost first. */
function levelsOf({ path, levels }: Task): Graph[] {
  const around = Object.keys(levels)
    .filter((space) => space === '' || path.startsWith(`${space}|`))
    .sort((a, b) => a.length - b.length)
  const found: Graph[] = []
  for (const space of around) {
    const checkpointId = levels[space] ?? ''
    // A task of the functional API runs from the checkpoint of the task that called it.
    if (found.at(-1)?.checkpointId !== checkpointId) found.push({ space, checkpointId })
  }
  return found
}

/** The checkpoints with the task of each that the call is made in. */
function tasksAt(task: Task, kept: readonly Graph[]): TaskLevel[] {
  const { threadId, config } = task
  return kept.map(({ space, checkpointId: stepId }, i) => {
    const below = kept[i + 1]
    const inner = below && markOf(config, { threadId, space: below.space })
    const own = below ? (inner?.taskId ?? '') : taskIdOf(pathAt(task, stepId))
    return { threadId, space, stepId, task: own }
  })
}

/** Of the task that runs from this checkpoint, in whatever the call is made below it. */
function pathAt({ path, levels }: Task, checkpointId: string): string {
  const inKept = Object.keys(levels).filter((space) => levels[space] === checkpointId)
  const outer = inKept.sort((a, b) => b.length - a.length)[0] ?? ''
  const depth = outer === '' ? 0 : outer.split('|').length
  return path
    .split('|')
    .slice(0, depth + 1)
    .join('|')
}

/** A subgraph without checkpoints begins anew at every replay, with other ids for all in it. */
function belowUnkept(task: Task, { checkpointId }: Graph) {
  const taskId = taskIdOf(pathAt(task, checkpointId))
  return { nodeId: short(`${namesOf(task.path)}#${taskId}`), checkpointId, taskId }
}

export function namesOf(path: string): string {
  return path
    .split('|')
    .map((part) => part.replace(/:[^:]*$/, ''))
    .join('|')
}

export function taskIdOf(path: string): string {
  return path.slice(path.lastIndexOf(':') + 1)
}

function short(id: string): string {
  // Also what a scope does not take as an id is told apart by its hash.
  const usable = id.length <= idLengthMax && !/\p{Cc}|\p{Cs}/u.test(id)
  return usable ? id : sha256(id)
}

interface AskedCall {
  readonly id?: string
  readonly name?: string
  readonly args?: unknown
}

/** The model's reply with this call, in what the task was given: that is in the stored state. */
function askedIn(
  input: unknown,
  callId: string,
): { messageId: string | null; calls: readonly AskedCall[] } | null {
  const fields = isList(input) ? [input] : isObject(input) ? Object.values(input) : []
  for (const list of fields.filter(isList)) {
    for (const message of list.toReversed()) {
      if (!isObject(message) || !isList(message['tool_calls'])) continue
      const calls = message['tool_calls'] as AskedCall[]
      if (!calls.some(({ id }) => id === callId)) continue
      const { id } = message
      return { messageId: typeof id === 'string' && id !== '' ? id : null, calls }
    }
  }
  const alone = [input, ...fields].find((each) => isObject(each) && each['id'] === callId)
  return alone === undefined ? null : { messageId: null, calls: [alone as AskedCall] }
}

/** Ids of the messages in what a task was given. */
export function messagesIn(input: unknown): string[] {
  const fields = isList(input) ? [input] : isObject(input) ? Object.values(input) : []
  return fields.filter(isList).flatMap((list) =>
    list.flatMap((each) => {
      const id = isObject(each) ? each['id'] : undefined
      return typeof id === 'string' ? [id] : []
    }),
  )
}

/** Ids of the calls of a reply that are word for word the same, in its order. */
function alikeIn(calls: readonly AskedCall[], { tool, input, callId }: Called): string[] {
  const words = wordsOf(input)
  const alike = calls.flatMap(({ id, name, args }) =>
    id !== undefined && name === tool && wordsOf(args) === words ? [id] : [],
  )
  return alike.includes(callId ?? '') ? alike : []
}

function wordsOf(args: unknown): string {
  try {
    return canonical(args ?? {})
  } catch {
    return ''
  }
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) || (typeof value === 'object' && value !== null)
}

export function noSaver(): CounterfoilError {
  return errorFor('GUARD_NO_SAVER')
}

function notDurable(tool: string, checkpointId: string): CounterfoilError {
  return errorFor('GUARD_NOT_DURABLE', tool, checkpointId)
}

function restarted(tool: string, space: string): CounterfoilError {
  return errorFor('GUARD_RETRIED', tool, space, {
    why:
      'the state around its subgraph was forked or updated after that had begun ' +
      `(${space}), so it begins again`,
    remedy: 'Update the state of the subgraph instead, or begin another thread',
  })
}

function retried(tool: string, space: string): CounterfoilError {
  return errorFor('GUARD_RETRIED', tool, space, {
    why: `a retry policy has started the subgraph around it again (${space})`,
    remedy:
      'Give the policy to nodes inside the subgraph; to go on where the first attempt stopped, ' +
      'invoke the graph with null',
  })
}
