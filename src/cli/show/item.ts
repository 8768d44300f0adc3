// An item as an operator sees it: what is asked, the call it is about, and what is known of it.
import type { ItemView } from '../../client/inbox/inbox.ts'
import type { ItemLook } from '../../client/inbox/item.ts'
import { systemClock } from '../../clock.ts'
import { deadlinesOf, slaOf } from '../../model/decisions/deadline.ts'
import {
  probeWords,
  sentBefore,
  sentWords,
  twice,
  usualCause,
} from '../../model/decisions/words.ts'
import {
  isAsked,
  keyOf,
  type Look,
  type Subject,
  type UnmatchedCall,
} from '../../model/run/records.ts'
import type { WorkerRow } from '../../store/store.ts'
import type { Cli } from '../cli.ts'
import { field, jsonField } from './fields.ts'
import { clean, relative, when, wrap } from './text.ts'

export function itemLines(cli: Cli, { item, workers, replayClass, unusable }: ItemLook): string[] {
  const { colors, width } = cli.out
  const { body } = item
  const what = [item.kind, item.reason, item.state, `version ${item.version}`]
  const lines = [
    ...wrap(clean(item.title), width).map(colors.bold),
    ...lookLines(cli, body.look),
    ...field(cli, 'item', `${item.itemId} (${what.filter(Boolean).join(', ')})`),
    ...field(cli, 'run', `${item.runId}, at node ${body.node}`),
    ...field(cli, 'opened', when(item.createdAt, systemClock.now())),
    ...whoLines(cli, item),
  ]
  if (item.closedBy !== null) lines.push(...field(cli, 'closed', item.closedBy))
  if (unusable !== null) lines.push(...field(cli, 'again', `an answer did not fit: ${unusable}`))
  if (item.kind === 'question') lines.push(...jsonField(cli, 'shown', body.data))
  if (item.kind === 'approval') lines.push(...approvalLines(cli, item, replayClass))
  lines.push(...saidLines(cli, item))
  if (body.error !== null && body.error.code !== 'REPLAY_UNSAFE') {
    lines.push(...field(cli, 'cause', clean(body.error.message)))
  }
  if (item.kind === 'doubt' && body.subject) {
    lines.push(...field(cli, 'call', callWords(body.subject, replayClass)))
    lines.push(...jsonField(cli, 'input', body.input))
    if (body.idempotencyKey) lines.push(...field(cli, 'key', body.idempotencyKey))
    lines.push(...answerLines(cli, item))
  }
  lines.push(...damageLines(cli, item), ...attemptLines(cli, item, workers))
  lines.push(...unmatchedLines(cli, item))
  if (item.reason === 'unknown') {
    lines.push(...field(cli, 'probe', probeWords(body.probe)), ...quietLines(cli, item))
  }
  return lines
}

/** First of all: where a person sees whether it happened. */
function lookLines(cli: Cli, look: Look | undefined, label = 'look at'): string[] {
  if (look === undefined) return []
  const { url, say, fault } = look
  const lines = [say, url].filter((text) => text !== null).join(' ')
  const none = fault === null ? '' : `(the tool could not say where: ${fault})`
  return field(cli, label, clean([lines, none].filter(Boolean).join(' ')))
}

/** Whose it is, and until when. */
function whoLines(cli: Cli, item: ItemView): string[] {
  const { state, body } = item
  const dueAt = slaOf(item)
  const now = systemClock.now()
  const lines = field(cli, 'queue', queueWords(item))
  if (dueAt !== null) {
    const late = state === 'open' && dueAt < now
    const due = field(cli, 'due', `${when(dueAt, now)}${late ? ': overdue' : ''}`)
    lines.push(...(late ? due.map((line) => cli.out.colors.red(line)) : due))
  }
  const { deciders = null, quorum = 1, notStarter, expire } = body.approval ?? {}
  const { escalate } = deadlinesOf(item) ?? {}
  if (deciders !== null) lines.push(...field(cli, 'for', deciders.join(', ')))
  if (quorum > 1) lines.push(...field(cli, 'needs', `${quorum} people who approve`))
  if (notStarter) lines.push(...field(cli, 'not', 'whoever started the run'))
  if (escalate) lines.push(...field(cli, 'then', `to ${escalate.queue}, ${when(escalate.at, now)}`))
  if (expire) lines.push(...field(cli, 'expires', `${when(expire.at, now)}, as ${expire.as}`))
  return lines
}

function queueWords({ queue, body }: ItemView): string {
  const { escalated } = deadlinesOf({ body }) ?? {}
  if (!escalated) return queue
  return `${queue}, since nobody of ${escalated.from} decided in time`
}

/** What people have said already, in this round and in the one before. */
function saidLines(cli: Cli, { votes, comments, previous }: ItemView): string[] {
  const now = systemClock.now()
  const lines: string[] = []
  if (previous) {
    const { itemId, outcome, by, reason } = previous
    lines.push(...field(cli, 'before', `${itemId}: ${outcome}, by ${by}: ${reason}`))
  }
  for (const { by, says, why, at } of votes) {
    lines.push(...field(cli, 'vote', `${by}, ${relative(at, now)}: ${says} (${why})`))
  }
  for (const { by, text, at } of comments) {
    lines.push(...field(cli, 'comment', `${by}, ${relative(at, now)}: ${text}`))
  }
  return lines
}

/** Whole: whoever approves it approves all of it. */
const shownMax = 400

function approvalLines(cli: Cli, { body }: ItemView, replayClass: string | null): string[] {
  const { approval, subject } = body
  const lines: string[] = []
  if (subject && !isAsked(subject.tool)) {
    const why = approval?.why ?? 'the policy of this program asks before such a call'
    lines.push(...field(cli, 'held call', callWords(subject, replayClass)))
    lines.push(...field(cli, 'because', why))
  }
  lines.push(...jsonField(cli, 'shown', body.data, { lineMax: shownMax, wrapped: true }))
  const schema = approval?.schema ?? null
  return schema === null ? lines : [...lines, ...jsonField(cli, 'edits fit', schema)]
}

function damageLines(cli: Cli, { body }: ItemView): string[] {
  const { damage } = body
  if (damage === null) return []
  const { why, visit, good } = damage
  const some = good.length > 12 ? `${good.slice(0, 12).join(', ')}, …` : good.join(', ')
  const order = good.length > 1 ? ' (newest first)' : ''
  const text = good.length === 0 ? 'none' : `${some}${order}`
  return [
    ...field(cli, 'damage', why),
    ...field(cli, 'stands at', `visit ${visit}: nothing is run on it`),
    ...field(cli, 'good', `earlier visits whose checkpoint can be believed: ${text}`),
  ]
}

/** What "it happened" wants to be told. */
function answerLines(cli: Cli, { outcomes, body: { answer } }: ItemView): string[] {
  if (answer === undefined || !outcomes.includes('happened')) return []
  const { schema, example, optional } = answer
  return [
    ...(example === null ? [] : jsonField(cli, 'example', example)),
    ...(schema === null ? [] : jsonField(cli, 'must fit', schema)),
    ...(optional ? field(cli, 'result', 'may be left out: the run then goes on without one') : []),
  ]
}

function callWords({ tool, nth }: Subject, replayClass: string | null): string {
  const kind = replayClass === null ? '' : ` (${replayClass})`
  return `${tool}${kind}, call ${nth + 1} of this tool in its visit`
}

type Workers = ReadonlyMap<string, WorkerRow>

function attemptLines(cli: Cli, item: ItemView, workers: Workers): string[] {
  const now = systemClock.now()
  return item.attempts.flatMap((row) => {
    const worker = workers.get(row.workerId)
    const pid = worker ? `, pid ${worker.pid} on ${worker.host}` : ''
    const sent = `sent ${relative(row.dispatchedAt, now)} by worker ${row.workerId}${pid}`
    const ended =
      row.endedAt === null ? '' : ` It ended ${relative(row.endedAt, now)}: ${row.outcome}.`
    const open = row.endedAt === null ? ' No end is on record.' : ''
    const proof = worker?.deathProof ? ` (${worker.deathProof})` : ''
    const stopped = worker?.stoppedAt == null ? '' : ' Its worker has stopped since.'
    const died =
      row.diedAt === null
        ? stopped
        : ` Its worker was found dead ${relative(row.diedAt, now)}${proof}.`
    const named = ` Its upstream knows it as ${row.attemptId}, if the tool sent that along.`
    return field(cli, `attempt ${row.attempt}`, `${sent}.${ended}${open}${died}${named}`)
  })
}

function unmatchedLines(cli: Cli, item: ItemView): string[] {
  const { unmatched, subject } = item.body
  if (unmatched.length === 0) return []
  const drift = item.reason === 'drift'
  const cause = drift ? ` ${usualCause}` : ''
  const unsent = `was not sent. ${sentBefore(unmatched)} ${twice}${cause}`
  const first = subject === null ? [] : field(cli, 'this call', unsent)
  const why = drift ? 'nothing has claimed it' : 'it may have had the same effect'
  return [...first, ...unmatched.flatMap((call) => recordLines(cli, call, why))]
}

function recordLines(cli: Cli, call: UnmatchedCall, why: string): string[] {
  const what = `${recordName(call)}, ${call.status}: ${sentWords[call.status]}; ${why}`
  return [
    ...field(cli, 'record', what),
    ...lookLines(cli, call.look, '  look at'),
    ...jsonField(cli, '  input', call.input),
    ...(call.result === null ? [] : jsonField(cli, '  result', call.result)),
  ]
}

function quietLines(cli: Cli, item: ItemView): string[] {
  const now = systemClock.now()
  const { quietUntil: from } = item
  if (from === null) return []
  if (from === Number.POSITIVE_INFINITY) {
    const text =
      'is not allowed yet: an attempt may still be running. It is once its worker is found dead ' +
      'or reports its end, and the quiet time has passed.'
    return field(cli, 'not sent?', `"It did not happen" ${text}`)
  }
  const text = from <= now ? `can be said since ${when(from, now)}.` : quietWords(from, now)
  return field(cli, 'not sent?', `"It did not happen" ${text}`)
}

function quietWords(from: number, now: number): string {
  return (
    `can be said from ${when(from, now)}: what was sent may arrive until then, though its sender ` +
    'is gone. That time is an assumption about the network (quietMs of the tool), not a proof.'
  )
}

/** Short enough to type, and as long as it takes to tell records apart. */
export function recordName(subject: Omit<Subject, 'nth'>): string {
  return `${subject.tool}/${subject.inputHash.slice(0, 12)}/${subject.occurrence}`
}

/** The record that is meant; its hash may be shortened. Null if none, or more than one. */
export function findRecord(item: ItemView, name: string): Subject | null {
  const found = item.body.unmatched.filter((call) => {
    const [occurrence, hash = '', ...tool] = name.split('/').reverse()
    const key = `${tool.reverse().join('/')}/${call.inputHash}/${occurrence}`
    return hash.length >= 4 && call.inputHash.startsWith(hash) && keyOf(call) === key
  })
  return found.length === 1 ? (found[0] ?? null) : null
}
