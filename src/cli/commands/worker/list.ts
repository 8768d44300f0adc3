// counterfoil worker list
import type { Command } from 'commander'
import { workerJson } from '../../../client/wire/worker.ts'
import { type Life, lifeOf } from '../../../client/worker.ts'
import { systemClock } from '../../../clock.ts'
import type { Counterfoil } from '../../../open.ts'
import { bootId } from '../../../store/boot.ts'
import { rowsOf } from '../../../store/pages.ts'
import type { Store, WorkerRow } from '../../../store/store.ts'
import { declareDead } from '../../../worker/liveness.ts'
import { machineOf } from '../../../worker/machine.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { renderTable } from '../../show/table.ts'
import { duration, relative } from '../../show/text.ts'

interface Options {
  all?: boolean
}

const goneMax = 5

const help = `
  alive     it renews its lease
  silent    its lease has ended, and nothing proves that it is dead: another
            worker may take its runs, but nobody may say of its calls that they
            did not happen
  stopped   it has given everything back
  dead      proven, or asserted by counterfoil worker dead

A worker of this machine whose process is gone is noted as dead by this look, as
it would be by any worker.

Examples:
  counterfoil worker list
  counterfoil worker list --all      also all that have stopped or died`

export function addWorkerList(worker: Command): void {
  const command = worker
    .command('list')
    .description('list the workers of the store, and what they hold')
    .option('--all', `also those that are gone (else the last ${goneMax} of them)`)
    .addHelpText('after', help)
    .action((options: Options) => listWorkers(cliOf(command), options))
  addGlobals(command)
}

async function listWorkers(cli: Cli, options: Options): Promise<void> {
  await withStore(cli, async (cf) => {
    await declareDead(cf.store, { workerId: null, ...machineOf(cf.store) })
    const held = await heldRuns(cli, cf)
    const rows = await cf.store.workers()
    const isGone = (row: WorkerRow) =>
      ['stopped', 'dead'].includes(lifeOf(row)) && !held.has(row.workerId)
    const gone = rows.filter(isGone)
    const kept = options.all === true ? gone : gone.slice(-goneMax)
    const shown = rows.filter((row) => !isGone(row) || kept.includes(row))
    const left = rows.length - shown.length
    cli.out.data({
      workers: shown.map((row) => workerJson(row, held.get(row.workerId) ?? [])),
      left_out: left,
    })
    if (shown.length === 0) {
      return cli.out.text('No worker has been on this store yet.')
    }
    cli.out.text(...workerTable(cli, cf, shown, held))
    if (left > 0) {
      const more = [
        `${left} more that stopped or died:`,
        ...cli.again(2, 'worker', 'list', '--all'),
      ]
      cli.out.text('', ...more)
    }
  })
}

/** Ids of running runs, by who holds them; of this namespace. */
async function heldRuns(cli: Cli, cf: Counterfoil): Promise<Map<string, string[]>> {
  const held = new Map<string, string[]>()
  const { namespace } = cli
  const runs = rowsOf((page) => cf.store.listRuns({ namespace, state: 'running', ...page }))
  for await (const { workerId, runId } of runs) {
    if (workerId === null) continue
    const known = held.get(workerId)
    if (known) known.push(runId)
    else held.set(workerId, [runId])
  }
  return held
}

function workerTable(
  cli: Cli,
  { store }: Counterfoil,
  rows: readonly WorkerRow[],
  held: ReadonlyMap<string, readonly string[]>,
): string[] {
  const { colors, width } = cli.out
  const paints: Record<Life, (text: string) => string> = {
    alive: colors.green,
    silent: colors.yellow,
    stopped: colors.dim,
    dead: colors.red,
  }
  const columns = [
    { head: 'WORKER', keep: 'ends', yields: 4, least: 12 },
    { head: 'STATE' },
    { head: 'PID' },
    { head: 'HOST', yields: 2, least: 6 },
    { head: 'STARTED' },
    { head: 'RUNS' },
    { head: 'WHAT', yields: 1, least: 10 },
  ] as const
  const cells = rows.map((row) => {
    const life = lifeOf(row)
    return [
      row.workerId,
      { text: life, paint: paints[life] },
      `${row.pid}`,
      row.host,
      { text: relative(row.startedAt, systemClock.now()), paint: colors.dim },
      `${held.get(row.workerId)?.length ?? 0}`,
      wordsOf(store, row, life),
    ]
  })
  return renderTable(columns, cells, { width, paintHead: colors.bold })
}

function wordsOf({ local, clock }: Store, row: WorkerRow, life: Life): string {
  const now = clock.now()
  if (life === 'dead') return `${relative(row.diedAt ?? now, now)}: ${row.deathProof ?? ''}`
  if (life === 'stopped') return relative(row.stoppedAt ?? now, now)
  // On one machine leases are counted by its own clock, which is that of this boot.
  if (local && row.bootId !== bootId()) return ''
  const leftMs = row.leaseUntil - (local ? clock.mono() : now)
  return leftMs > 0 ? `lease for ${duration(leftMs)}` : `lease ended ${duration(-leftMs)} ago`
}
