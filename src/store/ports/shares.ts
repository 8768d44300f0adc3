// The port of results that runs share: one makes it, the others wait for it (B10).

/** The result of a pure tool that runs share (B10). */
export interface ShareKey {
  readonly namespace: string
  readonly tool: string
  readonly inputHash: string
}

export interface Shared {
  readonly resultJson: string | null
  readonly externalId: string | null
}

/** Use it; or make it, nobody else does until `makeMs` is over; or ask again in a moment. */
export type ShareAnswer =
  | { readonly do: 'use'; readonly shared: Shared }
  | { readonly do: 'make' | 'wait' }

export interface SharesPort {
  takeShare(key: ShareKey, workerId: string, makeMs: number): Promise<ShareAnswer>
  /** `shared`: usable for `shareMs` from now; null gives the right to make it back. */
  putShare(key: ShareKey, workerId: string, shared: Shared | null, shareMs: number): Promise<void>
}
