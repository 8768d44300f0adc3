// Makes the items that wait for a person. Their ids are hashes of what they are about, so that a
// visit that comes to the same point again finds the same item and makes no second one.
import { approvalBody, dueOf } from '../../model/decisions/approval.ts'
import { firstDeadline } from '../../model/decisions/deadline.ts'
import { ReplayUnsafeError } from '../../model/errors.ts'
import { canonical, sha256 } from '../../model/json/canonical.ts'
import * as limits from '../../model/limits.ts'
import { type Entry, isAboutSent } from '../../model/replay/entry.ts'
import {
  type CallRecord,
  type Damage,
  type DoubtReason,
  type Item,
  type ItemBody,
  keyOf,
  type Subject,
  type UnmatchedCall,
} from '../../model/run/records.ts'
import { jsonSchemaOf } from '../../model/tool/schema.ts'
import type { Tool } from '../../model/tool/tool.ts'
import type { Changes } from '../../store/store.ts'
import { sentName } from '../attempt/rows.ts'
import type { Ask, IssuedCall } from '../call/call.ts'
import type { Visit } from '../visit/visit.ts'
import { answerFormOf, lookOf } from './look.ts'

const titles: Record<DoubtReason, string> = {
  unknown: 'did it happen?',
  drift: 'no record matches this call',
  tampered: 'its record cannot be trusted',
  unresolved: 'the same call failed earlier and nobody knows its outcome',
  same_effect: 'an earlier call may have had the same effect',
  key_conflict: 'its idempotency key was used with another input',
  checkpoint: 'its checkpoint is damaged',
  failed: 'it failed',
  poison: 'its workers died of it, again and again',
}

const nothing = {
  input: null,
  attempt: 0,
  idempotencyKey: null,
  unmatched: [],
  error: null,
  probe: null,
  data: null,
  approval: null,
  damage: null,
} as const satisfies Details

export function doubtItem(visit: Visit, call: IssuedCall, reason: DoubtReason): Item {
  const record = call.record ?? call.entry?.record ?? null
  const about = isAboutSent(reason) ? record : null
  const subject = about ? subjectOf(about) : call.subject
  const input = readable(about?.inputJson ?? call.inputJson)
  const item = makeItem(
    visit,
    reason,
    subject,
    {
      ...nothing,
      input,
      attempt: about?.attempt ?? 0,
      ...(about && about.attempt > 0 ? { attemptId: sentName(visit, about) } : {}),
      idempotencyKey: about?.idempotencyKey ?? null,
      unmatched: besideOf(visit, call, reason),
      error: reason === 'unknown' ? unsafeError(visit, call, about, input) : null,
      probe: call.probed === 'none' || call.probed === 'unasked' ? null : call.probed,
      ...(call.unasked ? { unasked: true as const } : {}),
      answer: answerFormOf(call.tool),
      ...lookOf(visit, call.tool, about ?? unresolvedBefore(visit, call, reason)),
    },
    call.tool.rules.doubtSlaMs,
  )
  // Only the process that made the attempt knows its answer: a later one keeps what it said.
  const { error } = (call.unrecorded === null ? known(visit, item) : item)?.body ?? {}
  if (reason !== 'unknown' || error?.code !== 'RESULT_UNRECORDED') return item
  return { ...item, title: `${subject.tool}: ${unrecordedTitle}`, body: { ...item.body, error } }
}

/** The node has ended and left records behind. */
export function leftBehindItem(visit: Visit): Item {
  return makeItem(visit, 'drift', null, { ...nothing, unmatched: unmatchedOf(visit) })
}

/** What a person is asked: by the node, or about a call that the risk policy holds. */
export function askItem(visit: Visit, call: IssuedCall, ask: Ask): Item {
  const { kind, title, data, queue, terms, why } = ask
  const schema = ask.schema && (jsonSchemaOf(ask.schema, 'input')?.json ?? null)
  const shown = { title, data }
  const input = call.held ? readable(call.inputJson) : null
  const item = makeItem(visit, null, call.subject, { ...nothing, input, data })
  const shownHash = sha256(canonical(shown))
  const from = item.createdAt
  const approval =
    kind === 'approval' ? approvalBody({ shownHash, schema, why }, terms, from) : null
  if (approval === null) {
    const { deadlines: _, ...body } = item.body
    return { ...item, kind, title, queue, ...due(visit, { queue, body }, terms.slaMs, from) }
  }
  const slaAt = terms.slaMs === undefined ? null : from + terms.slaMs
  const dueAt = approval.slaAt === undefined ? slaAt : firstDeadline(approval)
  const { deadlines: _, ...body } = item.body
  return { ...item, kind, title, queue, dueAt, body: { ...body, approval } }
}

/** Until when somebody should have decided (E10): by the question, the tool, or the queue. */
function due(
  visit: Visit,
  { queue, body }: Pick<Item, 'queue' | 'body'>,
  own: number | null | undefined,
  from: number,
): Pick<Item, 'dueAt' | 'body'> {
  const { dueAt, deadlines } = dueOf(own, visit.queues[queue] ?? {}, from)
  return { dueAt, body: deadlines ? { ...body, deadlines } : body }
}

/** The run cannot go on from its own checkpoint: a person may pin an earlier one (D11). */
export function damageItem(visit: Visit, damage: Damage): Item {
  const item = makeItem(visit, 'checkpoint', null, { ...nothing, damage })
  return { ...item, title: `${visit.run.graph}: ${titles.checkpoint}` }
}

/** Its workers died of it: who, when, and how that was noticed. */
export function poisonItem(visit: Visit, deaths: readonly Record<string, unknown>[]): Item {
  const message =
    `${deaths.length} workers have died, stood still or were refused while they held it, ` +
    'and none got any further'
  const error = { code: 'RUN_POISONED', message }
  const item = makeItem(visit, 'poison', null, { ...nothing, error, data: { deaths } })
  return { ...item, title: `${visit.run.graph}: ${titles.poison}` }
}

/** The run itself is before a person: nothing of it is executed. */
export function doubtRun(visit: Visit, item: Item): void {
  const old = visit.loaded.items.find((known) => known.itemId === item.itemId)
  const { itemId, reason, title } = item
  const event = visit.event('doubt', { item: itemId, reason, title })
  visit.doubt(old ?? item, old ? {} : { items: [item], events: [event] })
}

type Details = Omit<ItemBody, 'subject' | 'node' | 'graph' | 'scope'>

function makeItem(
  visit: Visit,
  reason: DoubtReason | null,
  subject: Subject | null,
  details: Details,
  slaMs: number | null = null,
): Item {
  const { namespace, runId, generation, visit: number } = visit.run
  const createdAt = visit.clock.now()
  const queue = 'doubts'
  const about = aboutOf(reason, subject, details.attempt)
  // A question is about its very call: one whose input has moved is another. A doubt is about the
  // place.
  const same = reason === null ? sameCall : samePlace
  // A decision that did not end the doubt (a retired record, an answer that does not fit) asks
  // anew.
  const round = visit.loaded.items.filter(
    (old) => old.state !== 'open' && old.reason === reason && same(old.body.subject, subject),
  ).length
  const id = sha256(canonical([namespace, runId, generation, number, reason, about, round]))
  return {
    namespace,
    runId,
    itemId: `item_${id.slice(0, 20)}`,
    kind: 'doubt',
    reason,
    state: 'open',
    version: 1,
    queue,
    title: `${subject?.tool ?? visit.run.graph}: ${reason ? titles[reason] : ''}`,
    generation,
    visit: number,
    overdueAt: null,
    ...due(visit, { queue, body: bodyOf(visit, subject, details) }, slaMs, createdAt),
    createdAt,
    closedAt: null,
    closedBy: null,
  }
}

function bodyOf(visit: Visit, subject: Subject | null, details: Details): ItemBody {
  const scope = visit.at.scope ?? null
  const { node, graph } = visit.run
  return { subject, node: scope?.nodeId ?? node, graph, scope, ...details }
}

/** The item as it stands in the store, if the visit has come to this point before. */
export function known(visit: Visit, item: Item): Item | null {
  return visit.loaded.items.find((old) => old.itemId === item.itemId) ?? null
}

/** What a doubt writes: a new item, a new version of the old one, or nothing. */
export function itemChanges(visit: Visit, item: Item): Changes {
  const old = known(visit, item)
  if (old === null) {
    const { itemId, reason, title } = item
    return { items: [item], events: [visit.event('doubt', { item: itemId, reason, title })] }
  }
  // What the operator looks at has moved (an input with a time in it): a new version of the item.
  if (old.state !== 'open' || looked(old.body) === looked(item.body)) return {}
  const { deadlines } = old.body
  const { deadlines: _, ...body } = item.body
  const kept = deadlines ? { ...body, deadlines } : body
  return { items: [{ ...old, body: kept, version: old.version + 1 }] }
}

/**
 * What a person decides about. Not its deadlines, which go on; nor where to look, which its tool
 * says anew each time.
 */
function looked({ deadlines: _, look: __, unasked: ____, unmatched, ...rest }: ItemBody): string {
  return canonical({ ...rest, unmatched: unmatched.map(({ look: ___, ...call }) => call) })
}

/** The call that looks most like one of the records that nothing has claimed. */
export function mostAlike(visit: Visit, calls: readonly IssuedCall[]): IssuedCall | undefined {
  const records = visit.match.unclaimedEntries().map((entry) => entry.record)
  const places = new Set(records.map((row) => `${row.tool}#${row.nth}`))
  const tools = new Set(records.map((row) => row.tool))
  return (
    calls.find(({ tool, place }) => places.has(`${tool.name}#${place.nth}`)) ??
    calls.find(({ tool }) => tools.has(tool.name)) ??
    calls[0]
  )
}

function aboutOf(reason: DoubtReason | null, subject: Subject | null, attempt: number): string {
  if (subject === null) return 'end'
  if (reason === null) return keyOf(subject)
  return reason === 'unknown' ? `${keyOf(subject)}/${attempt}` : `${subject.tool}#${subject.nth}`
}

function sameCall(a: Subject | null, b: Subject | null): boolean {
  return a !== null && b !== null && keyOf(a) === keyOf(b)
}

function samePlace(a: Subject | null, b: Subject | null): boolean {
  return a?.tool === b?.tool && a?.nth === b?.nth
}

export function subjectOf(record: CallRecord): Subject {
  const { tool, inputHash, occurrence, nth } = record
  return { tool, inputHash, occurrence, nth }
}

/** The records that a person is to compare the call with. */
function besideOf(visit: Visit, call: IssuedCall, reason: DoubtReason): UnmatchedCall[] {
  const { alike, tool } = call
  if (reason === 'drift') return unmatchedOf(visit, tool)
  if (reason !== 'same_effect') return []
  return alike.slice(0, limits.unmatchedShownMax).map((record) => ({
    ...subjectOf(record),
    status: record.status,
    input: readable(record.inputJson ?? 'null'),
    result: record.status === 'committed' ? readable(record.resultJson ?? 'null') : null,
    ...lookOf(visit, tool, record),
  }))
}

/** The same call, failed by somebody who did not know: that one is to be looked for. */
function unresolvedBefore(
  { loaded }: Visit,
  { tool, inputHash }: IssuedCall,
  reason: DoubtReason,
): CallRecord | null {
  if (reason !== 'unresolved') return null
  const same = loaded.records.filter((row) => row.tool === tool.name && row.inputHash === inputHash)
  return same.findLast((row) => row.unresolved) ?? null
}

function unmatchedOf(visit: Visit, tool: Tool | null = null): UnmatchedCall[] {
  const shown = visit.match.unclaimedEntries().slice(0, limits.unmatchedShownMax)
  const named = (name: string) => (tool?.name === name ? tool : visit.graph?.tools.get(name))
  return shown.map((entry: Entry) => ({
    ...subjectOf(entry.record),
    status: knownStatus(entry),
    input: readable(entry.record.inputJson ?? 'null'),
    result: entry.settled?.ok ? (entry.settled.value ?? null) : null,
    ...lookOf(visit, named(entry.record.tool), entry.record),
  }))
}

/** With what a person has said of it, though its own call has not come back for that. */
function knownStatus({ record, settled, grant }: Entry): CallRecord['status'] {
  if (settled) return settled.ok ? 'committed' : 'failed'
  return grant ? 'failed' : record.status
}

function unsafeError(
  visit: Visit,
  call: IssuedCall,
  record: CallRecord | null,
  input: unknown,
): { code: string; message: string } {
  if (call.unrecorded !== null) return unrecordedError(call.tool.name, call.unrecorded)
  const { code, message } = new ReplayUnsafeError({
    runId: visit.run.runId,
    node: visit.run.node,
    tool: call.tool.name,
    replayClass: record?.replayClass ?? call.tool.replayClass,
    input,
    attempt: record?.attempt ?? 0,
    idempotencyKey: record?.idempotencyKey ?? null,
  })
  return { code, message }
}

const unrecordedTitle = 'it answered, but its result cannot be recorded'

/** Its function has returned: whoever decides must not take that for "nobody knows". */
function unrecordedError(tool: string, why: string): { code: string; message: string } {
  const message =
    `${tool} answered, so it happened; but its result cannot be recorded: ${why}. ` +
    'Say that it happened, with the result as plain data; then let the tool return plain data ' +
    'that fits its output schema'
  return { code: 'RESULT_UNRECORDED', message }
}

/** What a person sees of a row that may have been tampered with. */
function readable(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}
