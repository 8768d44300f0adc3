// What a look at a ledger can find, and how much it has looked at (B8).

export type FindingKind =
  /** The row is not as it was signed. */
  | 'mac'
  /** The input that is kept is not the one that the call is known by. */
  | 'input'
  /** Times that cannot follow each other, or that the run's events contradict. */
  | 'time'
  /** Its span is another call's, or not the one that its attempt was sent with. */
  | 'span'
  /** Rows of attempts are missing, or are more than their call knows of. */
  | 'attempt'
  /** Attempts whose call has no record. */
  | 'call'
  /** It is recorded as done, and its last attempt as not done. */
  | 'outcome'
  /** Two results have the same place in the order. */
  | 'seq'
  /** An event tells of a row that is not there, or is otherwise. */
  | 'event'
  /** Written by somebody who did not hold the run. */
  | 'holder'
  | 'decision'
  | 'evidence'
  | 'checkpoint'

export interface Finding {
  readonly runId: string
  readonly kind: FindingKind
  /** Which row. */
  readonly subject: string
  readonly message: string
}

export interface VerifyCounts {
  runs: number
  calls: number
  attempts: number
  decisions: number
  evidence: number
  checkpoints: number
}
