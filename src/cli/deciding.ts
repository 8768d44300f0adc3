// One decision, whichever command it was said with: what was said is checked, the item is shown to
// whoever can be asked, and what follows is told.
import type { ItemView } from '../client/inbox/inbox.ts'
import { type ItemLook, lookAt } from '../client/inbox/item.ts'
import { decisionJson, itemJson, runJson } from '../client/wire/rows.ts'
import type { DecideRequest } from '../model/decisions/decide.ts'
import { isMarked } from '../model/decisions/outcomes.ts'
import type { Outcome } from '../model/run/records.ts'
import { type Cli, reasonOf, userName, withStore } from './cli.ts'
import { confirmed } from './prompt.ts'
import { findRecord, itemLines, recordName } from './show/item.ts'
import { nextAfter } from './show/next.ts'
import { clean, wrap } from './show/text.ts'
import { whoGoesOn } from './show/worker-life.ts'
import { parseJson, usageError, wholeNumber } from './usage.ts'

export interface DecideOptions {
  record?: string
  by?: string
  claim?: string[]
  reason?: string
  evidence?: string
  madeSure?: boolean
  version?: string
  yes?: boolean
}

export interface Said {
  readonly itemId: string
  readonly outcome: Outcome
  /** The answer, with the word that it was given by. */
  readonly json?: {
    readonly option: string
    readonly text: string
    readonly words?: (json: string) => string
  }
  /** Where the outcome speaks for itself. */
  readonly reasonUnlessTold?: string
  /** The command as it was given, without its options. */
  readonly words: readonly string[]
}

export async function decideItem(cli: Cli, said: Said, options: DecideOptions): Promise<void> {
  const { itemId, outcome, json } = said
  if (isMarked(outcome, 'pins')) throw pinned(itemId)
  const reason = reasonOf('a decision', options.reason, said.reasonUnlessTold)
  const words = json?.words
  const result =
    json === undefined
      ? {}
      : { result: parseJson(json.option, json.text, ...(words ? [words] : [])) }
  const by = userName(options.by)
  const { evidence } = options
  const claims = options.claim === undefined ? {} : { claims: options.claim }
  const given = options.version === undefined ? null : wholeNumber('--version', options.version)
  await withStore(cli, async (cf) => {
    const look = await lookAt(cf, itemId)
    const { item } = look
    const version = given ?? (await seenVersion(cli, look, said, options))
    if (version === null) return cli.out.text('Nothing was decided.')
    const decision = await cf.inbox.decide(itemId, {
      outcome,
      by,
      reason,
      version,
      ...result,
      ...(options.record === undefined ? {} : { record: recordOf(item, options.record) }),
      ...(evidence === undefined ? {} : { evidence }),
      ...claims,
      ...(options.madeSure === true ? { madeSure: true } : {}),
    })
    const run = await cf.store.getRun(item)
    const next = await nextAfter(cli, cf, item, { by, ...claims })
    cli.out.data({
      decision: decisionJson(decision),
      run: run && runJson(run),
      next: next.item && itemJson(next.item),
    })
    const state = `Run ${item.runId} is ${run?.state ?? 'gone'}.`
    const who = clean(decision.by)
    if (decision.outcome === 'vote') {
      cli.out.text(`Voted: ${outcome}, by ${who}. Others have to vote too. ${state}`)
    } else cli.out.text(`Decided: ${outcome}, by ${who}. ${state}`)
    if (run?.state === 'paused') {
      cli.out.text(
        'It counts when the run is resumed:',
        ...cli.again(2, 'run', 'resume', run.runId),
      )
    }
    if (run?.state === 'pending') {
      cli.out.text(...wrap(await whoGoesOn(cf, run), cli.out.width))
    }
    cli.out.text('', ...next.lines)
  })
}

function pinned(itemId: string): Error {
  return usageError(
    'a checkpoint is pinned with `counterfoil checkpoint pin <run> <visit>`; ' +
      `\`counterfoil inbox show ${itemId}\` shows which visits are good`,
  )
}

/** Nobody can be asked: the item is shown, and the command that decides exactly that. */
function unseen(cli: Cli, look: ItemLook, said: Said, options: DecideOptions): Error {
  const { version, itemId } = look.item
  cli.out.text(...itemLines(cli, look))
  const command = cli.again(0, ...said.words, ...optionWords(options), '--version', `${version}`)
  const line = command.map((part) => part.replace(/ \\$/, '').trim()).join(' ')
  return usageError(
    `nothing was decided: a decision names the version that you looked at, and item ${itemId} ` +
      `is at version ${version} now (\`counterfoil inbox show ${itemId}\`). ` +
      `To decide exactly that: ${line}`,
  )
}

function optionWords(options: DecideOptions): string[] {
  const { record, by, claim = [], reason, evidence, madeSure } = options
  const named = Object.entries({ record, by, reason, evidence }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  const claims = claim.length === 0 ? [] : ['--claim', ...claim]
  return [...named, ...claims, ...(madeSure === true ? ['--made-sure'] : [])]
}

/** The version that the person at the terminal has just been shown. */
async function seenVersion(
  cli: Cli,
  look: ItemLook,
  said: Said,
  options: DecideOptions,
): Promise<number | null> {
  const { version, barred, choices } = look.item
  const choice = choices.find((one) => one.outcome === said.outcome)
  // What will be refused anyway needs no question.
  const refused = barred !== null || choice === undefined
  if (options.yes === true || refused) return version
  if (!cli.interactive) throw unseen(cli, look, said, options)
  cli.out.text(...itemLines(cli, look), '', ...wrap(choice.consequence, cli.out.width))
  return (await confirmed(cli, `Decide "${said.outcome}"?`, options)) ? version : null
}

function recordOf(item: ItemView, name: string): NonNullable<DecideRequest['record']> {
  const found = findRecord(item, name)
  if (found) return found
  const names = item.body.unmatched.map(recordName).join(', ') || 'none'
  throw usageError(`--record ${name} names none of this item's records, or several: ${names}`)
}
