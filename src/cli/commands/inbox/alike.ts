// counterfoil inbox decide: one decision about items that are alike
import type { Command } from 'commander'
import type { BulkItem, BulkResult } from '../../../client/inbox/bulk.ts'
import { decisionJson, itemJson } from '../../../client/wire/rows.ts'
import { outcomesForMany } from '../../../model/decisions/alike.ts'
import { addGlobals, type Cli, cliOf, reasonOf, userName, withStore } from '../../cli.ts'
import { nextAfter } from '../../show/next.ts'
import { clean } from '../../show/text.ts'
import { oneOf, usageError, wholeNumber } from '../../usage.ts'

const help = `
Only items that are alike can be decided at once: of one kind, queue, graph,
node, tool and schema. Each is decided by itself; one that has changed since you
looked is told, and does not stop the others. Name each with the version that
you looked at. Of many can be said:
  ${outcomesForMany.join(', ')}

Example:
  counterfoil inbox decide approve item_1f…@1 item_5c…@1 --reason 'all small'`

interface Options {
  by?: string
  claim?: string[]
  reason?: string
  madeSure?: boolean
}

export function addAlike(parent: Command): void {
  const command = parent
    .command('decide <outcome> <items...>')
    .description('decide items that are alike, named as <item>@<version>')
    .option('--by <name>', 'who decides (the user of this machine)')
    .option('--claim <claims...>', 'what else they are: role:finance, group:board')
    .option('--reason <text>', 'why; required, and kept on record')
    .option('--made-sure', 'state on record that every earlier attempt is over')
    .addHelpText('after', help)
    .action((outcome: string, items: string[], options: Options) =>
      decideAlike(cliOf(command), outcome, items, options),
    )
  addGlobals(command)
}

async function decideAlike(cli: Cli, said: string, named: string[], options: Options) {
  const outcome = oneOf('outcome', said.replaceAll('-', '_'), outcomesForMany)
  const reason = reasonOf('a decision', options.reason)
  const claims = options.claim === undefined ? {} : { claims: options.claim }
  const sure = options.madeSure === true ? { madeSure: true } : {}
  const request = { outcome, reason, by: userName(options.by), ...claims, ...sure }
  const items = named.map(seenItem)
  const { results, next } = await withStore(cli, async (cf) => {
    const done = await cf.inbox.decideAll(items, request)
    const last = await cf.inbox.get(done.at(-1)?.itemId ?? '')
    return { results: done, next: await nextAfter(cli, cf, last, request) }
  })
  cli.out.data({ items: results.map(resultJson), next: next.item && itemJson(next.item) })
  for (const one of results) cli.out.text(`${one.itemId}  ${words(one)}`)
  cli.out.text('', ...next.lines)
  if (results.some((one) => 'error' in one)) process.exitCode = 1
}

function seenItem(text: string): BulkItem {
  const at = text.lastIndexOf('@')
  if (at < 1) {
    throw usageError(
      `${text} has no version: write <item>@<version>, as in ${text}@1; ` +
        `\`counterfoil inbox show ${text}\` prints the version`,
    )
  }
  const version = wholeNumber(`the version in ${text}`, text.slice(at + 1))
  return { itemId: text.slice(0, at), version }
}

export function resultJson(one: BulkResult) {
  const { itemId: item_id } = one
  return 'error' in one
    ? { item_id, error: one.error }
    : { item_id, decision: decisionJson(one.decision) }
}

function words(one: BulkResult): string {
  return 'error' in one ? `${clean(one.error.message)} (${one.error.code})` : one.decision.outcome
}
