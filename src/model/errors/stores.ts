// Errors about stores and what they hold: rows, blobs, threads, keys.
import { inWords, type Wordings } from './said.ts'

/**
 * What an open store of SQLite or Postgres says in words of its own, which name its file or its
 * server: src/store/sqlite/opening/errors.ts, src/store/postgres/opening/errors.ts.
 */
export const storesOwnCodes = [
  'STORE_DENIED',
  'STORE_FILE_MISSING',
  'STORE_KEY_EXPOSED',
  'STORE_KEY_WRONG',
  'STORE_MIGRATION_CHANGED',
  'STORE_NETWORK_FS',
  'STORE_NEWER',
  'STORE_NOT_A_DATABASE',
  'STORE_NOT_DURABLE',
  'STORE_OUTDATED',
  'STORE_PATH_MISSING',
  'STORE_READ_ONLY',
  'STORE_UNFIT',
  'STORE_UNREACHABLE',
] as const

export const storeErrors = {
  OPEN_INVALID: (what: string) => ({ message: `open: ${what}` }),
  RETENTION_INVALID: inWords,
  STORE_URL_INVALID: (what: string) => ({ message: `store ${what}` }),
  STORE_NOT_FOUND: (path: string, { isEmpty, hint }: { isEmpty: boolean; hint: string }) => ({
    message:
      `${isEmpty ? 'there is nothing in the file' : 'there is no store at'} ${path}; ` +
      `nothing was created. ${hint}`,
    details: { path },
  }),
  STORE_PORT_MISSING: (
    url: string,
    port: string,
    { methods, use }: { methods: readonly string[]; use: string },
  ) => ({
    message:
      `store ${url} has no port \`${port}\` (${methods.join(', ')}): ${use}. ` +
      'Add it to the store, or open one that has it: sqlite:, postgres:// or memory:',
    details: { port },
  }),
  STORE_DRIVER_MISSING: (cause: unknown) => ({
    message: 'store postgres: the package `pg` is not installed; run: npm install pg',
    cause,
  }),
  STORE_ROLE_INVALID: (name: string, why: string) => ({
    message: `role ${JSON.stringify(name)} is not usable: ${why}`,
    details: { name },
  }),
  STORE_KEY_MISSING: (path: string, id: string, why: string, cause?: unknown) => ({
    message:
      `store ${path}: a row is signed with key ${id}, which this process does not ` +
      `have: ${why}`,
    retryable: true,
    details: { path, id },
    cause,
  }),
  STORE_KEY_GIVEN: (path: string, why: string) => ({
    message: `store ${path}: ${why}`,
    details: { path },
  }),
  STORE_CLOSED: (whose: string) => ({ message: `${whose}: this store was closed; open it again` }),
  STORE_MOVED: (why: string) => ({ message: why }),
  STORE_BUSY: (runId: string, namespace: string, times: number) => ({
    message: `run ${runId} has changed ${times} times while its large values were written; retry`,
    retryable: true,
    details: { runId, namespace },
  }),
  STORE_FULL: (path: string, cause: unknown) => ({
    message: `blobs ${path}: the disk is full; free some space, it is retried`,
    retryable: true,
    details: { path },
    cause,
  }),
  STORE_IO: (path: string, why: string, cause?: unknown) => ({
    message: `blobs ${path}: ${why}`,
    retryable: true,
    details: { path },
    cause,
  }),
  STORE_CORRUPT: (what: string, cause: Error) => ({
    message: `${what} cannot be read: ${cause.message}; the database is damaged, restore a backup`,
    cause,
  }),
  BLOB_INVALID: (digest: unknown) => ({
    message:
      `${JSON.stringify(digest)?.slice(0, 100)} is not a blob's digest (64 hex digits); the row ` +
      'that holds it was not written by Counterfoil: look at it',
    details: { digest },
  }),
  BLOB_MISSING: (digest: string, url: string) => ({
    message: `blob ${digest} is not in ${url}; restore it from a backup of that place`,
    details: { digest, url },
  }),
  BLOB_DAMAGED: (digest: string, path: string, why: string) => ({
    message: `blob ${digest} is damaged: ${why}; restore ${path} from a backup`,
    details: { digest, path },
  }),
  ROW_IMMUTABLE: (id: string) => ({ message: `${id} is final and cannot be rewritten` }),
  WRITE_REFUSED: (runId: string, why: string) => ({
    message: `run ${runId}: write refused: ${why}`,
    details: { runId },
  }),
  CURSOR_INVALID: (cursor: unknown) => ({
    message: `cursor ${JSON.stringify(cursor)} was not given by this list; begin again without one`,
    details: { cursor },
  }),
  THREAD_INVALID: (what: string) => ({ message: `threads: ${what}` }),
} as const satisfies Wordings
