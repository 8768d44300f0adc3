// counterfoil callback …: what an upstream would say about a call that was deferred to it
import type { Command } from 'commander'
import type { CallbackStatus } from '../../client/callbacks.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../cli.ts'
import { addExample } from '../example.ts'
import { finishGroup } from '../group.ts'
import { exitCodes } from '../report.ts'
import { wrap } from '../show/text.ts'
import { parseJson } from '../usage.ts'

const help = `
For an upstream that cannot call back by itself, or whose callback was lost. The
token is what the tool got from call.defer() and passed on. A call is settled
once: the same again changes nothing, another answer comes too late.

Examples:
  counterfoil callback settle cb_91… --result '{"orderId": "o-7"}'
  counterfoil callback fail cb_91… --reason 'out of stock'`

const words: Readonly<Record<CallbackStatus, string>> = {
  settled: 'The call is settled; its run goes on.',
  repeated: 'The call was settled with just this before; nothing was changed.',
  too_late: 'Too late: the call had ended otherwise. Look at its run for what stands on record.',
}

export function addCallback(program: Command): void {
  const group = program
    .command('callback')
    .description('settle or fail a call that waits for its upstream to call back')
    .addHelpText('after', help)
  const settle = group
    .command('settle <token>')
    .description('it happened, with this result')
    .option('--result <json>', 'what the call answers; @file reads a file')
    .action((token: string, { result }: { result?: string }) =>
      say(cliOf(settle), (cf) => {
        const example = (text: string) => `callback settle ${token} --result ${text}`
        return cf.settle(
          token,
          result === undefined ? undefined : parseJson('--result', result, example),
        )
      }),
    )
  addExample(settle, `callback settle cb_91… --result '{"orderId": "o-7"}'`)
  addGlobals(settle)
  const fail = group
    .command('fail <token>')
    .description('it did not happen, for certain: the call has failed')
    .requiredOption('--reason <text>', 'why; the workflow sees it')
    .action((token: string, { reason }: { reason: string }) =>
      say(cliOf(fail), (cf) => cf.fail(token, reason)),
    )
  addExample(fail, "callback fail cb_91… --reason 'out of stock'")
  addGlobals(fail)
  finishGroup(group)
}

type Callbacks = import('../../client/callbacks.ts').Callbacks

async function say(
  cli: Cli,
  how: (callbacks: Callbacks) => Promise<{ status: CallbackStatus }>,
): Promise<void> {
  await withStore(cli, async (cf) => {
    const { status } = await how(cf.callbacks)
    cli.out.data({ status })
    cli.out.text(...wrap(words[status], cli.out.width))
    if (status === 'too_late') process.exitCode ??= exitCodes.failure
  })
}
