// Small rules of the gate: how a person's answer is checked and what it is bound to, and how an id
// becomes a number.
import { canonical, sha256 } from '../model/canonical.ts'
import { CounterfoilError } from '../model/errors.ts'
import {
  type CallRecord,
  type Decision,
  type DoubtReason,
  type Item,
  isAsked,
  keyOf,
} from '../model/records.ts'
import { type Schema, validate } from '../model/schema.ts'
import { isSame } from '../model/state.ts'
import { mayLackResult } from '../model/tool.ts'
import type { Verdict } from '../model/verdict.ts'
import { votersFor } from '../model/vote.ts'
import type { Loaded } from '../store/store.ts'
import type { IssuedCall } from './call.ts'
import type { Visit } from './visit.ts'

/** What a person's answer is checked by: the tool's own schema, or that of an edit. */
export function checkOf(call: IssuedCall, value: unknown): (() => unknown) | null {
  const { output } = call.tool.rules
  const subject = `decided result of ${call.tool.name}`
  const what = { code: 'OUTPUT_INVALID', subject } as const
  if (value === undefined && mayLackResult(call.tool.rules)) return null
  if (output !== null) return () => Promise.resolve(validate(output, value, what)).then(() => value)
  const schema = call.ask?.schema
  const approval = value as { outcome?: string; data: unknown }
  if (!schema || call.ask?.kind !== 'approval' || approval.outcome !== 'edit') return null
  return async () => ({ ...approval, data: await validate(schema, approval.data, what) })
}

/**
 * What is to be sent instead. A person edits what they were shown: the input as its schema made it.
 * A schema that makes something else of that again cannot check it, and nothing is sent.
 */
export async function checkEdit(call: IssuedCall, schema: Schema, edited: unknown) {
  const what = { code: 'INPUT_INVALID', subject: `edited input of ${call.tool.name}` } as const
  const valid = await validate(schema, edited, what)
  if (isSame(edited, valid)) return valid
  const shown = JSON.parse(call.record?.inputJson ?? call.inputJson)
  const steady = async () => isSame(shown, await validate(schema, shown, what))
  if (await steady().catch(() => false)) return valid
  throw new CounterfoilError(
    'INPUT_INVALID',
    `the schema of ${call.tool.name} changes what it is given, so that an edit of its input ` +
      'cannot be checked: reject the call, and let it be made again',
  )
}

/**
 * Whether a decision is about what its record says (E1): the hash that it carries is that of what a
 * node asked, or of what was shown of the very input that is held.
 */
export function isBound(decision: Decision, record: CallRecord, items: readonly Item[]): boolean {
  const item = items.find((row) => row.itemId === decision.itemId)
  const asked = isAsked(record.tool)
  try {
    const { title, data } = asked ? JSON.parse(record.inputJson ?? 'null') : shownBy(item)
    if (sha256(canonical({ title, data })) !== decision.shownHash) return false
    if (asked) return true
    const inputs = [data.input, item?.body.input]
    return inputs.every((input) => sha256(canonical(input)) === record.inputHash)
  } catch {
    return false // a row that cannot even be read binds nobody
  }
}

/** Whether as many people have agreed as had to: by their signed votes, and the signed record. */
export function hasQuorum(decision: Decision, record: CallRecord, now: Loaded): boolean {
  if (decision.outcome !== 'approve') return true
  const { itemId, by } = decision
  const item = now.items.find((row) => row.itemId === itemId)
  const asked = isAsked(record.tool) ? JSON.parse(record.inputJson ?? 'null') : null
  const needed = Math.max(asked?.quorum ?? 1, item?.body.approval?.quorum ?? 1)
  return votersFor(now.decisions, itemId, 'approve', by).size >= needed
}

/** A person's answer that does not fit: says why, for whoever is asked again, and about what. */
export function noteUnusable(visit: Visit, call: IssuedCall, error: Error): DoubtReason {
  const data = { tool: call.tool.name, message: error.message }
  visit.append({ events: [visit.event('decision_unusable', data)] })
  const { entry, place } = call
  const reason = entry?.verifies === false ? 'tampered' : 'unknown'
  return entry ? reason : (visit.match.ruling(place)?.decision.reason ?? reason)
}

function shownBy(item: Item | undefined): { title?: string; data: { input: unknown } } {
  return { title: item?.title ?? '', data: item?.body.data as { input: unknown } }
}

/**
 * Waits for something that sends nothing, without holding up a park. A visit that is over by then
 * has nothing to say any more: its log may be another visit's.
 */
export function rest<T>(
  visit: Visit,
  work: Promise<T>,
  then: (value: T) => void,
  failed: (error: Error) => void,
): void {
  visit.resting++
  const over = () => {
    visit.resting--
    visit.touch()
  }
  const open = <V>(fn: (value: V) => void) => {
    return (value: V) => (visit.phase === 'closed' ? undefined : fn(value))
  }
  work.finally(over).then(open(then)).catch(open(failed))
}

/**
 * Whether something that is not pure would be sent without a person's word about its doubt. That of
 * the risk policy is none: it was asked whether the call may be made, not what else is open.
 */
export function sendsUndecided(call: IssuedCall, said: Verdict): boolean {
  if (call.replayClass === 'pure' || call.wait !== null || call.ask !== null) return false
  if (said.do === 'obey') return call.entry?.grant?.kind === 'approval'
  return said.do === 'dispatch' || said.do === 'resend'
}

/**
 * The status that the verdict is asked about. Late evidence may have cleared every attempt of a
 * doubt: then it was certainly not sent. And of a doubt that was found while nobody asked for the
 * call, its tool has not been heard: it may have a probe, or a key.
 */
export function statusOf(visit: Visit, call: IssuedCall, record: CallRecord) {
  const { status } = record
  if (status !== 'in_doubt') return status
  const key = keyOf(record)
  const unheard = ({ state, body: { unasked, subject } }: Item) =>
    state === 'open' && unasked === true && subject !== null && keyOf(subject) === key
  const anew = !call.unasked && visit.loaded.items.some(unheard)
  return call.unknownBefore === 0 || anew ? 'pending' : status
}
