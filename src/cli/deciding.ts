// One decision, whichever command it was said with: what was said is checked, the item is shown to
// whoever can be asked, and what follows is told.
import type { ItemView } from '../client/inbox.ts'
import { type ItemLook, lookAt } from '../client/item.ts'
import { decisionJson, runJson } from '../client/wire/rows.ts'
import type { DecideRequest } from '../model/decide.ts'
import type { Outcome } from '../model/records.ts'
import { type Cli, reasonOf, userName, withStore } from './cli.ts'
import { findRecord, itemLines, recordName } from './item.ts'
import { confirmed } from './prompt.ts'
import { clean, wrap } from './text.ts'
import { parseJson, usageError, wholeNumber } from './usage.ts'
import { whoGoesOn } from './worker-life.ts'

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
}

export async function decideItem(cli: Cli, said: Said, options: DecideOptions): Promise<void> {
  const { itemId, outcome, json } = said
  if (outcome === 'pin') throw pinned(itemId)
  const reason = reasonOf('a decision', options.reason, said.reasonUnlessTold)
  const words = json?.words
  const result =
    json === undefined
      ? {}
      : { result: parseJson(json.option, json.text, ...(words ? [words] : [])) }
  const by = userName(options.by)
  const { evidence } = options
  const given = options.version === undefined ? null : wholeNumber('--version', options.version)
  if (given === null && options.yes !== true && !cli.interactive) throw unseen(itemId)
  await withStore(cli, async (cf) => {
    const look = await lookAt(cf, itemId)
    const { item } = look
    const version = given ?? (await seenVersion(cli, look, outcome, options))
    if (version === null) return cli.out.text('Nothing was decided.')
    const decision = await cf.inbox.decide(itemId, {
      ...{ outcome, by, reason, version, ...result },
      ...(options.record === undefined ? {} : { record: recordOf(item, options.record) }),
      ...(evidence === undefined ? {} : { evidence }),
      ...(options.claim === undefined ? {} : { claims: options.claim }),
      ...(options.madeSure === true ? { madeSure: true } : {}),
    })
    const run = await cf.store.getRun(item)
    cli.out.data({ decision: decisionJson(decision), run: run && runJson(run) })
    const state = `Run ${item.runId} is ${run?.state ?? 'gone'}.`
    const who = clean(decision.by)
    if (decision.outcome === 'vote') {
      return cli.out.text(`Voted: ${outcome}, by ${who}. Others have to, too. ${state}`)
    }
    cli.out.text(`Decided: ${outcome}, by ${who}. ${state}`)
    if (run?.state === 'paused') {
      cli.out.text(
        'It counts when the run is resumed:',
        ...cli.again(2, 'run', 'resume', run.runId),
      )
    }
    if (run?.state === 'pending') {
      cli.out.text(...wrap(await whoGoesOn(cf, run), cli.out.width))
    }
  })
}

function pinned(itemId: string): Error {
  return usageError(
    'a checkpoint is pinned with `counterfoil checkpoint pin <run> <visit>`; ' +
      `\`counterfoil inbox show ${itemId}\` shows which visits are good`,
  )
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
  outcome: Outcome,
  options: DecideOptions,
): Promise<number | null> {
  const { version, state, outcomes: possible } = look.item
  // What will be refused anyway needs no question.
  const refused = state !== 'open' || !possible.includes(outcome)
  if (options.yes === true || refused) return version
  cli.out.text(...itemLines(cli, look), '')
  return (await confirmed(cli, `Decide "${outcome}"?`, options)) ? version : null
}

function recordOf(item: ItemView, name: string): NonNullable<DecideRequest['record']> {
  const found = findRecord(item, name)
  if (found) return found
  const names = item.body.unmatched.map(recordName).join(', ') || 'none'
  throw usageError(`--record ${name} names none of this item's records, or several: ${names}`)
}
