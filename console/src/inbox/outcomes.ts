// What can be decided, in words, and what follows from it.
import type { ItemPageData, Outcome } from '../wire.ts'

export const labels: Readonly<Record<Outcome, string>> = {
  happened: 'It happened',
  did_not_happen: 'It did not happen',
  fail: 'Fail the call',
  abandon: 'Abandon the run',
  use_record: 'Use this record',
  send: 'None of them: send',
  retire_record: 'Retire a record',
  respond: 'Respond',
  approve: 'Approve',
  edit: 'Edit and approve',
  reject: 'Reject',
  pin: 'Pin an earlier checkpoint',
  resume: 'Resume',
}

const follows: Readonly<Record<Outcome, string>> = {
  happened: 'The call is answered with the result you give. Nothing is sent.',
  did_not_happen: 'The call is sent once more. If it did happen, it happens twice.',
  fail: 'The run sees an error for this call. The same call again goes to a person again.',
  abandon: 'The run ends as failed, now. What was done stays done; nothing is undone.',
  use_record: 'The record that you choose answers this call. Nothing is sent.',
  send: 'This call is sent. The records stay, and answer nothing.',
  retire_record: 'The record holds nothing up any more. It stays on record.',
  respond: 'The run is given your answer.',
  approve: 'Yes, to exactly what is shown here.',
  edit: 'Yes, with your edit in place of what is shown.',
  reject: 'No. The run is told your reason.',
  pin: 'The run goes on from the visit you choose. What was done since stays on record.',
  resume: 'The run is tried again, as if no worker had died of it.',
}

export function labelOf(item: ItemPageData, outcome: Outcome): string {
  if (outcome === 'send' && item.reason !== 'drift') return 'Send it once more'
  return labels[outcome]
}

export function consequenceOf(item: ItemPageData, outcome: Outcome): string {
  return item.consequences?.[outcome] ?? follows[outcome]
}

/** Outcomes that end something, or send something that may be there already. */
export const grave: readonly Outcome[] = ['did_not_happen', 'send', 'abandon', 'fail', 'reject']
export const denies: readonly Outcome[] = ['did_not_happen', 'fail']
