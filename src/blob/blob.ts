// The contract of a blob store: texts that are too large for a row, each known by its digest (B7).
// A blob never changes. Who refers to it stands in the rows, so only a collector may remove one.
import { blobInvalid } from './errors.ts'

/** A blob that is in place, as a collector sees it. */
export interface BlobEntry {
  readonly digest: string
  /** When it was last put; putting it again counts. */
  readonly changedAt: number
  readonly bytes: number
}

/**
 * `aside`: a blob that a collector has moved out of the way of puts. `draft`: of a put that has
 * not ended, or never will.
 */
export interface Leftover extends BlobEntry {
  readonly kind: 'aside' | 'draft'
  readonly name: string
}

export interface BlobStore {
  readonly url: string
  /**
   * Answers the digest: SHA-256 of the UTF-8 bytes, in hex. When it resolves the blob is durable,
   * and its time is that of this call, or of another put that was still at work.
   */
  put(text: string): Promise<string>
  /** The text, hashed again; a blob that is set aside is found too. */
  get(digest: string): Promise<string>
  /** In place; one that is set aside is not. */
  has(digest: string): Promise<boolean>
  list(): AsyncIterable<BlobEntry>

  /** From now on a put writes the blob anew instead of refreshing it; null if it is gone. */
  setAside(digest: string): Promise<Leftover | null>
  /** Puts it back, unless it has been put anew meanwhile. */
  restore(aside: Leftover): Promise<void>
  /** Deletes it for good; false if it has changed after `before`, or is gone. */
  drop(leftover: Leftover, before: number): Promise<boolean>
  /** What puts and collectors have left behind, or are at work on. */
  leftovers(): AsyncIterable<Leftover>
  close?(): Promise<void>
}

/** Only this is ever made part of a path or a request. */
export const digestPattern = /^[0-9a-f]{64}$/

export function checkDigest(digest: string): string {
  if (typeof digest === 'string' && digestPattern.test(digest)) return digest
  throw blobInvalid(digest)
}
