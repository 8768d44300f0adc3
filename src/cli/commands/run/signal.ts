// counterfoil run signal
import type { Command } from 'commander'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { findRun } from '../../find.ts'
import { wrap } from '../../show/text.ts'
import { whoGoesOn } from '../../show/worker-life.ts'
import { parseJson } from '../../usage.ts'

const help = `
The run takes it with ctx.signal('name'): at once if it waits for it, else when
it comes to it. With --id the same signal can be sent again without harm: it is
one signal.

Examples:
  counterfoil run signal acme-1 paid
  counterfoil run signal acme-1 paid --data '{"amount": 40}' --id invoice-77
  counterfoil run signal acme-1 paid --data @payment.json`

interface Options {
  data?: string
  id?: string
}

export function addRunSignal(run: Command): void {
  const command = run
    .command('signal <run> <name>')
    .description('send a signal to a run, which takes it now or later')
    .option('--data <json>', 'what it says; @file reads a file')
    .option('--id <id>', 'your own id for it: the same one again is not a second signal')
    .addHelpText('after', help)
    .action((runId: string, name: string, options: Options) =>
      signal(cliOf(command), runId, name, options),
    )
  addGlobals(command)
}

async function signal(cli: Cli, runId: string, name: string, options: Options): Promise<void> {
  const words = (example: string) => `run signal ${runId} ${name} --data ${example}`
  const data = options.data === undefined ? undefined : parseJson('--data', options.data, words)
  await withStore(cli, async (cf) => {
    await findRun(cli, cf, runId)
    const more = options.id === undefined ? {} : { id: options.id }
    const { id, created } = await cf.run(runId).signal(name, data, more)
    const after = await findRun(cli, cf, runId)
    cli.out.data({ run_id: runId, signal: name, id, created })
    const said = created ? `Sent: ${name} (${id}).` : `Signal ${id} was sent before; it is one.`
    cli.out.text(...wrap(`${said} Run ${runId} is ${after.state}.`, cli.out.width))
    const next = after.state === 'pending' ? await whoGoesOn(cf, after) : null
    if (next !== null) cli.out.text(...wrap(next, cli.out.width))
  })
}
