// counterfoil run state
import type { Command } from 'commander'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { findOwnRun } from '../../find.ts'
import { clean } from '../../show/text.ts'
import { wholeNumber } from '../../usage.ts'

const help = `
The state as it was when the run arrived at its present node, or at the visit
that is named. What the node is doing since is not in it.

Examples:
  counterfoil run state acme-1
  counterfoil run state acme-1 --visit 3
  counterfoil run state acme-1 --json | jq .state.draft`

export function addRunState(run: Command): void {
  const command = run
    .command('state <run>')
    .description('print the state of a run at its last checkpoint')
    .option('--visit <n>', 'at an earlier visit (the present one)')
    .addHelpText('after', help)
    .action((id: string, options: { visit?: string }) => showState(cliOf(command), id, options))
  addGlobals(command)
}

async function showState(cli: Cli, runId: string, options: { visit?: string }): Promise<void> {
  const given = options.visit === undefined ? null : wholeNumber('--visit', options.visit)
  await withStore(cli, async (cf) => {
    const run = await findOwnRun(cli, cf, runId)
    const visit = given ?? run.visit
    const state = await cf.run(runId).state(visit)
    const row = (await cf.store.listCheckpoints(run)).findLast(
      (one) => one.generation === run.generation && one.visit === visit,
    )
    const node = row?.node ?? run.node
    cli.out.data({ run_id: runId, visit, node, state })
    const where = `state of run ${runId} at node ${node}, visit ${visit}`
    // Whole, whatever its size: it is the one thing that was asked for.
    const lines = JSON.stringify(state, null, 2).split('\n').map(clean)
    cli.out.text(cli.out.colors.dim(`# ${clean(where)}`), ...lines)
  })
}
