// The port of a store that knows whether it is still the one it was made as (I12).
export interface MovesPort {
  /** Null, or why no live run is worked on until a person adopts the store (I12). */
  moved(): Promise<string | null>
  adopt(by: string, reason: string): Promise<void>
}
