// Canonical JSON (RFC 8785), its hash, and frozen copies of plain data. Nothing here recurses: how
// deep data may nest must not depend on how much stack happens to be left.
import { hash } from 'node:crypto'
import * as limits from '../limits.ts'
import {
  arrayExtra,
  hasToJson,
  instanceOffence,
  isPlain,
  NotPlainDataError,
  type Offence,
  offences,
  scalarOffence,
  segment,
} from './plain.ts'

export { NotPlainDataError } from './plain.ts'

/**
 * The RFC 8785 text of plain data; anything else is refused with its path. As in JSON, a property
 * is left out if it is `undefined` (`{ a: undefined }` is the same input as `{}`) or not enumerable
 * (SDKs hide request ids on plain results that way), and -0 is 0.
 */
export function canonical(value: unknown): string {
  return written(value, new Walk())
}

/** The same of what a user gives us to keep: it may not nest so deep that nobody can read it. */
export function keptText(value: unknown): string {
  return written(value, new Walk('$', limits.depthMax))
}

function written(value: unknown, walk: Walk): string {
  let out = ''
  let item = value
  for (;;) {
    out += typeof item === 'object' && item !== null ? walk.enter(item) : walk.scalar(item)
    let frame = walk.top
    while (frame !== undefined && !walk.advance(frame)) {
      out += frame.keys === undefined ? ']' : '}'
      frame = walk.leave(frame)
    }
    if (frame === undefined) return out
    out += frame.lead
    item = frame.item
  }
}

/** SHA-256 of the UTF-8 bytes of a text, in hex unless told. */
export function sha256(text: string, encoding: 'hex' | 'base64url' = 'hex'): string {
  return hash('sha256', text, encoding)
}

/**
 * Reads what `canonical` wrote, however deep: V8's JSON.parse keeps its stack on the heap, and
 * makes `__proto__` an own property like any other. Both are tested: no standard promises depth.
 */
export function parseCanonical(text: string): unknown {
  return JSON.parse(text)
}

/**
 * A deep-frozen copy of plain data, with the refusals of `keptText`. It goes through the canonical
 * text, so a node is given the first time exactly what a replay gives it, order of keys included.
 */
export function plainCopy<T>(value: T): T {
  return freezeDeep(parseCanonical(keptText(value))) as T
}

// Only for trees that nobody else holds, such as parsed text.
function freezeDeep(root: unknown): unknown {
  const rest = [root]
  while (rest.length > 0) {
    const item = rest.pop()
    if (typeof item !== 'object' || item === null) continue
    Object.freeze(item)
    for (const member of Object.values(item)) rest.push(member)
  }
  return root
}

/** An object, or an array (`keys` is undefined), whose members are being written. */
export interface Frame {
  readonly holder: object
  readonly keys: readonly string[] | undefined
  readonly length: number
  at: number
  comma: '' | ','
  // What goes before `item`, the value of the member that `at` points to.
  lead: string
  item: unknown
}

// This many ancestors are compared one by one, which for the shallow data of an ordinary call is
// cheaper than a set; those below are in a set, so that the work stays linear in deep data.
const scanDepth = 16

// A path is for reading: of a longer one only the two ends are shown.
const pathDepthMax = 64

/** The way from the root to the value in work. Cycles are found on it, and paths of refusals. */
export class Walk {
  top: Frame | undefined
  readonly #root: string
  readonly #depthMax: number
  readonly #open: Frame[] = []
  #deep: Set<object> | undefined

  constructor(root = '$', depthMax = Number.POSITIVE_INFINITY) {
    this.#root = root
    this.#depthMax = depthMax
  }

  // Begins an object or array; gives the text that opens it.
  enter(holder: object): string {
    const again = this.#depthOf(holder)
    if (again >= 0) this.#refuse(['a cycle', `it is ${this.#path(again)} again; use an id`])
    if (!isPlain(holder)) this.#refuse(instanceOffence(holder))
    if (this.#open.length >= this.#depthMax) this.#refuse(offences.depth)
    const symbol = Object.getOwnPropertySymbols(holder)[0]
    if (symbol !== undefined) this.#refuse(offences.symbolKey, `[${String(symbol)}]`)
    if (hasToJson(holder)) this.#refuse(offences.toJson)
    if (this.#open.length >= scanDepth) {
      this.#deep ??= new Set()
      this.#deep.add(holder)
    }
    const keys = Object.keys(holder)
    if (!Array.isArray(holder)) return this.#push(holder, sorted(keys), keys.length)
    const extra = arrayExtra(keys, holder.length)
    if (extra !== undefined) this.#refuse(offences.arrayProperty, segment(extra))
    return this.#push(holder, undefined, holder.length)
  }

  #push(holder: object, keys: readonly string[] | undefined, length: number): string {
    this.top = { holder, keys, length, at: -1, comma: '', lead: '', item: undefined }
    this.#open.push(this.top)
    return keys === undefined ? '[' : '{'
  }

  leave(frame: Frame): Frame | undefined {
    this.#open.pop()
    if (this.#open.length >= scanDepth) this.#deep?.delete(frame.holder)
    this.top = this.#open.at(-1)
    return this.top
  }

  // Goes to the next member that has a text; false if there is none.
  advance(frame: Frame): boolean {
    while (++frame.at < frame.length) {
      const key = frame.keys?.[frame.at] ?? frame.at
      // Reading by descriptor never runs the user's code, and tells a hole from an undefined.
      const property = Object.getOwnPropertyDescriptor(frame.holder, key)
      if (property?.get || property?.set) this.#refuse(offences.accessor)
      frame.item = property?.value
      if (typeof key === 'number') {
        if (property === undefined) this.#refuse(offences.hole)
        frame.lead = frame.comma
      } else {
        if (frame.item === undefined) continue
        frame.lead = `${frame.comma + (quote(key) ?? this.#refuse(offences.key))}:`
      }
      frame.comma = ','
      return true
    }
    return false
  }

  scalar(value: unknown): string {
    switch (typeof value) {
      case 'string':
        return quote(value) ?? this.#refuse(scalarOffence(value))
      case 'number':
        // Number::toString is the format that the RFC prescribes; it writes -0 as 0.
        return Number.isFinite(value) ? String(value) : this.#refuse(scalarOffence(value))
      case 'boolean':
        return value ? 'true' : 'false'
      default:
        return value === null ? 'null' : this.#refuse(scalarOffence(value))
    }
  }

  #depthOf(holder: object): number {
    const scanned = Math.min(this.#open.length, scanDepth)
    for (let i = 0; i < scanned; i++) if (this.#open[i]?.holder === holder) return i
    return this.#deep?.has(holder) ? this.#open.findIndex((frame) => frame.holder === holder) : -1
  }

  #path(depth: number): string {
    const steps = this.#open.slice(0, depth).map((f) => segment(f.keys?.[f.at] ?? f.at))
    if (depth > pathDepthMax) steps.splice(pathDepthMax / 2, depth - pathDepthMax, '…')
    return this.#root + steps.join('')
  }

  #refuse(offence: Offence, tail = ''): never {
    throw new NotPlainDataError(this.#path(this.#open.length) + tail, offence)
  }
}

// Strings without these characters are their own JSON. The test is several times faster than
// JSON.stringify, and nearly every key and most values pass it.
const needsCare = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

// undefined for a lone surrogate: JSON.stringify would escape it, but UTF-8 has no place for it.
function quote(text: string): string | undefined {
  if (!needsCare.test(text)) return `"${text}"`
  return isWellFormed(text) ? JSON.stringify(text) : undefined
}

// In Node since 20; the types of this TypeScript target do not have it yet.
export function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed()
}

// By UTF-16 code units, which is what both < and sort() compare. Insertion is three times faster
// than sort() for the few keys that most objects have.
function sorted(keys: string[]): string[] {
  if (keys.length > 16) return keys.sort()
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string
    let j = i
    for (; j > 0 && (keys[j - 1] as string) > key; j--) keys[j] = keys[j - 1] as string
    keys[j] = key
  }
  return keys
}

/** The text as a store gives it back: a half of a surrogate pair becomes U+FFFD. */
export function wellFormed(text: string): string {
  return Buffer.from(text).toString()
}
