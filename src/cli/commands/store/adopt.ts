// counterfoil store adopt
import type { Command } from 'commander'
import type { Counterfoil } from '../../../open.ts'
import { addGlobals, type Cli, cliOf, reasonOf, userName, withStore } from '../../cli.ts'
import { wrap } from '../../show/text.ts'

interface Options {
  by?: string
  reason?: string
}

const help = `
A store knows which file it is. After a copy, a restored backup or an exchange,
calls that were made since may be missing from it, and a worker would make them
again. So no run is worked on until a person has made sure that nobody works on
the other file, has looked at the runs that were live (counterfoil runs), and
says so here. Who said it and why are kept in the store.

Example:
  counterfoil store adopt --reason 'moved to the new host; the old one is off'`

export function addStoreAdopt(store: Command): void {
  const command = store
    .command('adopt')
    .description('let workers work on a store that was copied, moved or restored')
    .option('--by <name>', 'who says so (the user of this machine)')
    .option('--reason <text>', 'what happened to it; required, and kept on record')
    .addHelpText('after', help)
    .action((options: Options) => adoptStore(cliOf(command), options))
  addGlobals(command)
}

async function adoptStore(cli: Cli, options: Options): Promise<void> {
  const reason = reasonOf('store adopt', options.reason)
  const by = userName(options.by)
  const adopt = async (cf: Counterfoil) => {
    const moved = await cf.store.moved()
    if (moved !== null) await cf.store.adopt(by, reason)
    cli.out.data({ store: cf.store.url, adopted: moved !== null, by, reason })
    const text =
      moved === null
        ? 'This store has not moved: there is nothing to adopt, and nothing was changed.'
        : `Adopted by ${by}: ${reason}. Workers may work on ${cf.store.url} again.`
    cli.out.text(...wrap(text, cli.out.width))
  }
  await withStore(cli, adopt, { tellMoved: false })
}
