// Lists come in pages.
export interface Page<T> {
  readonly items: readonly T[]
  /** Give it back as `cursor` for what follows; null at the end. */
  readonly next: string | null
}

export interface ListRequest {
  readonly namespace: string
  readonly cursor?: string
  readonly countMax?: number
}
