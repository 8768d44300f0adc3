// The port that takes what need not be kept any longer. What is due is decided by ../retention.ts.

/** How long the records of ended runs are kept, by replay class (B6). */
export interface Retention {
  readonly pureMs: number
  readonly keyedMs: number
  readonly unsafeMs: number
}

export interface RetentionPort {
  /**
   * One pass of retention over at most so many ended runs; how many it took something of. Never of
   * a live one. Of a failed run everything stays for the longest time, so that it can be retried.
   */
  retain(keep: Retention, countMax: number): Promise<number>
}
