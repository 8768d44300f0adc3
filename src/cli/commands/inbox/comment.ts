// counterfoil inbox comment
import type { Command } from 'commander'
import { iso } from '../../../client/wire/iso.ts'
import { addGlobals, type Cli, cliOf, userName, withStore } from '../../cli.ts'
import { clean } from '../../show/text.ts'

const help = `
Whoever looks at the item sees it, with your name and the time. It decides
nothing, it is kept, and it does not change the version of the item.

Example:
  counterfoil inbox comment item_1f0c… 'asked the bank, they call back at ten'`

export function addComment(parent: Command): void {
  const command = parent
    .command('comment <item> <text>')
    .description('say something about an item without deciding it')
    .option('--by <name>', 'who says it (the user of this machine)')
    .addHelpText('after', help)
    .action((itemId: string, text: string, options: { by?: string }) =>
      comment(cliOf(command), itemId, text, options),
    )
  addGlobals(command)
}

async function comment(cli: Cli, itemId: string, text: string, options: { by?: string }) {
  const by = userName(options.by)
  const said = await withStore(cli, (cf) => cf.inbox.comment(itemId, { by, text }))
  cli.out.data({ item_id: itemId, by: said.by, text: said.text, at: iso(said.at) })
  cli.out.text(`Noted, by ${clean(said.by)}.`)
}
