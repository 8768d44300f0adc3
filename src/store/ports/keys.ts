// The port of the keys that sign rows (seal.ts).
export interface KeysPort {
  /** A new key signs from now on; rows of the old ones still verify. Answers the new key's id. */
  rotateKey(): Promise<string>
}
