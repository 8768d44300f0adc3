// counterfoil store adopt
import type { Command } from 'commander'
import type { Counterfoil } from '../../open.ts'
import { addGlobals, type Cli, cliOf, userName, withStore } from '../cli.ts'
import { usageError } from '../usage.ts'

interface Options {
  by?: string
  reason?: string
}

const example = `
Example:
  counterfoil store adopt --reason 'moved to the new host; the old one is off'`

const help = `
A store knows which file it is. After a copy, a restored backup or an exchange,
calls that were made since may be missing from it, and a worker would make them
again. So no run is worked on until a person has made sure that nobody works on
the other file, has looked at the runs that were live (counterfoil runs), and
says so here. Who said it and why are kept in the store.
${example}`

export function addStore(program: Command): void {
  const command = program
    .command('store')
    .description('look after the store: store adopt')
    .addHelpText('after', example)
  const adopt = command
    .command('adopt')
    .description('let workers work on a store that was copied, moved or restored')
    .option('--by <name>', 'who says so (the user of this machine)')
    .option('--reason <text>', 'what happened to it; required, and kept on record')
    .addHelpText('after', help)
    .action((options: Options) => adoptStore(cliOf(adopt), options))
  addGlobals(command)
  addGlobals(adopt)
}

async function adoptStore(cli: Cli, options: Options): Promise<void> {
  const { reason } = options
  if (reason === undefined || reason.trim() === '') {
    throw usageError("store adopt needs --reason '<what happened>'; it is kept on record")
  }
  const by = userName(options.by)
  const adopt = async (cf: Counterfoil) => {
    const moved = await cf.store.moved()
    if (moved !== null) await cf.store.adopt(by, reason)
    cli.out.data({ store: cf.store.url, adopted: moved !== null, by, reason })
    cli.out.text(
      moved === null
        ? 'This store has not moved: there is nothing to adopt, and nothing was changed.'
        : `Adopted by ${by}: ${reason}. Workers may work on ${cf.store.url} again.`,
    )
  }
  await withStore(cli, adopt, { tellMoved: false })
}
