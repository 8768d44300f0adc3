// The commands that decide an item, at the version that was shown, ready to be pasted.
import type { ItemView } from '../client/inbox.ts'
import { systemClock } from '../clock.ts'
import { isClaim } from '../model/approval.ts'
import type { Outcome } from '../model/records.ts'
import { type Cli, userName } from './cli.ts'
import { recordName } from './item.ts'
import { wrap } from './text.ts'

export function decideLines(cli: Cli, item: ItemView): string[] {
  if (item.state !== 'open') return []
  const lines = item.outcomes.flatMap((outcome) => commandLines(cli, item, outcome))
  return ['', cli.out.colors.bold('Decide with one of'), ...lines]
}

const explained: Record<Outcome, string> = {
  happened: 'it happened; the call is answered with this result, and nothing is sent',
  did_not_happen: 'it did not happen; it is sent once more',
  fail: 'fail the call: the workflow sees an error, and the same call again asks again',
  abandon: 'end the run as failed',
  use_record: 'this record answers the call; nothing is sent',
  send: 'none of the records is this call; it is sent',
  retire_record: 'nothing will claim this record any more; it stays on record',
  respond: 'the answer to the question',
  approve: 'yes: exactly what is shown here',
  edit: 'yes, but with this in its place',
  reject: 'no; the workflow is told why',
  pin: 'go on from an earlier, good checkpoint; what was done since stays on record',
  resume: 'try it again, as if nobody had died of it',
}

function commandLines(cli: Cli, item: ItemView, outcome: Outcome): string[] {
  const { colors, width } = cli.out
  const words = wordsFor(item, outcome)
  if (words === null) return []
  const locked = item.reason === 'unknown' && (item.quietUntil ?? 0) > systemClock.now()
  const denies = outcome === 'did_not_happen' || outcome === 'fail'
  const more = locked && denies ? ' (refused for now, unless you state --made-sure)' : ''
  const means = wrap(`${meaning(item, outcome)}${more}`, width - 4)
  return [...means.map((line) => `  ${colors.dim(`# ${line}`)}`), ...cli.again(2, ...words)]
}

function meaning({ kind }: ItemView, outcome: Outcome): string {
  if (outcome === 'fail' && kind === 'question') return 'no answer: the workflow sees an error'
  if (outcome === 'respond' && kind === 'approval') return 'neither: the workflow is told this'
  return explained[outcome]
}

/** Null if there is nothing that it could be said of. */
function wordsFor(item: ItemView, outcome: Outcome): string[] | null {
  const { itemId, runId, body } = item
  const version = ['--version', `${item.version}`, ...byWords(item)]
  const reason = ['--reason', '…']
  if (outcome === 'pin') {
    const [first] = body.damage?.good ?? []
    return first === undefined ? null : ['checkpoint', 'pin', runId, `${first}`, ...reason]
  }
  if (outcome === 'approve') return ['approve', itemId, ...version]
  if (outcome === 'edit') return ['approve', itemId, '--edit', '{…}', ...version]
  if (outcome === 'reject') return ['reject', itemId, ...version, ...reason]
  if (outcome === 'respond') return ['respond', itemId, '{…}', ...version]
  return ['decide', itemId, outcome, ...answerWords(item, outcome), ...version, ...reason]
}

function answerWords({ body }: ItemView, outcome: Outcome): string[] {
  const { subject, unmatched } = body
  const record = unmatched.find((call) => call.tool === subject?.tool) ?? unmatched[0]
  const names = outcome === 'use_record' || outcome === 'retire_record'
  const pending = outcome === 'use_record' && record?.status !== 'committed'
  return [
    ...(outcome === 'happened' || pending ? ['--result', '{…}'] : []),
    ...(names && record ? ['--record', recordName(record)] : []),
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
