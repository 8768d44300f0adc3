// The two stories side by side.
import Table from 'cli-table3'
import { plural } from '../show/text.ts'
import type { CounterfoilEnd } from './counterfoil-story.ts'
import type { PlainEnd } from './plain-story.ts'
import type { Stage } from './stage.ts'

const endings = {
  happened: 'completed',
  did_not_happen: 'completed, after one more send',
  fail: 'failed, by decision',
  abandon: 'abandoned, by decision',
} as const

export function sideBySide(stage: Stage, plain: PlainEnd, end: CounterfoilEnd): string[] {
  const { colors } = stage.cli.out
  const state = end.choice === null ? 'waits for a person' : endings[end.choice.outcome]
  const mails = plural(end.mails, 'mail')
  const table = new Table({
    head: ['', 'plain checkpoint replay', 'Counterfoil'].map((text) => colors.bold(text)),
    style: { head: [], border: [], compact: true },
  })
  table.push(
    ['the customer got', colors.red(plural(plain.mails, 'mail')), colors.green(mails)],
    ['after the kill', 'sent it again', 'asked a person'],
    ['was told', 'nobody', plural(end.items, 'item in the inbox', 'items in the inbox')],
    ['the run', 'completed', state],
  )
  return table.toString().split('\n')
}
