// counterfoil decide
import type { Command } from 'commander'
import type { ItemView } from '../../client/inbox.ts'
import type { DecideRequest } from '../../model/decide.ts'
import { type Outcome, outcomes } from '../../model/records.ts'
import { addGlobals, type Cli, cliOf, userName, withStore } from '../cli.ts'
import { findRecord, type ItemLook, itemLines, lookAt, recordName } from '../item.ts'
import { wrap } from '../text.ts'
import { oneOf, parseJson, usageError, wholeNumber } from '../usage.ts'
import { decisionJson, runJson } from '../wire.ts'
import { liveWorkers, workerLine } from './inbox.ts'

interface Options {
  result?: string
  record?: string
  by?: string
  reason?: string
  evidence?: string
  madeSure?: boolean
  version?: string
  yes?: boolean
}

const help = `
Outcomes:
  of a call nobody knows about   happened, did_not_happen, fail, abandon
  of a call without its record   use_record, send, retire_record, fail, abandon
  of a question                  respond, fail, abandon

A decision is about what you have seen: \`counterfoil inbox show\` prints the
version to give. In a terminal you may leave it out: the item is then shown, and
you are asked.

"did_not_happen" and "fail" are refused while what was sent may still arrive.
--made-sure states, on record and under your name, that you know better.

Examples:
  counterfoil decide item_1f0c… happened --result '{"messageId": "m-7"}' \\
    --version 1 --reason 'seen in the log of the mail provider'
  counterfoil decide item_1f0c… did_not_happen --version 1 --reason 'not there'
  counterfoil decide item_77aa… respond --result '{"approved": true}' \\
    --version 1 --reason 'within the budget'
  counterfoil decide item_90b1… use_record --record send_email/3f9a1c/0 \\
    --version 1 --reason 'the same mail, with another time in it'`

export function addDecide(program: Command): void {
  const command = program
    .command('decide <item> <outcome>')
    .description('decide an item of the inbox')
    .option('--result <json>', 'what the call or the question is answered with')
    .option('--record <name>', 'the record that is meant: tool/hash/occurrence')
    .option('--by <name>', 'who decides (the user of this machine)')
    .option('--reason <text>', 'why; required, and kept on record')
    .option('--evidence <text>', 'where it can be seen: a link, a line of a log')
    .option('--made-sure', 'earlier attempts are over, whatever the quiet time says')
    .option('--version <n>', 'the version of the item that you looked at')
    .option('-y, --yes', 'take the present version, and do not ask')
    .addHelpText('after', help)
    .action((itemId: string, outcome: string, options: Options) =>
      decideItem(cliOf(command), itemId, outcome, options),
    )
  addGlobals(command)
}

async function decideItem(cli: Cli, itemId: string, said: string, options: Options): Promise<void> {
  const outcome = oneOf('outcome', said.replaceAll('-', '_'), outcomes)
  if (options.reason === undefined || options.reason.trim() === '') {
    throw usageError("a decision needs --reason '<why>'; it is kept on record")
  }
  const { reason, evidence } = options
  const result =
    options.result === undefined ? {} : { result: parseJson('--result', options.result) }
  const by = userName(options.by)
  const given = options.version === undefined ? null : wholeNumber('--version', options.version)
  if (given === null && options.yes !== true && !cli.interactive) throw unseen(itemId)
  await withStore(cli, async (cf) => {
    const look = await lookAt(cf, itemId)
    const { item } = look
    const version = given ?? (await seenVersion(cli, look, { outcome, options }))
    if (version === null) return cli.out.text('Nothing was decided.')
    const decision = await cf.inbox.decide(itemId, {
      ...{ outcome, by, reason, version, ...result },
      ...(options.record === undefined ? {} : { record: recordOf(item, options.record) }),
      ...(evidence === undefined ? {} : { evidence }),
      ...(options.madeSure === true ? { madeSure: true } : {}),
    })
    const run = await cf.store.getRun(item)
    cli.out.data({ decision: decisionJson(decision), run: run && runJson(run) })
    cli.out.text(
      `Decided: ${outcome}, by ${decision.by}. Run ${item.runId} is ${run?.state ?? 'gone'}.`,
    )
    if (run?.state === 'pending')
      cli.out.text(...wrap(workerLine(await liveWorkers(cf)), cli.out.width))
  })
}

function unseen(itemId: string): Error {
  return usageError(
    'a decision needs the version of what was looked at: give --version (it is in ' +
      `\`counterfoil inbox show ${itemId}\`), or --yes to take the present one unseen`,
  )
}

/** The version that the person at the terminal has just been shown. */
async function seenVersion(
  cli: Cli,
  look: ItemLook,
  of: { outcome: Outcome; options: Options },
): Promise<number | null> {
  const { version, state, outcomes: possible } = look.item
  // What will be refused anyway needs no question.
  const refused = state !== 'open' || !possible.includes(of.outcome)
  if (of.options.yes === true || !cli.interactive || refused) return version
  cli.out.text(...itemLines(cli, look), '')
  const { confirm, isCancel } = await import('@clack/prompts')
  const sure = await confirm({ message: `Decide "${of.outcome}"?`, initialValue: false })
  return isCancel(sure) || !sure ? null : version
}

function recordOf(item: ItemView, name: string): NonNullable<DecideRequest['record']> {
  const found = findRecord(item, name)
  if (found) return found
  const names = item.body.unmatched.map(recordName).join(', ') || 'none'
  throw usageError(`--record ${name} names none of this item's records, or several: ${names}`)
}
