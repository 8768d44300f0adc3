// The commands that decide an item, at the version that was shown, ready to be pasted.
import type { ItemView } from '../../client/inbox/inbox.ts'
import { isClaim } from '../../model/decisions/approval.ts'
import type { Choice } from '../../model/decisions/outcomes.ts'
import { type Cli, userName } from '../cli.ts'
import { recordName } from './item.ts'
import { clean, wrap } from './text.ts'

export function decideLines(cli: Cli, item: ItemView): string[] {
  if (item.state !== 'open') return []
  const lines = item.choices.flatMap((choice) => commandLines(cli, item, choice))
  return ['', cli.out.colors.bold('Decide with one of'), ...lines]
}

function commandLines(cli: Cli, item: ItemView, choice: Choice): string[] {
  const { colors, width } = cli.out
  const { label, consequence, locked } = choice
  const words = wordsFor(item, choice)
  if (words === null) return []
  const more = locked ? ` Not allowed yet, unless you state --made-sure: ${locked.why}.` : ''
  const means = wrap(clean(`${label}. ${consequence}${more}`), width - 4)
  return [...means.map((line) => `  ${colors.dim(`# ${line}`)}`), ...cli.again(2, ...words)]
}

/** Null if there is nothing that it could be said of. */
function wordsFor(item: ItemView, choice: Choice): string[] | null {
  const { itemId, runId, body } = item
  const { outcome } = choice
  const version = ['--version', `${item.version}`, ...byWords(item)]
  const reason = ['--reason', '…']
  if (choice.pins) {
    const [first] = body.damage?.good ?? []
    return first === undefined ? null : ['checkpoint', 'pin', runId, `${first}`, ...reason]
  }
  if (outcome === 'approve') return ['approve', itemId, ...version]
  if (outcome === 'edit') return ['approve', itemId, '--edit', '{…}', ...version]
  if (outcome === 'reject') return ['reject', itemId, ...version, ...reason]
  if (outcome === 'respond') return ['respond', itemId, '{…}', ...version]
  return ['decide', itemId, outcome, ...answerWords(item, choice), ...version, ...reason]
}

function answerWords(item: ItemView, { result: needs, records }: Choice): string[] {
  const [record] = records
  const open = needs === 'if_pending' && record?.status !== 'committed'
  const { example = null } = item.body.answer ?? {}
  const result = example === null ? '{…}' : JSON.stringify(example)
  return [
    ...(needs === 'required' || needs === 'optional' || open ? ['--result', result] : []),
    ...(record ? ['--record', recordName(record)] : []),
  ]
}

/** Where only some may decide, and this user is none of them, it has to be said who does. */
function byWords({ body }: ItemView): string[] {
  const deciders = body.approval?.deciders ?? null
  const [first] = deciders ?? []
  if (deciders === null || first === undefined) return []
  if (deciders.includes(userName(undefined))) return []
  return [isClaim(first) ? '--claim' : '--by', first]
}
