// counterfoil versions
import type { Command } from 'commander'
import { iso } from '../../client/wire/iso.ts'
import { compareVersions } from '../../model/graph/version.ts'
import { scopeGraph } from '../../model/run/scope.ts'
import { type RunState, runStates } from '../../model/run/states.ts'
import type { VersionRow } from '../../store/store.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../cli.ts'
import { renderTable } from '../show/table.ts'
import { relative } from '../show/text.ts'

interface Options {
  graph?: string
}

const help = `
Runs stay on the version that they began with, and workers take only versions
that they carry. So a version may go when nothing is left on it: keep a worker
that carries it for as long as LIVE is not 0. A failed run can be tried again,
and needs its version for that.

Examples:
  counterfoil versions
  counterfoil versions --graph outreach --json | jq '.versions[].live'`

const ended = ['completed', 'failed', 'cancelled'] as const
const live = runStates.filter((state) => !(ended as readonly RunState[]).includes(state))

export function addVersions(program: Command): void {
  const command = program
    .command('versions')
    .description('list the versions of graphs, and what is left on each')
    .option('--graph <name>', 'only of this graph')
    .addHelpText('after', help)
    .action((options: Options) => listVersions(cliOf(command), options))
  addGlobals(command)
}

async function listVersions(cli: Cli, { graph }: Options): Promise<void> {
  await withStore(cli, async ({ store }) => {
    const all = await store.listVersions(cli.namespace)
    const rows = all
      .filter((row) => row.graph !== scopeGraph.name && (graph ?? row.graph) === row.graph)
      .sort(byName)
    cli.out.data({ versions: rows.map(versionJson) })
    if (rows.length === 0) {
      return cli.out.text(graph === undefined ? 'No graphs yet.' : `No graph ${graph}.`)
    }
    cli.out.text(...versionTable(cli, rows, store.clock.now()))
  })
}

/** By graph, and the newest version first: by its numbers, not by its letters. */
function byName(a: VersionRow, b: VersionRow): number {
  if (a.graph !== b.graph) return a.graph < b.graph ? -1 : 1
  return compareVersions(b.version, a.version)
}

function sum({ states }: VersionRow, wanted: readonly RunState[]): number {
  return wanted.reduce((total, state) => total + (states[state] ?? 0), 0)
}

function versionJson(row: VersionRow) {
  const { graph, version, registeredAt, states } = row
  return {
    graph,
    version,
    registered_at: iso(registeredAt),
    live: sum(row, live),
    ended: sum(row, ended),
    states,
  }
}

function versionTable(cli: Cli, rows: readonly VersionRow[], now: number): string[] {
  const { colors, width } = cli.out
  const columns = [
    { head: 'GRAPH', keep: 'ends', yields: 2, least: 10 },
    { head: 'VERSION' },
    { head: 'REGISTERED' },
    { head: 'LIVE' },
    { head: 'FAILED' },
    { head: 'ENDED' },
    { head: 'WHERE', yields: 1, least: 12 },
  ] as const
  const cells = rows.map((row) => {
    const { graph, version, registeredAt, states } = row
    const count = sum(row, live)
    const where = live.flatMap((state) => (states[state] ? [`${states[state]} ${state}`] : []))
    return [
      graph,
      version,
      { text: registeredAt === null ? 'never' : relative(registeredAt, now), paint: colors.dim },
      { text: `${count}`, paint: count > 0 ? colors.yellow : colors.dim },
      `${states.failed ?? 0}`,
      { text: `${sum(row, ended)}`, paint: colors.dim },
      where.join(', '),
    ]
  })
  return renderTable(columns, cells, { width, paintHead: colors.bold })
}
