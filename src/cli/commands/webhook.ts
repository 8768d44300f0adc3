// counterfoil webhook …
import type { Command } from 'commander'
import {
  deliveryJson,
  deliveryStates,
  kind,
  read,
  retryDelivery,
} from '../../server/webhooks/delivery.ts'
import * as subscription from '../../server/webhooks/subscription.ts'
import { rowsOf } from '../../store/pages.ts'
import { addGlobals, type Cli, cliOf, userName, withStore } from '../cli.ts'
import { addExample } from '../example.ts'
import { finishGroup } from '../group.ts'
import { renderTable } from '../show/table.ts'
import { wrap } from '../show/text.ts'
import { oneOf, usageError } from '../usage.ts'
import { addSources } from './webhook/source.ts'

const help = `
Tells a receiver what waits for a person, what is in doubt, what is overdue and
which runs failed. A running server (counterfoil serve) sends it, signed as
Standard Webhooks says, again and again until it is taken or given up.

Examples:
  counterfoil webhook add https://example.com/hook
  counterfoil webhook add https://hooks.slack.com/services/… --format slack \\
    --kind waiting_human sla_passed --queue finance
  counterfoil webhook deliveries --state failed
  counterfoil webhook retry msg_5b0c…`

export function addWebhook(program: Command): void {
  const command = program
    .command('webhook')
    .description('send notices to others, and accept signed requests')
    .addHelpText('after', help)
  addAdd(command)
  addList(command)
  addRemove(command)
  addDeliveries(command)
  addRetry(command)
  addSources(command)
  finishGroup(command)
}

interface AddOptions {
  kind?: string[]
  queue?: string[]
  format?: string
  linksFor?: string
  allowPrivate?: boolean
}

function addAdd(parent: Command): void {
  const command = parent
    .command('add <url>')
    .description('tell a receiver from now on; its secret is shown once')
    .option('--kind <kinds...>', `${subscription.noticeKinds.join(', ')} (all)`)
    .option('--queue <queues...>', 'only items of these queues')
    .option('--format <format>', `${subscription.formats.join(', ')} (standard)`)
    .option('--links-for <name>', 'with links that decide approvals, once, in this name')
    .option('--allow-private', 'allow an address of this private network')
    .action((url: string, options: AddOptions) => add(cliOf(command), url, options))
  addExample(command, 'webhook add https://example.com/hook')
  addGlobals(command)
}

async function add(cli: Cli, url: string, options: AddOptions): Promise<void> {
  const { kind: kinds, queue: queues, linksFor, allowPrivate = false } = options
  const format = oneOf('--format', options.format ?? 'standard', subscription.formats)
  const chosen = kinds?.map((one) => oneOf('--kind', one, subscription.noticeKinds))
  const made = await withStore(cli, ({ store }) =>
    subscription.addSubscription(store, {
      namespace: cli.namespace,
      url,
      by: userName(undefined),
      format,
      allowPrivate,
      ...(chosen === undefined ? {} : { kinds: chosen }),
      ...(queues === undefined ? {} : { queues }),
      ...(linksFor === undefined ? {} : { linksFor }),
    }),
  )
  const { secret } = made
  cli.out.data({ ...subscription.subscriptionJson(made.subscription), secret })
  const says = 'The receiver verifies with it. Keep it now: it is not shown again.'
  cli.out.text(made.subscription.id, secret, ...wrap(says, cli.out.width))
}

function addList(parent: Command): void {
  const command = parent
    .command('list')
    .description('list who is told of what')
    .action(() => list(cliOf(command)))
  addExample(command, 'webhook list')
  addGlobals(command)
}

async function list(cli: Cli): Promise<void> {
  const rows = await withStore(cli, ({ store }) =>
    subscription.listSubscriptions(store, cli.namespace),
  )
  cli.out.data({ webhooks: rows.map(subscription.subscriptionJson) })
  if (rows.length === 0) return cli.out.text('Nobody is told of anything.')
  const columns = [{ head: 'ID' }, { head: 'URL', yields: 1, least: 16 }, { head: 'FORMAT' }]
  const cells = rows.map(({ id, url, format, kinds }) => [id, url, format, kinds.join(', ')])
  const { width, colors } = cli.out
  const all = [...columns, { head: 'KINDS', yields: 2, least: 8 }]
  cli.out.text(...renderTable(all, cells, { width, paintHead: colors.bold }))
}

function addRemove(parent: Command): void {
  const command = parent
    .command('remove <id>')
    .description('stop telling a receiver')
    .action(async (id: string) => {
      const cli = cliOf(command)
      await withStore(cli, ({ store }) => subscription.removeSubscription(store, cli.namespace, id))
      cli.out.data({ webhook_id: id, removed: true })
      cli.out.text(`Webhook ${id} is removed.`)
    })
  addExample(command, 'webhook remove whk_5b0c…')
  addGlobals(command)
}

function addDeliveries(parent: Command): void {
  const command = parent
    .command('deliveries')
    .description('list what was told, what waits, what was given up')
    .option('--state <state>', deliveryStates.join(', '))
    .action((options: { state?: string }) => deliveries(cliOf(command), options))
  addExample(command, 'webhook deliveries --state failed')
  addGlobals(command)
}

async function deliveries(cli: Cli, { state }: { state?: string }): Promise<void> {
  const wanted = state === undefined ? null : oneOf('--state', state, deliveryStates)
  const { namespace } = cli
  const rows = await withStore(cli, async ({ store }) => {
    const found = []
    for await (const row of rowsOf((page) => store.listDocuments({ kind, namespace, ...page }))) {
      const one = deliveryJson(read(row))
      if (wanted === null || one.state === wanted) found.unshift(one)
    }
    return found
  })
  cli.out.data({ deliveries: rows })
  if (rows.length === 0) return cli.out.text('No deliveries.')
  const columns = [
    { head: 'ID' },
    { head: 'KIND' },
    { head: 'STATE' },
    { head: 'TRIES' },
    { head: 'LAST', yields: 1, least: 8 },
  ]
  const cells = rows.map((one) => {
    return [one.delivery_id, one.kind, one.state, `${one.attempts}`, one.last ?? '']
  })
  const { width, colors } = cli.out
  cli.out.text(...renderTable(columns, cells, { width, paintHead: colors.bold }))
}

function addRetry(parent: Command): void {
  const command = parent
    .command('retry <delivery>')
    .description('send a delivery once more from the beginning')
    .action(async (id: string) => {
      if (!id.startsWith('msg_')) throw usageError(`${id} is not a delivery: they begin with msg_`)
      const cli = cliOf(command)
      const one = await withStore(cli, ({ store }) => retryDelivery(store, cli.namespace, id))
      cli.out.data(deliveryJson(one))
      cli.out.text(`Delivery ${id} is sent again by the next server that looks.`)
    })
  addExample(command, 'webhook retry msg_5b0c…')
  addGlobals(command)
}
