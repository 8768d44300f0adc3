// The verdict: what the machine does with a call. One pure function, the table of DESIGN §3.
import type { CallStatus, DoubtReason } from '../run/records.ts'
import type { ReplayClass } from '../tool/tool.ts'

export interface Known {
  /** The stricter of the class stored with the intent and the tool's current one. */
  replayClass: ReplayClass
  /** A person's decision about this call, not yet used up. */
  decided: boolean
  record: null | {
    status: CallStatus
    /** Its MAC is right. */
    verifies: boolean
    /** Attempts whose outcome nobody knows; one that was certainly not sent is none. */
    unknownAttempts: number
    keyWindow: 'open' | 'closed'
    /** Ends by a callback or a person's answer: still to come, or past its deadline. */
    callback: 'none' | 'open' | 'overdue'
  }
  /** Non-pure records of this visit that nothing has claimed. */
  unmatched: boolean
  /** Nothing more can match. */
  quiet: boolean
  /** The same tool and input was failed without knowledge earlier in this run. */
  unresolved: boolean
  /**
   * Other calls on record may have had its effect: none; one of them says so in the same words and
   * has a receipt; or a person has to tell.
   */
  alike: 'none' | 'answers' | 'asks'
  probe: 'none' | 'unasked' | 'yes' | 'no' | 'unknown'
}

export type Verdict =
  | { do: 'obey' }
  | { do: 'return' }
  | { do: 'throw' }
  /** A receipt of the same words answers: its result is copied, nothing is sent. */
  | { do: 'copy' }
  | { do: 'stay_parked' }
  | { do: 'wait_for_quiet' }
  | { do: 'wait_for_callback' }
  | { do: 'probe' }
  | { do: 'record_probe' }
  /** A first attempt, or one that follows only attempts that were certainly not sent. */
  | { do: 'dispatch' }
  /** Once more, with the recorded key. */
  | { do: 'resend' }
  | { do: 'doubt'; reason: DoubtReason }

export function verdict(known: Known): Verdict {
  if (known.decided) return { do: 'obey' }
  if (known.record === null) return unrecorded(known)
  if (!known.record.verifies) return { do: 'doubt', reason: 'tampered' }
  switch (known.record.status) {
    case 'committed':
      return { do: 'return' }
    case 'failed':
      return { do: 'throw' }
    case 'in_doubt':
      return { do: 'stay_parked' }
    case 'pending':
      return pending(known, known.record)
  }
}

function unrecorded(known: Known): Verdict {
  if (known.replayClass === 'pure') return { do: 'dispatch' }
  if (known.unmatched) {
    return known.quiet ? { do: 'doubt', reason: 'drift' } : { do: 'wait_for_quiet' }
  }
  if (known.unresolved) return { do: 'doubt', reason: 'unresolved' }
  if (known.alike === 'answers') return { do: 'copy' }
  return known.alike === 'asks' ? { do: 'doubt', reason: 'same_effect' } : { do: 'dispatch' }
}

function pending(known: Known, record: NonNullable<Known['record']>): Verdict {
  if (record.callback === 'open') return { do: 'wait_for_callback' }
  if (record.unknownAttempts === 0 || known.replayClass === 'pure') return { do: 'dispatch' }
  if (known.probe === 'unasked') return { do: 'probe' }
  if (known.probe === 'yes') return { do: 'record_probe' }
  if (known.replayClass === 'idempotent_with_key' && record.keyWindow === 'open') {
    return { do: 'resend' }
  }
  return { do: 'doubt', reason: 'unknown' }
}
