// What went wrong with the file, in our words: a code, the file's name, and what to do.
import { CounterfoilError } from '../../../model/errors.ts'

interface Template {
  readonly says: string
  readonly retryable?: boolean
}

const templates = {
  STORE_BUSY: {
    says: 'another process has kept the database locked for 5 s; it is retried',
    retryable: true,
  },
  STORE_FULL: {
    says: 'the disk is full: nothing was written; free some space, it is retried',
    retryable: true,
  },
  STORE_IO: {
    says: 'the disk failed to read or write; look at the system log, it is retried',
    retryable: true,
  },
  STORE_READ_ONLY: {
    says: 'it cannot be written; give this user permission on the directory and the files in it',
  },
  STORE_NOT_A_DATABASE: {
    says: 'this is not a Counterfoil database; nothing was changed; name another file',
  },
  STORE_CORRUPT: {
    says: 'the database is damaged; stop its workers, keep it with its -wal, restore a backup',
  },
  STORE_CLOSED: { says: 'this store was closed; open it again' },
  STORE_PATH_MISSING: { says: 'its directory does not exist; create it first (mkdir -p)' },
  STORE_NEWER: {
    says: 'it was written by a newer Counterfoil; upgrade this installation; nothing was changed',
  },
  STORE_MIGRATION_CHANGED: {
    says: 'a migration that was applied to it has changed since; nothing was changed in the store',
  },
  STORE_NOT_DURABLE: { says: 'its settings or its disk can lose what was written' },
  STORE_NETWORK_FS: {
    says: 'it lies on a network file system; put it on a local disk',
  },
  STORE_KEY_MISSING: { says: 'its key is missing' },
  STORE_KEY_WRONG: { says: 'this is not the key it was written with' },
  STORE_KEY_EXPOSED: { says: 'others can read its key file' },
  STORE_FILE_MISSING: { says: 'the database is missing, its key is still there; put it back' },
  STORE_MOVED: { says: 'it has been moved or copied' },
  ROW_IMMUTABLE: { says: 'a final row cannot be rewritten' },
} as const satisfies Record<string, Template>

export type StoreErrorCode = keyof typeof templates

export function storeError(
  code: StoreErrorCode,
  path: string,
  more: { says?: string; cause?: unknown } = {},
): CounterfoilError {
  const template: Template = templates[code]
  return new CounterfoilError(code, `store ${path}: ${more.says ?? template.says}`, {
    retryable: template.retryable ?? false,
    details: { path },
    ...(more.cause === undefined ? {} : { cause: more.cause }),
  })
}

const byPrefix: readonly (readonly [string, StoreErrorCode])[] = [
  ['SQLITE_BUSY', 'STORE_BUSY'],
  ['SQLITE_LOCKED', 'STORE_BUSY'],
  ['SQLITE_FULL', 'STORE_FULL'],
  ['SQLITE_IOERR', 'STORE_IO'],
  ['SQLITE_READONLY', 'STORE_READ_ONLY'],
  ['SQLITE_CANTOPEN', 'STORE_READ_ONLY'],
  ['SQLITE_PERM', 'STORE_READ_ONLY'],
  ['SQLITE_NOTADB', 'STORE_NOT_A_DATABASE'],
  ['SQLITE_CORRUPT', 'STORE_CORRUPT'],
  ['SQLITE_CONSTRAINT', 'ROW_IMMUTABLE'],
]

// Our statements fit our tables, and our files their SQLite: these are others. Whatever else SQLite
// calls an error may be a passing one, and is not for us to judge.
const notOurs =
  /^(no such (table|column)|table \S+ has (no column named|\d+ columns)|unsupported file format)/

/** SQLite's error in our words; any other error as it is. */
export function translate(error: unknown, path: string): unknown {
  const code = sqliteCode(error)
  if (code === null) return error
  const { message } = error as Error
  if (code === 'SQLITE_ERROR' && notOurs.test(message)) {
    return storeError('STORE_CORRUPT', path, {
      says: `${templates.STORE_CORRUPT.says} (${message})`,
      cause: error,
    })
  }
  const found = byPrefix.find(([prefix]) => code.startsWith(prefix))
  if (found === undefined) return error
  const own = found[1] === 'ROW_IMMUTABLE' ? { says: message } : {}
  return storeError(found[1], path, { ...own, cause: error })
}

export function sqliteCode(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code
  return error instanceof Error && typeof code === 'string' && code.startsWith('SQLITE_')
    ? code
    : null
}
