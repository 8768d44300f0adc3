// What the AI SDK passes around is not all plain data: dates, bytes, addresses, texts that were cut
// between two halves of a character. In the ledger each is an object with the key below; all that
// is plain already stays as it is, so that people can read it, and write it in a decision.
import { isWellFormed } from '../../model/json/canonical.ts'

const mark = '$counterfoil'

type Marked = { readonly [mark]: string; readonly value: unknown }

function marked(kind: string, value: unknown): Marked {
  return { [mark]: kind, value }
}

/** Plain data that `fromPlain` makes the same of; of instances it keeps what JSON would. */
export function toPlain(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
      if (isWellFormed(value)) return value
      return marked('utf16', Buffer.from(value, 'utf16le').toString('base64'))
    case 'number':
      return Number.isFinite(value) ? value : marked('number', String(value))
    case 'bigint':
      return marked('bigint', String(value))
    case 'object':
      return value === null ? null : plainObject(value)
    case 'boolean':
      return value
    default:
      return undefined
  }
}

function plainObject(value: object): unknown {
  if (Array.isArray(value)) return Array.from(value, (item) => toPlain(item) ?? null)
  if (value instanceof Date) {
    const time = value.getTime()
    return marked('date', Number.isNaN(time) ? null : value.toISOString())
  }
  if (value instanceof URL) return marked('url', value.href)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    const bytes = ArrayBuffer.isView(value)
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
      : Buffer.from(value)
    return marked('bytes', bytes.toString('base64'))
  }
  if (value instanceof Error) return { name: value.name, message: value.message }
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return toPlain(toJSON.call(value))
  const plain = Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, toPlain(item)] as const)
      .filter(([, item]) => item !== undefined),
  )
  return mark in plain ? marked('object', plain) : plain
}

/** The value that `toPlain` was given. */
export function fromPlain(plain: unknown): unknown {
  if (typeof plain !== 'object' || plain === null) return plain
  if (Array.isArray(plain)) return plain.map(fromPlain)
  if (!(mark in plain)) return members(plain)
  const { value } = plain as Marked
  switch (plain[mark]) {
    case 'utf16':
      return Buffer.from(String(value), 'base64').toString('utf16le')
    case 'number':
      return Number(value)
    case 'bigint':
      return BigInt(String(value))
    case 'date':
      return new Date(value === null ? Number.NaN : String(value))
    case 'url':
      return new URL(String(value))
    case 'bytes':
      return new Uint8Array(Buffer.from(String(value), 'base64'))
    case 'object':
      return members(value as object)
    default:
      return members(plain)
  }
}

function members(plain: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(plain).map(([key, item]) => [key, fromPlain(item)]))
}
