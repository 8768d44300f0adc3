// counterfoil inbox, and inbox show
import type { Command } from 'commander'
import { lookAt } from '../../client/inbox/item.ts'
import { itemJson, itemViewJson } from '../../client/wire/rows.ts'
import { systemClock } from '../../clock.ts'
import { slaOf } from '../../model/decisions/deadline.ts'
import * as limits from '../../model/limits.ts'
import type { Item } from '../../model/run/records.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../cli.ts'
import { itemLines } from '../show/item.ts'
import { decideLines } from '../show/item-commands.ts'
import { type Cell, renderTable } from '../show/table.ts'
import { duration, relative } from '../show/text.ts'
import { oneOf, suggestion, usageError, wholeNumber } from '../usage.ts'
import { addAlike } from './inbox/alike.ts'
import { addComment } from './inbox/comment.ts'

interface Options {
  kind?: string
  state?: string
  run?: string
  queue?: string
  limit?: string
  cursor?: string
}

const kinds = ['doubt', 'approval', 'question'] as const
const states = ['open', 'decided', 'closed'] as const

const help = `
A doubt is a call of which nobody can know whether it happened, or whose record
cannot be matched or trusted. A question was asked by a workflow (ctx.ask). An
approval is wanted by a workflow (ctx.approval), or for a call that the policy
of the program holds.

Examples:
  counterfoil inbox                            what is open, oldest first
  counterfoil inbox --kind doubt --run acme-1
  counterfoil inbox show item_1f0c…            everything about one of them`

const showHelp = `
Shows the call, what is known of its attempts, and the commands to decide with.

Example:
  counterfoil inbox show item_1f0c5d3e9a7b2c4d6e8f`

export function addInbox(program: Command): void {
  const command = program
    .command('inbox')
    .description('list what waits for a person')
    .option('--kind <kind>', `only one kind: ${kinds.join(', ')}`)
    .option('--state <state>', `${states.join(', ')} (open)`)
    .option('--run <id>', 'only items of this run')
    .option('--queue <name>', 'only items of this queue')
    .option('--limit <n>', `at most so many (${limits.pageSize}; up to ${limits.pageSizeMax})`)
    .option('--cursor <text>', 'go on where an earlier list ended')
    .allowExcessArguments()
    .addHelpText('after', help)
    .action((options: Options) => {
      checkNoArguments(command.args)
      return listInbox(cliOf(command), options)
    })
  const show = command
    .command('show <item>')
    .description('show an item with all that is needed to decide it')
    .addHelpText('after', showHelp)
    .action((itemId: string) => showItem(cliOf(show), itemId))
  addGlobals(command)
  addGlobals(show)
  addComment(command)
  addAlike(command)
}

function checkNoArguments([first]: readonly string[]): void {
  if (first === undefined) return
  if (first.startsWith('item_')) {
    throw usageError(`inbox lists items; did you mean: inbox show ${first}?`)
  }
  throw usageError(
    `unknown command 'inbox ${first}'${suggestion(first, ['show', 'comment', 'decide'])}`,
  )
}

async function listInbox(cli: Cli, options: Options): Promise<void> {
  const state = oneOf('state', options.state ?? 'open', states)
  const filter = {
    state,
    ...(options.kind === undefined ? {} : { kind: oneOf('kind', options.kind, kinds) }),
    ...(options.run === undefined ? {} : { runId: options.run }),
    ...(options.queue === undefined ? {} : { queue: options.queue }),
    ...(options.cursor === undefined ? {} : { cursor: options.cursor }),
    countMax: wholeNumber('--limit', options.limit ?? `${limits.pageSize}`, limits.pageSizeMax),
  }
  const { items, next } = await withStore(cli, (cf) => cf.inbox.list(filter))
  cli.out.data({ items: items.map(itemJson), next })
  if (items.length === 0) {
    const narrowed = options.kind ?? options.run ?? options.queue ?? options.cursor
    if (state !== 'open' || narrowed !== undefined) cli.out.text('No item fits these filters.')
    else cli.out.text('Nothing waits for a person.')
    return
  }
  cli.out.text(...itemTable(cli, items))
  const [first] = items
  if (state === 'open' && first) {
    cli.out.text('', 'Look at one, and decide it:', ...cli.again(2, 'inbox', 'show', first.itemId))
  }
  if (next !== null) cli.out.text('', 'More:', ...cli.again(2, ...again(options, next)))
}

function again(options: Options, cursor: string): string[] {
  const kept = (['kind', 'state', 'run', 'queue', 'limit'] as const).flatMap((name) => {
    const value = options[name]
    return value === undefined ? [] : [`--${name}`, value]
  })
  return ['inbox', ...kept, '--cursor', cursor]
}

// Below it there is no room for both times, and a deadline says more than an age.
const wideEnough = 100

function itemTable(cli: Cli, items: readonly Item[]): string[] {
  const { colors, width } = cli.out
  const now = systemClock.now()
  // Columns that only approvals fill are there only if one of these is shown.
  const queued = items.some((item) => item.kind === 'approval')
  const limited = items.some((item) => item.body.approval?.deciders)
  const due = items.some((item) => slaOf(item) !== null)
  const aged = !due || width >= wideEnough
  const columns = [
    { head: 'ITEM', yields: 5, keep: 'ends', least: 25 },
    { head: 'RUN', yields: 4, keep: 'ends', least: 8 },
    { head: 'WHAT', yields: 3, least: 12 },
    ...(queued ? [{ head: 'QUEUE', yields: 1, least: 6 }] : []),
    ...(limited ? [{ head: 'FOR', yields: 2, least: 7 }] : []),
    ...(due ? [{ head: 'DUE', yields: 6 }] : []),
    ...(aged ? [{ head: 'OPENED', yields: 6 }] : []),
  ] as const
  const rows = items.map((item) => [
    item.itemId,
    item.runId,
    { text: item.title, paint: item.state === 'open' ? colors.yellow : colors.dim },
    ...(queued ? [item.queue] : []),
    ...(limited ? [item.body.approval?.deciders?.join(', ') ?? 'anybody'] : []),
    ...(due ? [dueCell(cli, item, now)] : []),
    ...(aged ? [{ text: relative(item.createdAt, now), paint: colors.dim }] : []),
  ])
  return renderTable(columns, rows, { width, paintHead: colors.bold })
}

function dueCell(cli: Cli, item: Item, now: number): Cell {
  const { dim, red } = cli.out.colors
  const { state } = item
  const dueAt = slaOf(item)
  if (dueAt === null) return { text: '' }
  const late = state === 'open' && dueAt < now
  // Not by its colour alone: there may be none.
  return late
    ? { text: `${duration(now - dueAt)} late`, paint: red }
    : { text: relative(dueAt, now), paint: dim }
}

async function showItem(cli: Cli, itemId: string): Promise<void> {
  await withStore(cli, async (cf) => {
    const look = await lookAt(cf, itemId)
    cli.out.data(itemViewJson(look))
    cli.out.text(...itemLines(cli, look), ...decideLines(cli, look.item))
  })
}
