// Who decides: the demo itself with --auto, or the person who watches.
import { confirm, isCancel, select } from '@clack/prompts'
import type { ItemView } from '../../client/inbox/inbox.ts'
import { systemClock } from '../../clock.ts'
import { userName } from '../cli.ts'
import { relative, wrap } from '../show/text.ts'
import type { Stage } from './stage.ts'

export interface Choice {
  readonly outcome: 'happened' | 'did_not_happen' | 'fail' | 'abandon'
  readonly by: string
  readonly reason: string
  readonly madeSure: boolean
}

/** Null if the item is left open. */
export async function chooseOutcome(
  stage: Stage,
  item: ItemView,
  messageId: string,
): Promise<Choice | null> {
  if (stage.auto) {
    const reason = `seen in the outbox: ${messageId}`
    return { outcome: 'happened', by: 'demo', reason, madeSure: false }
  }
  const by = userName(undefined)
  for (;;) {
    const outcome = await askOutcome(item)
    if (outcome === null) return null
    const reason = 'said in the demo'
    if (outcome === 'happened') {
      return { outcome, by, reason: `seen in the outbox: ${messageId}`, madeSure: false }
    }
    const sure = await askWhetherSure(stage, item, outcome)
    if (sure !== null) return { outcome, by, reason, madeSure: sure }
  }
}

async function askOutcome({ choices }: ItemView): Promise<Choice['outcome'] | null> {
  const answer = await select<Choice['outcome'] | 'leave'>({
    message: 'Did the e-mail go out? You are the person who is asked.',
    options: [
      ...choices.map(({ outcome, label, consequence }) => {
        return { value: outcome as Choice['outcome'], label, hint: consequence }
      }),
      { value: 'leave', label: 'Leave it open and exit' },
    ],
  })
  return isCancel(answer) || answer === 'leave' ? null : answer
}

/** Whether the quiet time is overruled; null to choose again. */
async function askWhetherSure(
  stage: Stage,
  item: ItemView,
  outcome: string,
): Promise<boolean | null> {
  const lock = item.choices.find((choice) => choice.outcome === outcome)?.locked
  const until = lock?.until ?? 0
  const now = systemClock.now()
  if (now >= until) return false
  const why =
    `"${outcome}" is locked for now; it opens ${relative(until, now)}. The worker is dead, but ` +
    'what it sent may still be under way: said too early, the e-mail could go out twice.'
  stage.cli.out.text(...wrap(why, stage.cli.out.width))
  const sure = await confirm({
    message: 'State on record, under your name, that you have made sure?',
    active: 'I have made sure',
    inactive: 'Choose again',
    initialValue: false,
  })
  return !isCancel(sure) && sure ? true : null
}

export async function chooseApproval(
  stage: Stage,
  title: string,
): Promise<{ by: string; approved: boolean; reason: string }> {
  if (stage.auto) return { by: 'demo', approved: true, reason: 'approved by --auto' }
  const answer = await confirm({ message: title, active: 'Approve', inactive: 'Do not approve' })
  const approved = !isCancel(answer) && answer
  return { by: userName(undefined), approved, reason: 'said in the demo' }
}
