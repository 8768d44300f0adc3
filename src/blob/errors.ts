// What went wrong with a blob, in our words: a code, the offender, and what to do.
import { type CounterfoilError, errorFor } from '../model/errors.ts'

export function blobInvalid(digest: unknown): CounterfoilError {
  return errorFor('BLOB_INVALID', digest)
}

export function blobMissing(digest: string, url: string): CounterfoilError {
  return errorFor('BLOB_MISSING', digest, url)
}

export function blobDamaged(digest: string, path: string, why: string): CounterfoilError {
  return errorFor('BLOB_DAMAGED', digest, path, why)
}

const full = ['ENOSPC', 'EDQUOT']

/** The system's error in our words; any other error as it is. */
export function diskError(error: unknown, dir: string): unknown {
  const code = systemCode(error)
  if (code === null) return error
  const path = (error as NodeJS.ErrnoException).path ?? dir
  if (full.includes(code)) return errorFor('STORE_FULL', path, error)
  const why = `${code}: the disk refused; check the permissions and the log, it is retried`
  return errorFor('STORE_IO', path, why, error)
}

/** A link in the tree would lead what is written to somewhere else. */
export function notADirectory(path: string): CounterfoilError {
  return errorFor('STORE_IO', path, 'this is not a directory of its own; put one in its place')
}

/** ENOENT and its like; null for an error that is not the system's. */
export function systemCode(error: unknown): string | null {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException
  return typeof code === 'string' && typeof syscall === 'string' ? code : null
}

/** Nothing is there under that name, or not any more. */
export function isAbsent(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}
