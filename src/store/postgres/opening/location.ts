// Where the store is: a URL as `pg` takes it, with two parameters of our own.
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'

export interface Location {
  /** For the driver; it may hold a password. */
  readonly connectionString: string
  readonly schema: string
  readonly poolMax: number
  /** For people: without the password. */
  readonly url: string
}

const poolMaxDefault = 10
// With the channel's prefix it stays within the 63 bytes of a name.
const plainName = /^(?!pg_)[a-z_][a-z0-9_]{0,47}$/

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url)
}

export function locate(text: string): Location {
  const url = parse(text)
  const schema = url.searchParams.get('schema') ?? 'counterfoil'
  if (!plainName.test(schema)) {
    throw invalid(
      `schema ${JSON.stringify(schema)} is not usable: lower-case letters, digits and _, ` +
        'at most 48, not beginning with pg_',
    )
  }
  const pool = url.searchParams.get('pool') ?? String(poolMaxDefault)
  if (!/^[1-9]\d{0,3}$/.test(pool)) {
    throw invalid(`pool ${JSON.stringify(pool)} is not a number of connections`)
  }
  url.searchParams.delete('schema')
  url.searchParams.delete('pool')
  const connectionString = url.href
  url.password = ''
  for (const name of ['password', 'sslpassword']) url.searchParams.delete(name)
  if (schema !== 'counterfoil') url.searchParams.set('schema', schema)
  return { connectionString, schema, poolMax: Number(pool), url: url.href }
}

function parse(text: string): URL {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw invalid(`this is not a URL; say postgres://user:password@host:5432/database${coded}`)
  }
  // A password with / or # ends the host too early, and would be shown as the rest.
  if (url.hash === '' && !url.pathname.includes('@')) return url
  throw invalid(`there is an @ or a # after the host${coded}`)
}

const coded = '; in a password / is %2F, # is %23, ? is %3F and @ is %40'

/** The URL itself is not shown: it may hold a password. */
function invalid(says: string): CounterfoilError {
  return errorFor('STORE_URL_INVALID', `postgres: ${says}`)
}
