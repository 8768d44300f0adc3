// counterfoil runs
import type { Command } from 'commander'
import { runJson } from '../../client/wire/rows.ts'
import { systemClock } from '../../clock.ts'
import * as limits from '../../model/limits.ts'
import type { Run } from '../../model/run/records.ts'
import { isEnded, type RunState, runStates } from '../../model/run/states.ts'
import type { Counterfoil } from '../../open.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../cli.ts'
import type { Colors } from '../output.ts'
import { renderTable } from '../show/table.ts'
import { relative } from '../show/text.ts'
import { waitWords } from '../show/waits.ts'
import { oneOf, wholeNumber } from '../usage.ts'

interface Options {
  state?: string
  graph?: string
  limit?: string
  cursor?: string
}

const help = `
States: ${runStates.slice(0, 4).join(', ')},
        ${runStates.slice(4).join(', ')}

Examples:
  counterfoil runs --state waiting_human      runs that wait for a person
  counterfoil runs --graph outreach --limit 10
  counterfoil runs --json | jq '.runs[].run_id'`

export function addRuns(program: Command): void {
  const command = program
    .command('runs')
    .description('list runs, newest first')
    .option('--state <state>', 'only runs in this state')
    .option('--graph <name>', 'only runs of this graph, without its version')
    .option('--limit <n>', `at most so many (${limits.pageSize}; up to ${limits.pageSizeMax})`)
    .option('--cursor <text>', 'go on where an earlier list ended')
    .addHelpText('after', help)
    .action((options: Options) => listRuns(cliOf(command), options))
  addGlobals(command)
}

async function listRuns(cli: Cli, options: Options): Promise<void> {
  const filter = {
    namespace: cli.namespace,
    newestFirst: true,
    ...(options.state === undefined ? {} : { state: oneOf('state', options.state, runStates) }),
    ...(options.graph === undefined ? {} : { graph: options.graph }),
    ...(options.cursor === undefined ? {} : { cursor: options.cursor }),
    countMax: wholeNumber('--limit', options.limit ?? `${limits.pageSize}`, limits.pageSizeMax),
  }
  await withStore(cli, async (cf) => {
    const { items: runs, next } = await cf.store.listRuns(filter)
    cli.out.data({ runs: runs.map(runJson), next })
    if (runs.length === 0) {
      const narrowed = options.state ?? options.graph ?? options.cursor
      cli.out.text(narrowed === undefined ? 'No runs yet.' : 'No runs like that.')
      return
    }
    cli.out.text(...(await runTable(cli, cf, runs)))
    if (next !== null) cli.out.text('', 'More:', ...cli.again(2, ...again(options, next)))
  })
}

function again(options: Options, cursor: string): string[] {
  const kept = (['state', 'graph', 'limit'] as const).flatMap((name) => {
    const value = options[name]
    return value === undefined ? [] : [`--${name}`, value]
  })
  return ['runs', ...kept, '--cursor', cursor]
}

async function runTable(cli: Cli, cf: Counterfoil, runs: readonly Run[]): Promise<string[]> {
  const { colors, width } = cli.out
  const now = systemClock.now()
  const rows = []
  for (const run of runs) {
    rows.push([
      run.runId,
      { text: `${run.graph}@${run.version}`, paint: colors.dim },
      { text: run.state, paint: stateColor(colors, run.state) },
      await whatNow(cf, run),
      { text: relative(run.updatedAt, now), paint: colors.dim },
    ])
  }
  const columns = [
    { head: 'RUN', keep: 'ends', yields: 3, least: 12 },
    { head: 'GRAPH', keep: 'ends', yields: 2, least: 10 },
    { head: 'STATE' },
    { head: 'WHAT', yields: 1, least: 12 },
    { head: 'CHANGED' },
  ] as const
  return renderTable(columns, rows, { width, paintHead: colors.bold })
}

/** What a run waits for, or how it ended: the first thing one wants to know of it. */
async function whatNow(cf: Counterfoil, run: Run): Promise<string> {
  const [itemId] = run.waitingFor?.items ?? []
  if (itemId !== undefined) {
    const item = await cf.store.getItem(run.namespace, itemId)
    return item?.title ?? itemId
  }
  const waits = waitWords(run, systemClock.now())
  if (waits !== null) return waits
  if (run.state === 'failed') {
    const failure = JSON.parse(run.errorJson ?? '{}') as { message?: string }
    return failure.message ?? ''
  }
  return isEnded(run.state) ? (run.outputJson ?? '') : `at ${run.node}`
}

export function stateColor(colors: Colors, state: RunState): (text: string) => string {
  if (state === 'completed') return colors.green
  if (state === 'failed' || state === 'cancelled') return colors.red
  return state.startsWith('waiting') ? colors.yellow : (text) => text
}
