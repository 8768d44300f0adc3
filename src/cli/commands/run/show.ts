// counterfoil run show
import type { Command } from 'commander'
import { placeOf } from '../../../client/ledger/ledger.ts'
import { iso } from '../../../client/wire/iso.ts'
import {
  decisionJson,
  eventJson,
  itemJson,
  recordJson,
  runJson,
} from '../../../client/wire/rows.ts'
import { systemClock } from '../../../clock.ts'
import { isCounterfoilError } from '../../../model/errors.ts'
import type { CallRecord, Decision, Event, Item, Run } from '../../../model/run/records.ts'
import type { Counterfoil } from '../../../open.ts'
import { rowsOf } from '../../../store/pages.ts'
import type { Sealed } from '../../../store/store.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { findRun, type Tail, tailOf } from '../../find.ts'
import { eventTable } from '../../show/event-lines.ts'
import { renderTable } from '../../show/table.ts'
import { clean, clip, duration, plural, relative, wrap } from '../../show/text.ts'
import { waitWords } from '../../show/waits.ts'
import { wholeNumber } from '../../usage.ts'
import { stateColor } from '../runs.ts'

interface Options {
  events?: string | true
  calls?: string
}

/** Everything that is shown of a run, read before anything is printed. */
interface RunPicture {
  /** With its output, wherever it lies. */
  readonly run: Run
  readonly waiting: readonly Item[]
  readonly calls: Tail<Sealed<CallRecord>>
  readonly decisions: readonly Sealed<Decision>[]
  readonly events: Tail<Event> | null
}

const callMax = 50
const eventMax = 20

const help = `
A call is committed (it has a receipt), pending (dispatched, no receipt yet),
failed (for certain) or in_doubt (a person has to say whether it happened).

Examples:
  counterfoil run show acme-1
  counterfoil run show acme-1 --events          and its last ${eventMax} events
  counterfoil run show acme-1 --events 200 --calls 500
  counterfoil run show acme-1 --json | jq .calls`

export function addRunShow(run: Command): void {
  const command = run
    .command('show <run>')
    .description('show where a run is, what it waits for, and its ledger')
    .option('--events [n]', `also its last events (${eventMax})`)
    .option('--calls <n>', `the last calls of its ledger (${callMax})`)
    .addHelpText('after', help)
    .action((id: string, options: Options) => showRun(cliOf(command), id, options))
  addGlobals(command)
}

async function showRun(cli: Cli, runId: string, options: Options): Promise<void> {
  const { events } = options
  const callCount = wholeNumber('--calls', options.calls ?? `${callMax}`)
  const eventCount =
    events === undefined ? 0 : events === true ? eventMax : wholeNumber('--events', events)
  const picture = await withStore(cli, (cf) => look(cli, cf, { runId, callCount, eventCount }))
  const { run } = picture
  cli.out.data({
    run: runJson(run),
    waiting_for: picture.waiting.map(itemJson),
    calls: picture.calls.rows.map((row) => recordJson(row, placeOf(run, row).visit)),
    calls_left_out: picture.calls.left,
    decisions: picture.decisions.map(decisionJson),
    ...(picture.events ? { events: picture.events.rows.map(eventJson) } : {}),
  })
  cli.out.text(
    ...headLines(cli, picture),
    ...callLines(cli, picture.calls),
    ...decisionLines(cli, picture.decisions),
    ...(picture.events ? eventLines(cli, picture.events) : []),
  )
}

async function look(
  cli: Cli,
  cf: Counterfoil,
  of: { runId: string; callCount: number; eventCount: number },
): Promise<RunPicture> {
  const { store } = cf
  const run = await findRun(cli, cf, of.runId)
  const ids = run.waitingFor?.items ?? []
  const items = await Promise.all(ids.map((id) => store.getItem(run.namespace, id)))
  const calls = rowsOf((page) => store.listRecords(run, page))
  const events = rowsOf((page) => store.listEvents(run, page))
  return {
    run: { ...run, outputJson: await readOutput(cf, run) },
    waiting: items.filter((item) => item !== null),
    calls: await tailOf(cli, 'call', calls, { countMax: of.callCount }),
    decisions: await store.listDecisions(run),
    events:
      of.eventCount === 0 ? null : await tailOf(cli, 'event', events, { countMax: of.eventCount }),
  }
}

/** A large output lies in a blob; one that cannot be had must not hide the rest of the run. */
async function readOutput(cf: Counterfoil, run: Run): Promise<string | null> {
  try {
    return await cf.store.readOutput(run)
  } catch (error) {
    const isGone = isCounterfoilError(error, 'BLOB_MISSING')
    if (isGone || isCounterfoilError(error, 'BLOB_DAMAGED')) return null
    throw error
  }
}

function headLines(cli: Cli, { run, waiting }: RunPicture): string[] {
  const { colors, width } = cli.out
  const now = systemClock.now()
  const line = (name: string, text: string) =>
    `${colors.dim(name.padEnd(9))} ${clip(clean(text), width - 10)}`
  const since = run.waitingFor ? `, for ${duration(now - run.waitingFor.since)}` : ''
  const lines = [
    `${colors.bold(clean(run.runId))}  ${stateColor(colors, run.state)(run.state)}${since}`,
    line('graph', `${run.graph}@${run.version}, at node ${run.node}, visit ${run.visit}`),
    line('started', `${relative(run.createdAt, now)} (${iso(run.createdAt)})`),
    line('changed', `${relative(run.updatedAt, now)} (${iso(run.updatedAt)})`),
  ]
  if (run.workerId !== null) lines.push(line('worker', run.workerId))
  if (run.stop !== null) {
    const { to, by, why, at } = run.stop
    lines.push(line('asked', `to be ${to}, by ${by} ${relative(at, now)}: ${why}`))
  }
  if (run.outputJson !== null) lines.push(line('output', run.outputJson))
  else if (run.outputDigest !== null) {
    lines.push(line('output', `in blob ${run.outputDigest}, which is missing or damaged`))
  }
  if (run.errorJson !== null) {
    const failure = JSON.parse(run.errorJson) as { message?: string }
    const [first = '', ...rest] = wrap(clean(failure.message ?? run.errorJson), width - 10)
    lines.push(line('error', first), ...rest.map((text) => line('', text)))
  }
  const waits = waitWords(run, now)
  if (waits !== null) lines.push(line('waits for', waits))
  if (run.parentRunId !== null) lines.push(line('parent', run.parentRunId))
  for (const item of waiting) {
    lines.push(line('waits for', item.title), ...cli.again(10, 'inbox', 'show', item.itemId))
  }
  return [...lines, ...nextLines(cli, run)]
}

/** What one would do with a run that does nothing by itself. */
function nextLines(cli: Cli, run: Run): string[] {
  const { dim } = cli.out.colors
  if (run.state === 'paused') return cli.again(10, 'run', 'resume', run.runId)
  if (run.state !== 'failed') return []
  return [dim('try again'), ...cli.again(10, 'run', 'retry', run.runId, '--reason', '…')]
}

function callLines(cli: Cli, { rows, left }: Tail<Sealed<CallRecord>>): string[] {
  const { colors, width } = cli.out
  const title = `Ledger: ${plural(rows.length + left, 'call')}`
  const cut = left > 0 ? `, the last ${rows.length} (--calls shows more)` : ''
  if (rows.length === 0) return ['', colors.bold(title)]
  const paint = (row: Sealed<CallRecord>) => {
    if (!row.verifies || row.status === 'failed') return colors.red
    return row.status === 'committed' ? colors.green : colors.yellow
  }
  // A workflow has one node, which goes without saying.
  const nodes = rows.some((row) => row.nodeId !== 'run')
  const columns = [
    ...(nodes ? [{ head: 'NODE', yields: 2, least: 6 }] : []),
    { head: 'CALL', yields: 2, least: 12 },
    { head: 'CLASS', yields: 4, least: 6 },
    { head: 'STATUS', yields: 5 },
    { head: 'ATTEMPTS', yields: 3, least: 3 },
    { head: 'EXTERNAL ID', keep: 'ends', yields: 1, least: 8 },
  ] as const
  const cells = rows.map((row) => [
    ...(nodes ? [row.nodeId] : []),
    row.tool,
    row.replayClass,
    { text: row.verifies ? row.status : `${row.status}, altered`, paint: paint(row) },
    row.attempt === 0 ? '' : `${row.attempt}`,
    row.externalId ?? '',
  ])
  return ['', colors.bold(`${title}${cut}`), ...renderTable(columns, cells, { width })]
}

function decisionLines(cli: Cli, rows: readonly Sealed<Decision>[]): string[] {
  if (rows.length === 0) return []
  const { colors, width } = cli.out
  const now = systemClock.now()
  const columns = [
    { head: 'CALL', yields: 2, least: 10 },
    { head: 'DECIDED' },
    { head: 'BY', yields: 3, least: 6 },
    { head: 'WHY', yields: 1 },
    { head: 'WHEN' },
  ] as const
  const cells = rows.map((row) => [
    row.subject?.tool ?? 'the run',
    row.verifies ? row.outcome : `${row.outcome}, altered`,
    row.by,
    row.why,
    relative(row.at, now),
  ])
  return ['', colors.bold('Decisions'), ...renderTable(columns, cells, { width })]
}

function eventLines(cli: Cli, { rows, left }: Tail<Event>): string[] {
  const cut = left > 0 ? `, the last ${rows.length} of ${rows.length + left}` : ''
  return ['', cli.out.colors.bold(`Events${cut}`), ...eventTable(cli, rows)]
}
