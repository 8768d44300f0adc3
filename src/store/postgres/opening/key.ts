// The keys of the store: given from outside, known by their check values in the database.
import { givenKeys, KeysRefused } from '../../given-keys.ts'
import { createSealer, type Key, keyCheck, type Sealer } from '../../seal.ts'
import type { Columns } from '../tables.ts'
import { storeError } from './errors.ts'

const prefix = 'key_check:'

/** The database, as far as keys need it: the connection itself holds them. */
export interface KeyPlace {
  readonly url: string
  /** As it is written in SQL. */
  readonly schema: string
  query(text: string): Promise<Columns[]>
  call(name: string, values: unknown[]): Promise<Columns[]>
}

/** The check value of every key that rows may be signed with, by the key's id. */
async function readChecks(c: KeyPlace): Promise<Map<string, string>> {
  const rows = await c.query(
    `select name, value from ${c.schema}.meta where starts_with(name, '${prefix}') order by name`,
  )
  const entries = rows.map(({ name, value }) => [String(name).slice(prefix.length), String(value)])
  return new Map(entries as [string, string][])
}

/** Refused before anything is connected to: nothing can be read or written without one. */
export function requireKey(url: string, given: string | undefined): string {
  if (given !== undefined) return given
  const says =
    'its key is missing: set COUNTERFOIL_KEY to 64 hex digits, the same for every process that ' +
    'uses it. A new store gets a new one: openssl rand -hex 32'
  throw storeError('STORE_KEY_MISSING', url, { says })
}

export class Keys {
  readonly sealer: Sealer
  private readonly c: KeyPlace
  private readonly own: ReadonlySet<string>
  /** Keys of the store that this process was not given. */
  private readonly strangers = new Set<string>()

  constructor(c: KeyPlace, keys: readonly Key[]) {
    this.c = c
    this.own = new Set(keys.map((key) => key.id))
    this.sealer = createSealer(keys, { given: true, find: (id) => this.find(id) })
  }

  /**
   * Before rows are verified: a key that nobody knew when the store was opened may have been added
   * since, and that has to be asked for.
   */
  async meet(rows: readonly Columns[]): Promise<void> {
    if (!rows.some((row) => this.isNew(row))) return
    for (const id of (await readChecks(this.c)).keys()) {
      if (!this.own.has(id)) this.strangers.add(id)
    }
  }

  private isNew({ mac }: Columns): boolean {
    const id = typeof mac === 'string' ? mac.slice(0, mac.indexOf(':')) : ''
    return id !== '' && !this.own.has(id) && !this.strangers.has(id)
  }

  /** A key that this process does not have is no forgery: nothing is said of the row. */
  private find(id: string): readonly Key[] {
    if (!this.strangers.has(id)) return []
    const says =
      `a row is signed with key ${id}, which this process does not have: it was opened with ` +
      'other keys; give this one as well'
    throw storeError('STORE_KEY_MISSING', this.c.url, { says, retryable: true })
  }
}

export async function openKeys(c: KeyPlace, given: string): Promise<Keys> {
  const checks = await readChecks(c)
  const keys = parse(c.url, given, checks)
  const have = new Set(keys.map((key) => key.id))
  const lacking = [...checks.keys()].filter((id) => !have.has(id))
  if (lacking.length > 0) {
    const says =
      `its key ${lacking.join(', ')} is missing from what was given; nothing was changed; give ` +
      'all its keys, separated by commas, the newest last. Without them no record can be trusted'
    throw storeError('STORE_KEY_MISSING', c.url, { says })
  }
  // Before any row is signed with it: a row whose key has no check value is forged.
  for (const key of keys) {
    if (!checks.has(key.id)) await c.call('add_key_check', [key.id, keyCheck(key)])
  }
  return new Keys(c, keys)
}

function parse(url: string, given: string, checks: ReadonlyMap<string, string>): Key[] {
  try {
    return givenKeys(given, checks)
  } catch (error) {
    if (!(error instanceof KeysRefused)) throw error
    throw storeError('STORE_KEY_WRONG', url, { says: error.message })
  }
}
