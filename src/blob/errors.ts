// What went wrong with a blob, in our words: a code, the offender, and what to do.
import { CounterfoilError } from '../model/errors.ts'

export function blobInvalid(digest: unknown): CounterfoilError {
  const shown = JSON.stringify(digest)?.slice(0, 100)
  return new CounterfoilError(
    'BLOB_INVALID',
    `${shown} is not a blob's digest (64 hex digits); the row that holds it was not written by ` +
      'Counterfoil: look at it',
    { details: { digest } },
  )
}

export function blobMissing(digest: string, url: string): CounterfoilError {
  return new CounterfoilError(
    'BLOB_MISSING',
    `blob ${digest} is not in ${url}; restore it from a backup of that place`,
    { details: { digest, url } },
  )
}

export function blobDamaged(digest: string, path: string, why: string): CounterfoilError {
  return new CounterfoilError(
    'BLOB_DAMAGED',
    `blob ${digest} is damaged: ${why}; restore ${path} from a backup`,
    { details: { digest, path } },
  )
}

const full = ['ENOSPC', 'EDQUOT']

/** The system's error in our words; any other error as it is. */
export function diskError(error: unknown, dir: string): unknown {
  const code = systemCode(error)
  if (code === null) return error
  const path = (error as NodeJS.ErrnoException).path ?? dir
  if (full.includes(code)) {
    const message = `blobs ${path}: the disk is full; free some space, it is retried`
    return new CounterfoilError('STORE_FULL', message, of(path, error))
  }
  const message = `blobs ${path}: ${code}: the disk refused; check the permissions and the log`
  return new CounterfoilError('STORE_IO', `${message}, it is retried`, of(path, error))
}

/** A link in the tree would lead what is written to somewhere else. */
export function notADirectory(path: string): CounterfoilError {
  const message = `blobs ${path}: this is not a directory of its own; put one in its place`
  return new CounterfoilError('STORE_IO', message, of(path))
}

function of(path: string, cause?: unknown) {
  return { retryable: true, details: { path }, cause }
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
