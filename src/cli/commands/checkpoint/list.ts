// counterfoil checkpoint list
import type { Command } from 'commander'
import { goodVisits } from '../../../client/run/checkpoints.ts'
import { checkpointJson } from '../../../client/wire/checkpoint.ts'
import { systemClock } from '../../../clock.ts'
import type { Run } from '../../../model/run/records.ts'
import type { CheckpointRow } from '../../../store/store.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { findOwnRun } from '../../find.ts'
import { renderTable } from '../../show/table.ts'
import { bytes, plural, relative } from '../../show/text.ts'

interface Options {
  verify?: boolean
}

const help = `
A base holds the whole state, a delta what has changed since the row before it.
Visits without a row were skipped, as their node's dial says.

Examples:
  counterfoil checkpoint list acme-1
  counterfoil checkpoint list acme-1 --verify    and which can be believed`

export function addCheckpointList(checkpoint: Command): void {
  const command = checkpoint
    .command('list <run>')
    .description('list the checkpoints of a run')
    .option('--verify', 'read them all, and say which can be believed')
    .addHelpText('after', help)
    .action((id: string, options: Options) => listCheckpoints(cliOf(command), id, options))
  addGlobals(command)
}

async function listCheckpoints(cli: Cli, runId: string, options: Options): Promise<void> {
  await withStore(cli, async (cf) => {
    const run = await findOwnRun(cli, cf, runId)
    const rows = await cf.store.listCheckpoints(run)
    const read = (count: number) => cli.progress.say(`${plural(count, 'checkpoint')} verified`)
    const good = options.verify === true ? await goodVisits(cf.store, run, read) : null
    const verifies = (row: CheckpointRow) =>
      good === null || row.generation !== run.generation ? null : good.has(row.visit)
    cli.out.data({
      run_id: runId,
      visit: run.visit,
      checkpoints: rows.map((row) => ({
        ...checkpointJson(row),
        ...(good === null ? {} : { verifies: verifies(row) }),
      })),
    })
    cli.out.text(...listLines(cli, run, rows, good === null ? null : verifies))
  })
}

function listLines(
  cli: Cli,
  run: Run,
  rows: readonly CheckpointRow[],
  verifies: ((row: CheckpointRow) => boolean | null) | null,
): string[] {
  const { colors, width } = cli.out
  const now = systemClock.now()
  const columns = [
    { head: 'VISIT' },
    { head: 'NODE', yields: 1, least: 8 },
    { head: 'KIND' },
    { head: 'SIZE' },
    { head: 'DIGEST', yields: 2, least: 8 },
    { head: 'WRITTEN' },
    ...(verifies === null ? [] : [{ head: 'VERIFIES' }]),
  ]
  const cells = rows.map((row) => {
    const here = row.generation === run.generation && row.visit === run.visit
    const answer = verifies?.(row) ?? null
    const says = answer === null ? '' : answer ? 'yes' : 'no'
    return [
      { text: `${row.visit}${here ? ' *' : ''}`, paint: here ? colors.bold : colors.reset },
      row.node,
      row.kind,
      row.bodyDigest === null ? bytes(row.bytes) : 'blob',
      { text: row.digest.slice(0, 12), paint: colors.dim },
      { text: relative(row.createdAt, now), paint: colors.dim },
      ...(verifies === null
        ? []
        : [{ text: says, paint: answer === false ? colors.red : colors.green }]),
    ]
  })
  const table = renderTable(columns, cells, { width, paintHead: colors.bold })
  return [...table, '', colors.dim('* where the run stands')]
}
