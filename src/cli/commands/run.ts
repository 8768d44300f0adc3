// counterfoil run show
import type { Command } from 'commander'
import { systemClock } from '../../clock.ts'
import { CounterfoilError } from '../../model/errors.ts'
import * as limits from '../../model/limits.ts'
import type { CallRecord, Decision, Event, Item, Run } from '../../model/records.ts'
import type { Counterfoil } from '../../open.ts'
import type { Page, Sealed } from '../../store/store.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../cli.ts'
import { renderTable } from '../table.ts'
import { clean, clip, iso, plural, relative, wrap } from '../text.ts'
import { usageError, wholeNumber } from '../usage.ts'
import { decisionJson, eventJson, itemJson, recordJson, runJson } from '../wire.ts'
import { stateColor } from './runs.ts'

interface Options {
  events?: string | true
  calls?: string
}

/** Everything that is shown of a run, read before anything is printed. */
interface RunPicture {
  readonly run: Run
  readonly waiting: readonly Item[]
  readonly calls: Tail<Sealed<CallRecord>>
  readonly decisions: readonly Sealed<Decision>[]
  readonly events: Tail<Event> | null
}

/** The last rows of a long list. */
interface Tail<T> {
  readonly rows: readonly T[]
  readonly left: number
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

export function addRun(program: Command): void {
  const command = program
    .command('run')
    .description('look at one run: run show <id>')
    .addHelpText('after', '\nExample:\n  counterfoil run show acme-1 --events')
    .allowExcessArguments()
    .action(() => {
      const [first] = command.args
      if (first === undefined) command.help({ error: true })
      throw usageError(`unknown command 'run ${first}'; did you mean: run show ${first}?`)
    })
  const show = command
    .command('show <id>')
    .description('show where a run is, what it waits for, and its ledger')
    .option('--events [n]', `also its last events (${eventMax})`)
    .option('--calls <n>', `the last calls of its ledger (${callMax})`)
    .addHelpText('after', help)
    .action((id: string, options: Options) => showRun(cliOf(show), id, options))
  addGlobals(command)
  addGlobals(show)
}

async function showRun(cli: Cli, runId: string, options: Options): Promise<void> {
  const { events } = options
  const callCount = wholeNumber('--calls', options.calls ?? `${callMax}`)
  const eventCount =
    events === undefined ? 0 : events === true ? eventMax : wholeNumber('--events', events)
  const picture = await withStore(cli, (cf) => look(cli, cf, { runId, callCount, eventCount }))
  cli.out.data({
    run: runJson(picture.run),
    waiting_for: picture.waiting.map(itemJson),
    calls: picture.calls.rows.map(recordJson),
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
  const ref = { namespace: cli.namespace, runId: of.runId }
  const run = await cf.store.getRun(ref)
  if (run === null) {
    throw new CounterfoilError('RUN_NOT_FOUND', `there is no run ${of.runId}`, { details: ref })
  }
  const ids = run.waitingFor?.items ?? []
  const items = await Promise.all(ids.map((id) => cf.store.getItem(ref.namespace, id)))
  return {
    run,
    waiting: items.filter((item) => item !== null),
    calls: await tail(of.callCount, (page) => cf.store.listRecords(ref, page)),
    decisions: await cf.store.listDecisions(ref),
    events:
      of.eventCount === 0
        ? null
        : await tail(of.eventCount, (page) => cf.store.listEvents(ref, page)),
  }
}

async function tail<T>(
  count: number,
  list: (page: { cursor?: string; countMax: number }) => Promise<Page<T>>,
): Promise<Tail<T>> {
  let rows: T[] = []
  let left = 0
  let cursor: string | null = null
  do {
    const page: Page<T> = await list({
      countMax: limits.pageSizeMax,
      ...(cursor === null ? {} : { cursor }),
    })
    const all = [...rows, ...page.items]
    rows = all.slice(-count)
    left += all.length - rows.length
    cursor = page.next
  } while (cursor !== null)
  return { rows, left }
}

function headLines(cli: Cli, { run, waiting }: RunPicture): string[] {
  const { colors, width } = cli.out
  const now = systemClock.now()
  const line = (name: string, text: string) =>
    `${colors.dim(name.padEnd(9))} ${clip(clean(text), width - 10)}`
  const since = run.waitingFor
    ? `, for ${relative(run.waitingFor.since, now).replace(' ago', '')}`
    : ''
  const lines = [
    `${colors.bold(clean(run.runId))}  ${stateColor(colors, run.state)(run.state)}${since}`,
    line('graph', `${run.graph}@${run.version}, at node ${run.node}, visit ${run.visit}`),
    line('started', `${relative(run.createdAt, now)} (${iso(run.createdAt)})`),
    line('changed', `${relative(run.updatedAt, now)} (${iso(run.updatedAt)})`),
  ]
  if (run.workerId !== null) lines.push(line('worker', run.workerId))
  if (run.outputJson !== null) lines.push(line('output', run.outputJson))
  if (run.errorJson !== null) {
    const failure = JSON.parse(run.errorJson) as { message?: string }
    const [first = '', ...rest] = wrap(clean(failure.message ?? run.errorJson), width - 10)
    lines.push(line('error', first), ...rest.map((text) => line('', text)))
  }
  for (const item of waiting) {
    lines.push(line('waits for', item.title), ...cli.again(10, 'inbox', 'show', item.itemId))
  }
  return lines
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
  const columns = [
    { head: 'CALL', yields: 2, least: 12 },
    { head: 'CLASS', yields: 4, least: 6 },
    { head: 'STATUS', yields: 5 },
    { head: 'ATTEMPTS', yields: 3, least: 3 },
    { head: 'EXTERNAL ID', keep: 'ends', yields: 1, least: 8 },
  ] as const
  const cells = rows.map((row) => [
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
  const { colors, width } = cli.out
  const cut = left > 0 ? `, the last ${rows.length} of ${rows.length + left}` : ''
  const columns = [
    { head: 'AT', yields: 3, least: 12 },
    { head: 'EVENT', yields: 2 },
    { head: 'DATA', yields: 1 },
  ] as const
  const cells = rows.map((row) => [
    { text: iso(row.at).slice(11), paint: colors.dim },
    row.kind,
    inWords(row.data),
  ])
  return ['', colors.bold(`Events${cut}`), ...renderTable(columns, cells, { width })]
}

function inWords(data: Readonly<Record<string, unknown>>): string {
  // A store gives keys in their own order; what changed reads best before why.
  const { from, to, ...rest } = data
  return Object.entries({ from, to, ...rest })
    .filter(([, value]) => value !== undefined)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}
