// counterfoil webhook add-source, sources, rotate-source, remove-source: who may send requests here
import type { Command } from 'commander'
import { isName } from '../../../model/name.ts'
import * as sources from '../../../server/webhooks/source.ts'
import { addGlobals, type Cli, cliOf, userName, withStore } from '../../cli.ts'
import { addExample } from '../../example.ts'
import { wrap } from '../../show/text.ts'
import { oneOf, usageError } from '../../usage.ts'

const help = `
A source sends decisions, signals and callbacks to
POST /v1/hooks/in?source=<id>, signed as Standard Webhooks says.

Examples:
  counterfoil webhook add-source slackbot --act decision --trusts-by
  counterfoil webhook rotate-source src_5b0c…`

interface AddOptions {
  act?: string[]
  claim?: string[]
  trustsBy?: boolean
}

export function addSources(parent: Command): void {
  const add = parent
    .command('add-source <name>')
    .description('let somebody send signed requests; the secret is shown once')
    .addHelpText('after', help)
    .option('--act <acts...>', `${sources.sourceActs.join(', ')} (all)`)
    .option('--claim <claims...>', 'what it counts as where only some may decide: role:finance')
    .option('--trusts-by', 'it knows its people: believe who it says has decided')
    .action((name: string, options: AddOptions) => addSource(cliOf(add), name, options))
  const list = parent
    .command('sources')
    .description('list who may send signed requests')
    .action(() => listSources(cliOf(list)))
  const rotate = parent
    .command('rotate-source <id>')
    .description('give a source a new secret; the one before verifies for another day')
    .action((id: string) => rotateSource(cliOf(rotate), id))
  const remove = parent
    .command('remove-source <id>')
    .description('accept nothing more from a source')
    .action((id: string) => removeSource(cliOf(remove), id))
  addExample(list, 'webhook sources')
  addExample(rotate, 'webhook rotate-source src_5b0c…')
  addExample(remove, 'webhook remove-source src_5b0c…')
  for (const command of [add, list, rotate, remove]) addGlobals(command)
}

async function addSource(cli: Cli, name: string, options: AddOptions): Promise<void> {
  if (!isName(name)) throw usageError('a name has letters, digits, _ . : -')
  const acts = options.act?.map((one) => oneOf('--act', one, sources.sourceActs))
  const { claim: claims, trustsBy = false } = options
  const made = await withStore(cli, ({ store }) =>
    sources.addSource(store, {
      namespace: cli.namespace,
      name,
      by: userName(undefined),
      trustsBy,
      ...(acts === undefined ? {} : { acts }),
      ...(claims === undefined ? {} : { claims }),
    }),
  )
  cli.out.data({ ...sources.sourceJson(made.source), secret: made.secret })
  const says = 'The sender signs with it. Keep it now: it is not shown again.'
  cli.out.text(made.source.id, made.secret, ...wrap(says, cli.out.width))
}

async function listSources(cli: Cli): Promise<void> {
  const rows = await withStore(cli, ({ store }) => sources.listSources(store, cli.namespace))
  cli.out.data({ sources: rows.map(sources.sourceJson) })
  if (rows.length === 0) return cli.out.text('Nobody may send.')
  for (const { id, name, acts } of rows) cli.out.text(`${id}  ${name}  ${acts.join(', ')}`)
}

async function rotateSource(cli: Cli, id: string): Promise<void> {
  const secret = await withStore(cli, ({ store }) => sources.rotateSource(store, cli.namespace, id))
  cli.out.data({ source_id: id, secret })
  cli.out.text(secret)
}

async function removeSource(cli: Cli, id: string): Promise<void> {
  await withStore(cli, ({ store }) => sources.removeSource(store, cli.namespace, id))
  cli.out.data({ source_id: id, removed: true })
  cli.out.text(`Source ${id} is removed.`)
}
