// counterfoil checkpoint pin
import type { Command } from 'commander'
import { type Ledger, readLedger } from '../../../client/ledger/ledger.ts'
import { inspectCheckpoint } from '../../../client/run/checkpoints.ts'
import { recordJson, runJson } from '../../../client/wire/rows.ts'
import { systemClock } from '../../../clock.ts'
import { errorFor } from '../../../model/errors.ts'
import { isAsked, type Run } from '../../../model/run/records.ts'
import { isEnded, type RunState } from '../../../model/run/states.ts'
import type { Counterfoil } from '../../../open.ts'
import { addGlobals, type Cli, cliOf, reasonOf, userName, withStore } from '../../cli.ts'
import { findOwnRun, findRun } from '../../find.ts'
import { confirmed } from '../../prompt.ts'
import { renderTable } from '../../show/table.ts'
import { relative, wrap } from '../../show/text.ts'
import { whoGoesOn } from '../../show/worker-life.ts'
import { wholeNumber } from '../../usage.ts'

interface Options {
  by?: string
  reason?: string
  yes?: boolean
}

const help = `
The run goes back to where it was at that visit, and on from there. Checkpoints
of later visits are dropped. What was done since stays on record, and answers
the same calls when the run comes there again: nothing is sent twice by it. A
call that then has another input goes to a person.

The run must wait for a person, be paused or have failed: pause it first.
 What was done since that visit is shown, and you are asked; without a
terminal give --yes.

Examples:
  counterfoil checkpoint pin acme-1 3 --reason 'visit 4 is damaged'
  counterfoil checkpoint pin acme-1 3 --by ana --reason 'go back' --yes --json`

export function addCheckpointPin(checkpoint: Command): void {
  const command = checkpoint
    .command('pin <run> <visit>')
    .description('continue a run from an earlier, good checkpoint')
    .option('--by <name>', 'who pins it (the user of this machine)')
    .option('--reason <text>', 'why; required, and kept on record')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', help)
    .action((id: string, visit: string, options: Options) =>
      pin(cliOf(command), id, visit, options),
    )
  addGlobals(command)
}

async function pin(cli: Cli, runId: string, given: string, options: Options): Promise<void> {
  const visit = wholeNumber('the visit', given)
  const by = userName(options.by)
  const reason = reasonOf('checkpoint pin', options.reason)
  await withStore(cli, async (cf) => {
    const run = await findOwnRun(cli, cf, runId)
    const { row, read } = await inspectCheckpoint(cf.store, run, visit)
    checkPinnable(run, read.ok ? null : read.why)
    const since = await sinceVisit(cf, run, visit)
    cli.out.text(...sinceLines(cli, run, { visit, node: row.node, since }), '')
    if (!(await confirmed(cli, `Go back to visit ${visit} (${row.node})?`, options))) {
      return cli.out.text('Nothing was pinned.')
    }
    await cf.run(runId).pin({ visit, by, reason })
    const after = await findRun(cli, cf, runId)
    cli.out.data({
      run: runJson(after),
      pinned: visit,
      from: run.visit,
      kept: since.entries.map((entry) => recordJson(entry.record, entry.visit)),
    })
    cli.out.text(`Run ${runId} goes on from visit ${visit}, at node ${after.node}.`)
    cli.out.text(...wrap(await whoGoesOn(cf, after), cli.out.width))
  })
}

const pinnable: readonly RunState[] = ['waiting_human', 'paused', 'failed']

/** What will be refused anyway needs no question. */
function checkPinnable(run: Run, damage: string | null): void {
  const { runId, state } = run
  const live = `it is ${state}; first: counterfoil run pause ${runId} --wait`
  const ended = isEnded(state) && state !== 'failed' ? `it is ${state}, for good` : live
  const why = damage ?? (pinnable.includes(state) ? null : ended)
  if (why === null) return
  throw errorFor('PIN_REFUSED', runId, why)
}

/** What the run did to the world, and was told by people, since it stood there. */
async function sinceVisit(cf: Counterfoil, run: Run, visit: number): Promise<Ledger> {
  const ledger = await readLedger(cf.store, run, { since: visit })
  const effects = ledger.entries.filter(({ record }) => record.replayClass !== 'pure')
  const asked = ledger.entries.filter(({ record }) => isAsked(record.tool))
  return { ...ledger, entries: [...new Set([...effects, ...asked])] }
}

function sinceLines(
  cli: Cli,
  run: Run,
  { visit, node, since }: { visit: number; node: string; since: Ledger },
): string[] {
  const { colors, width } = cli.out
  const now = systemClock.now()
  const at = `Run ${run.runId} is ${run.state}, at node ${run.node}, visit ${run.visit}.`
  const where = `node ${node}, visit ${visit}`
  const { entries } = since
  if (entries.length === 0) {
    return [...wrap(`${at} Nothing was done to the world since ${where}.`, width)]
  }
  const columns = [
    { head: 'VISIT' },
    { head: 'NODE', yields: 2 },
    { head: 'CALL', yields: 3 },
    { head: 'STATUS' },
    { head: 'EXTERNAL ID', keep: 'ends', yields: 1 },
    { head: 'WHEN' },
  ] as const
  const rows = entries.map((entry) => [
    `${entry.visit}`,
    entry.record.nodeId,
    entry.record.tool,
    entry.record.status,
    entry.record.externalId ?? '',
    { text: relative(entry.record.createdAt, now), paint: colors.dim },
  ])
  const calls = entries.length === 1 ? '1 call that stays' : `${entries.length} calls that stay`
  const text = `${at} Since ${where} it has on record ${calls}:`
  return [...wrap(text, width), '', ...renderTable(columns, rows, { width })]
}
