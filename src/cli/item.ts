// An item as an operator sees it: the call, what is known of its attempts, and the commands that
// decide it at the version shown.
import type { ItemView } from '../client/inbox.ts'
import { systemClock } from '../clock.ts'
import { keyOf, type Outcome, type Subject } from '../model/records.ts'
import type { Counterfoil } from '../open.ts'
import type { WorkerRow } from '../store/store.ts'
import type { Cli } from './cli.ts'
import { clean, clip, relative, when, wrap } from './text.ts'

/** An item, and what the store knows besides. */
export interface ItemLook {
  readonly item: ItemView
  readonly workers: Workers
  /** The class of the call it is about, as it is on record. */
  readonly replayClass: string | null
}

type Workers = ReadonlyMap<string, WorkerRow>

const indent = 11
const jsonLineMax = 20

export async function lookAt(cf: Counterfoil, itemId: string): Promise<ItemLook> {
  const item = await cf.inbox.get(itemId)
  const workers = new Map((await cf.store.workers()).map((row) => [row.workerId, row]))
  const { subject } = item.body
  const loaded = subject && (await cf.store.load(item))
  const record = loaded?.records.find((row) => subject && keyOf(row) === keyOf(subject))
  return { item, workers, replayClass: record?.replayClass ?? null }
}

export function itemLines(cli: Cli, { item, workers, replayClass }: ItemLook): string[] {
  const { colors, width } = cli.out
  const { body } = item
  const now = systemClock.now()
  const what = [item.kind, item.reason, item.state, `version ${item.version}`]
  const lines = [
    ...wrap(clean(item.title), width).map(colors.bold),
    ...field(cli, 'item', `${item.itemId} (${what.filter(Boolean).join(', ')})`),
    ...field(cli, 'run', `${item.runId}, at node ${body.node}`),
    ...field(cli, 'opened', when(item.createdAt, now)),
  ]
  if (item.closedBy !== null) lines.push(...field(cli, 'closed', item.closedBy))
  if (item.kind === 'question') lines.push(...jsonField(cli, 'shown', body.data))
  if (item.kind === 'doubt' && body.subject) {
    lines.push(...field(cli, 'call', callWords(body.subject, replayClass)))
    lines.push(...jsonField(cli, 'input', body.input))
    if (body.idempotencyKey) lines.push(...field(cli, 'key', body.idempotencyKey))
  }
  lines.push(...attemptLines(cli, item, workers))
  lines.push(...unmatchedLines(cli, item))
  if (item.reason === 'unknown') {
    lines.push(...field(cli, 'probe', probeWords(body.probe)), ...quietLines(cli, item))
  }
  return lines
}

/** The commands that decide it, at the version shown. */
export function decideLines(cli: Cli, item: ItemView): string[] {
  if (item.state !== 'open') return []
  return ['', cli.out.colors.bold('Decide with one of'), ...commandLines(cli, item)]
}

function callWords({ tool, nth }: Subject, replayClass: string | null): string {
  const kind = replayClass === null ? '' : ` (${replayClass})`
  return `${tool}${kind}, call ${nth + 1} of this tool in its visit`
}

/** `name      text`, wrapped under itself. */
function field(cli: Cli, name: string, text: string): string[] {
  const { colors, width } = cli.out
  return wrap(clean(text), width - indent).map(
    (line, index) => `${colors.dim((index === 0 ? name : '').padEnd(indent))}${line}`,
  )
}

function jsonField(cli: Cli, name: string, value: unknown): string[] {
  const { colors, width } = cli.out
  const short = JSON.stringify(value ?? null)
  const text = short.length <= width - indent ? short : JSON.stringify(value, null, 2)
  const lines = text.split('\n').map((line) => clip(clean(line), width - indent))
  const cut = lines.length > jsonLineMax ? ['… (--json shows all of it)'] : []
  return [...lines.slice(0, jsonLineMax), ...cut].map(
    (line, index) => `${colors.dim((index === 0 ? name : '').padEnd(indent))}${line}`,
  )
}

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
    return field(cli, `attempt ${row.attempt}`, `${sent}.${ended}${open}${died}`)
  })
}

function unmatchedLines(cli: Cli, item: ItemView): string[] {
  return item.body.unmatched.flatMap((call) => [
    ...field(cli, 'record', `${recordName(call)}, ${call.status}: nothing has claimed it`),
    ...jsonField(cli, '  input', call.input),
    ...(call.result === null ? [] : jsonField(cli, '  result', call.result)),
  ])
}

function probeWords(probe: string | null): string {
  if (probe === null) return 'none: the tool has no way to ask, or was not asked'
  const more = probe === 'no' ? ', which proves nothing while bytes may be under way' : ''
  return `said ${probe}${more}`
}

function quietLines(cli: Cli, item: ItemView): string[] {
  const now = systemClock.now()
  const { quietUntil: from } = item
  if (from === null) return []
  if (from === Number.POSITIVE_INFINITY) {
    const text =
      'cannot be said yet: an attempt may still be running. It can once its worker is found dead ' +
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

const explained: Record<Outcome, string> = {
  happened: 'it happened; the call is answered with this result, and nothing is sent',
  did_not_happen: 'it did not happen; it is sent once more',
  fail: 'fail the call: the workflow sees an error, and the same call again asks again',
  abandon: 'end the run as failed',
  use_record: 'this record answers the call; nothing is sent',
  send: 'none of the records is this call; it is sent',
  retire_record: 'nothing will claim this record any more; it stays on record',
  respond: 'the answer to the question',
  approve: 'yes: exactly what is shown here',
  edit: 'yes, but with this in its place',
  reject: 'no; the workflow is told why',
  pin: 'go on from an earlier, good checkpoint (counterfoil checkpoint pin)',
}

function commandLines(cli: Cli, item: ItemView): string[] {
  const { colors } = cli.out
  const now = systemClock.now()
  const locked = item.reason === 'unknown' && (item.quietUntil ?? 0) > now
  const denies = (outcome: Outcome) => outcome === 'did_not_happen' || outcome === 'fail'
  const means = (outcome: Outcome) =>
    outcome === 'fail' && item.kind === 'question'
      ? 'no answer: the workflow sees an error'
      : explained[outcome]
  const more = (outcome: Outcome) =>
    locked && denies(outcome) ? ' (refused for now, unless you state --made-sure)' : ''
  return item.outcomes.flatMap((outcome) => [
    ...wrap(`${means(outcome)}${more(outcome)}`, cli.out.width - 4).map(
      (line) => `  ${colors.dim(`# ${line}`)}`,
    ),
    ...cli.again(2, 'decide', item.itemId, outcome, ...wordsFor(item, outcome)),
  ])
}

function wordsFor(item: ItemView, outcome: Outcome): string[] {
  const { subject, unmatched } = item.body
  const record = unmatched.find((call) => call.tool === subject?.tool) ?? unmatched[0]
  const names = outcome === 'use_record' || outcome === 'retire_record'
  const pending = outcome === 'use_record' && record?.status !== 'committed'
  const answers = outcome === 'happened' || outcome === 'respond' || pending
  return [
    ...(answers ? ['--result', '{…}'] : []),
    ...(names && record ? ['--record', recordName(record)] : []),
    ...['--version', `${item.version}`, '--reason', '…'],
  ]
}
