// JSON as the model's deltas take it, and back. State is kept with sorted keys and without halves
// of surrogate pairs; a host may have given its keys an order, and cut a text in the middle of a
// character. Both are written down here, so that a value comes back as the host's serialisation
// wrote it. The marks are characters that Unicode keeps for such use; a text of the user that
// begins with one is marked as well, so nothing can be mistaken.
import { isWellFormed } from '../../../model/json/canonical.ts'
import { isObject, isRecord, put } from '../../../model/run/state.ts'

/** Before a text that is written as the inside of a JSON string. */
const asEscaped = '\uFDD0'
/** The key that tells the order of the others: the number of a shape, or all keys. */
const orderKey = '\uFDD1'
/** The key of what is said as a change to another value: see `saver-relate.ts`. */
export const relatedKey = '\uFDD2'

const isMarked = /^[\uFDD0-\uFDD2]/
// Objects with more keys are mostly dictionaries, no two with the same: those hold their own order,
// which grows with them.
const shapeKeysMax = 16

type Shape = readonly string[]

/** Orders of keys that were seen, in the order in which they were. */
export class Shapes {
  readonly list: Shape[]
  readonly #numbers = new Map<string, number>()

  constructor(known: readonly Shape[] = []) {
    this.list = [...known]
    for (const [i, shape] of known.entries()) this.#numbers.set(JSON.stringify(shape), i)
  }

  numberOf(keys: Shape): number {
    const name = JSON.stringify(keys)
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#numbers.set(name, this.list.length)
    return this.list.push(keys) - 1
  }
}

/** Of what `JSON.parse` gave. */
export function encode(value: unknown, shapes: Shapes): unknown {
  if (typeof value === 'string') return encodeText(value)
  if (!isObject(value)) return value
  if (Array.isArray(value)) return value.map((item) => encode(item, shapes))
  const fields: Record<string, unknown> = {}
  const keys: string[] = []
  let isSorted = true
  for (const [key, member] of Object.entries(value)) {
    const name = encodeText(key)
    if (isSorted && keys.length > 0 && (keys.at(-1) as string) > name) isSorted = false
    keys.push(name)
    put(fields, name, encode(member, shapes))
  }
  if (!isSorted) fields[orderKey] = keys.length > shapeKeysMax ? keys : shapes.numberOf(keys)
  return fields
}

/** What `encode` was given. */
export function decode(value: unknown, shapes: readonly Shape[]): unknown {
  if (typeof value === 'string') return decodeText(value)
  if (!isObject(value)) return value
  if (Array.isArray(value)) return value.map((item) => decode(item, shapes))
  const fields: Record<string, unknown> = {}
  for (const key of keysOf(value as Record<string, unknown>, shapes)) {
    put(fields, decodeText(key), decode((value as Record<string, unknown>)[key], shapes))
  }
  return fields
}

function keysOf(value: Record<string, unknown>, shapes: readonly Shape[]): Shape {
  if (!Object.hasOwn(value, orderKey)) return Object.keys(value)
  const order = value[orderKey]
  const keys = Array.isArray(order) ? (order as Shape) : shapes[order as number]
  if (keys?.every((key) => Object.hasOwn(value, key))) return keys
  throw new Error('the order of its keys is not known')
}

function encodeText(text: string): string {
  if (isWellFormed(text) && !isMarked.test(text)) return text
  return asEscaped + JSON.stringify(text).slice(1, -1)
}

function decodeText(text: string): string {
  if (!text.startsWith(asEscaped)) return text
  return JSON.parse(`"${text.slice(asEscaped.length)}"`) as string
}

/** What stands under the key of related values, if it is one. */
export function relationIn(value: unknown): unknown {
  return isRecord(value) && Object.hasOwn(value, relatedKey) ? value[relatedKey] : undefined
}

/** Not a Buffer: that has a JSON of its own, so the next checkpoint would hold another value. */
export function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, 'base64'))
}
