// What a person is told about a call before they decide: the same words in the console and on the
// command line. No imports that a browser could not load.
import type { CallStatus } from '../run/records.ts'

/** What is known of a record: above all, whether it went out. */
export const sentWords: Readonly<Record<CallStatus, string>> = {
  committed: 'was sent and answered',
  pending: 'was sent; nobody knows how it ended',
  in_doubt: 'was sent; nobody knows how it ended',
  failed: 'failed for certain',
}

/** What a retry can be told of a call that failed. */
export const fateWords = {
  send: 'it is sent once more',
  keep: 'it stays failed: the run sees the error again',
  happened: 'it happened: give its result',
} as const

export const usualCause = 'The usual cause is a time or a random value in the input.'

/** How many of the records beside a call that waits went out, and how that ended. */
export function sentBefore(records: readonly { readonly status: CallStatus | null }[]): string {
  const count = (wanted: readonly CallStatus[]) =>
    records.filter(({ status }) => status !== null && wanted.includes(status)).length
  const said = [
    counted(count(['committed']), 'sent and answered'),
    counted(count(['pending', 'in_doubt']), 'sent, and nobody knows how it ended'),
  ]
  return said.filter((text) => text !== '').join(' ')
}

function counted(count: number, words: string): string {
  if (count === 0) return ''
  return count === 1 ? `One earlier call was ${words}.` : `${count} earlier calls were ${words}.`
}

/** Of a call that waits because it may be one of the records. */
export const twice =
  'If one of them is the same call and you send this one too, it happens twice: ' +
  'the same mail arrives twice.'

export function probeWords(probe: string | null): string {
  if (probe === null) return 'none: the tool has no probe, or it was not asked'
  const more = probe === 'no' ? ', which proves nothing while data may still be on its way' : ''
  return `the upstream was asked whether it happened, and said ${probe}${more}`
}
