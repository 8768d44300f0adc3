// counterfoil checkpoint inspect
import type { Command } from 'commander'
import {
  type CheckpointLook,
  goodVisits,
  inspectCheckpoint,
} from '../../../client/run/checkpoints.ts'
import { checkpointJson } from '../../../client/wire/checkpoint.ts'
import { systemClock } from '../../../clock.ts'
import type { Run } from '../../../model/run/records.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { findOwnRun } from '../../find.ts'
import { exitCodes } from '../../report.ts'
import { field, jsonField } from '../../show/fields.ts'
import { bytes, plural, when } from '../../show/text.ts'
import { wholeNumber } from '../../usage.ts'

const help = `
Reads the row and all that it builds on, and says whether they can be believed.
If not, it says what is wrong and which earlier visits are good, and exits with
1.

Examples:
  counterfoil checkpoint inspect acme-1
  counterfoil checkpoint inspect acme-1 --visit 3 --json | jq .state`

export function addCheckpointInspect(checkpoint: Command): void {
  const command = checkpoint
    .command('inspect <run>')
    .description('show a checkpoint, and whether it is intact')
    .option('--visit <n>', 'which visit (the present one)')
    .addHelpText('after', help)
    .action((id: string, options: { visit?: string }) => inspect(cliOf(command), id, options))
  addGlobals(command)
}

async function inspect(cli: Cli, runId: string, options: { visit?: string }): Promise<void> {
  const given = options.visit === undefined ? null : wholeNumber('--visit', options.visit)
  await withStore(cli, async (cf) => {
    const run = await findOwnRun(cli, cf, runId)
    const look = await inspectCheckpoint(cf.store, run, given ?? run.visit)
    const { read } = look
    const good = read.ok ? [] : await goodBefore(cf.store, run)
    cli.out.data({
      run_id: runId,
      checkpoint: checkpointJson(look.row),
      chain: look.chain.map(checkpointJson),
      verifies: read.ok,
      why: read.ok ? null : read.why,
      good_visits: good,
      state: read.ok ? read.state : null,
    })
    cli.out.text(...lookLines(cli, run, look, good))
    if (!read.ok) process.exitCode = exitCodes.failure
  })
}

/** Visits that could be pinned, newest first. */
async function goodBefore(store: Parameters<typeof goodVisits>[0], run: Run): Promise<number[]> {
  const good = await goodVisits(store, run)
  return [...good].filter((visit) => visit <= run.visit).sort((a, b) => b - a)
}

function lookLines(
  cli: Cli,
  run: Run,
  { row, chain, read }: CheckpointLook,
  good: readonly number[],
): string[] {
  const { colors } = cli.out
  const here = row.visit === run.visit ? ', where the run stands' : ''
  const deltas = chain.filter((one) => one.kind === 'delta').length
  const builds =
    row.kind === 'base'
      ? 'the whole state'
      : `visit ${row.baseVisit} and ${plural(deltas, 'delta')}`
  const size = row.bodyDigest === null ? bytes(row.bytes) : `${bytes(row.bytes)}, in a blob`
  return [
    colors.bold(`Checkpoint of run ${run.runId}, visit ${row.visit}${here}`),
    ...field(cli, 'node', row.node),
    ...field(cli, 'kind', `${row.kind}: ${builds}`),
    ...field(cli, 'size', size),
    ...field(cli, 'written', when(row.createdAt, systemClock.now())),
    ...field(cli, 'version', `graph ${row.version}, format ${row.schemaVersion}`),
    ...field(cli, 'digest', row.digest),
    ...(row.bodyDigest === null ? [] : field(cli, 'blob', row.bodyDigest)),
    ...field(cli, 'verifies', read.ok ? 'yes, with all that it builds on' : 'no'),
    ...(read.ok ? jsonField(cli, 'state', read.state) : damageLines(cli, run, read.why, good)),
  ]
}

function damageLines(cli: Cli, run: Run, why: string, good: readonly number[]): string[] {
  const { colors } = cli.out
  const [first] = good
  const lines = field(cli, 'why', why).map((line) => colors.red(line))
  if (first === undefined) {
    return [...lines, ...field(cli, 'good', 'none: no checkpoint of this run can be believed')]
  }
  const shown = good.length > 12 ? `${good.slice(0, 12).join(', ')}, …` : good.join(', ')
  const pin = ['checkpoint', 'pin', run.runId, `${first}`, '--reason', '…']
  return [
    ...lines,
    ...field(cli, 'good', `${good.length === 1 ? 'visit' : 'visits'} ${shown}`),
    '',
    colors.bold('Go on from a good one with'),
    ...cli.again(2, ...pin),
  ]
}
