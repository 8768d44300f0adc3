// What went wrong with the server, in our words: a code, which store, and what to do.
import { CounterfoilError } from '../../../model/errors.ts'

interface Template {
  readonly says: string
  readonly retryable?: boolean
}

const templates = {
  STORE_UNREACHABLE: {
    says: 'the server cannot be reached or does not answer; it is retried',
    retryable: true,
  },
  STORE_BUSY: {
    says: 'somebody else has locked a row or the server too long; it is retried',
    retryable: true,
  },
  STORE_FULL: {
    says: "the server's disk is full: nothing was written; free some space, it is retried",
    retryable: true,
  },
  STORE_IO: {
    says: 'the server failed to read, write or get memory; look at its log, it is retried',
    retryable: true,
  },
  STORE_CORRUPT: {
    says: 'the database is damaged; stop its workers, keep its files, restore a backup',
  },
  STORE_DENIED: { says: 'the server refused' },
  STORE_NOT_FOUND: { says: 'there is no such database; create it first (createdb)' },
  STORE_OUTDATED: { says: 'its tables are not those of this version' },
  STORE_CLOSED: { says: 'this store was closed; open it again' },
  STORE_NEWER: {
    says: 'it was written by a newer Counterfoil; upgrade this installation; nothing was changed',
  },
  STORE_MIGRATION_CHANGED: {
    says: 'a migration that was applied to it has changed since; nothing was changed in the store',
  },
  STORE_NOT_DURABLE: { says: 'its settings can lose what was written' },
  STORE_KEY_MISSING: { says: 'its key is missing' },
  STORE_KEY_WRONG: { says: 'this is not the key it was written with' },
  STORE_KEY_GIVEN: { says: 'its keys come from COUNTERFOIL_KEY (or `key`): rotate them there' },
  STORE_MOVED: { says: 'it was restored, copied or failed over' },
  STORE_UNFIT: { says: 'this server or database cannot be used' },
  ROW_IMMUTABLE: { says: 'a final row cannot be rewritten' },
  WORKER_DEAD: {
    says: 'the worker is not registered, has stopped or was declared dead; start a new one',
  },
  RETENTION_INVALID: { says: 'records of unsafe calls are kept for at least 14 days' },
} as const satisfies Record<string, Template>

export type StoreErrorCode = keyof typeof templates

export function storeError(
  code: StoreErrorCode,
  url: string,
  more: { says?: string; cause?: unknown; retryable?: boolean } = {},
): CounterfoilError {
  const template: Template = templates[code]
  return new CounterfoilError(code, `store ${url}: ${more.says ?? template.says}`, {
    retryable: more.retryable ?? template.retryable ?? false,
    details: { url },
    ...(more.cause === undefined ? {} : { cause: more.cause }),
  })
}

// By the beginning of the SQLSTATE; the first that fits counts.
const byState: readonly (readonly [string, StoreErrorCode])[] = [
  ['08', 'STORE_UNREACHABLE'],
  ['57P', 'STORE_UNREACHABLE'],
  // A standby, or a primary that has become one.
  ['25006', 'STORE_UNREACHABLE'],
  ['40', 'STORE_BUSY'],
  ['55P03', 'STORE_BUSY'],
  ['57014', 'STORE_BUSY'],
  ['25P0', 'STORE_BUSY'],
  ['53300', 'STORE_BUSY'],
  ['53100', 'STORE_FULL'],
  ['53', 'STORE_IO'],
  ['58', 'STORE_IO'],
  ['XX', 'STORE_CORRUPT'],
  ['28', 'STORE_DENIED'],
  ['42501', 'STORE_DENIED'],
  ['3D000', 'STORE_NOT_FOUND'],
  ['3F000', 'STORE_OUTDATED'],
  ['42P01', 'STORE_OUTDATED'],
  ['42883', 'STORE_OUTDATED'],
  ['23505', 'ROW_IMMUTABLE'],
  ['CF001', 'STORE_MOVED'],
  ['CF002', 'WORKER_DEAD'],
  ['CF003', 'RETENTION_INVALID'],
  ['CF004', 'STORE_UNFIT'],
]

// Where the server's own words say more than ours.
const quoted: readonly StoreErrorCode[] = [
  ...(['STORE_DENIED', 'STORE_NOT_FOUND', 'ROW_IMMUTABLE', 'STORE_UNFIT'] as const),
]
const advice: Partial<Record<StoreErrorCode, string>> = {
  STORE_DENIED: '; check user and password, or run `counterfoil db roles` as the owner',
  STORE_NOT_FOUND: '; create it first (createdb)',
  STORE_OUTDATED: 'its tables are not those of this version; run `counterfoil db migrate`',
}

/** An error of the driver in our words; one that is neither the server's nor the line's stays. */
export function translate(error: unknown, url: string): unknown {
  if (error instanceof CounterfoilError || !(error instanceof Error)) return error
  const state = sqlState(error)
  if (state === null) {
    const says = `the server cannot be reached or does not answer (${error.message}); it is retried`
    return storeError('STORE_UNREACHABLE', url, { says, cause: error })
  }
  if (state === 'P0001' && error.message.startsWith('row is final')) {
    return storeError('ROW_IMMUTABLE', url, { says: error.message, cause: error })
  }
  const code = byState.find(([beginning]) => state.startsWith(beginning))?.[1]
  if (code === undefined) return error
  const hint = advice[code]
  const says = quoted.includes(code) ? `${error.message}${hint ?? ''}` : hint
  return storeError(code, url, { ...(says === undefined ? {} : { says }), cause: error })
}

/** Five characters for an error that the server has sent; null for one of the line or driver. */
export function sqlState(error: unknown): string | null {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  const sent = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)
  return sent && severity !== undefined ? code : null
}

/** Whether the connection can be used again after this error. */
export function keepsConnection(error: unknown): boolean {
  return sqlState(error) !== null && (error as { severity?: string }).severity === 'ERROR'
}

// It is not there, it is there already, or it was prepared when a function answered otherwise.
const unprepared: readonly (string | null)[] = ['26000', '42P05', '0A000']

/** Whether a statement was refused, with nothing done, because of how it was prepared by name. */
export function isUnprepared(error: unknown): boolean {
  return keepsConnection(error) && unprepared.includes(sqlState(error))
}

/** Whether the server has said no: its transaction is taken back, for certain. */
export function isRefused(error: unknown): boolean {
  return keepsConnection(error instanceof CounterfoilError ? error.cause : error)
}
