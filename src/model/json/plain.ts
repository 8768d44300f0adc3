// What counts as plain data, and what a refusal says. Plain data is what comes back from JSON as it
// went in: anything else would make a replay see another value than the first execution saw.
import { CounterfoilError } from '../errors.ts'
import * as limits from '../limits.ts'

/** A value that JSON cannot carry; `path`, also in `details`, says where it sits: `$.a[3].b`. */
export class NotPlainDataError extends CounterfoilError {
  readonly path: string

  private readonly offence: Offence

  constructor(path: string, offence: Offence) {
    const [what, remedy] = offence
    super('NOT_PLAIN_DATA', `${path} is ${what}, which is not plain data: ${remedy}`, {
      details: { path },
    })
    this.path = path
    this.offence = offence
  }

  /** The same of a value that has a name: `$.a` is then `name.a`. */
  within(name: string): NotPlainDataError {
    return new NotPlainDataError(
      this.path.replace('$', () => name),
      this.offence,
    )
  }
}

export type Offence = readonly [what: string, remedy: string]

export const offences = {
  hole: ['a hole in an array', 'fill it with null'],
  accessor: ['a property with a getter or setter', 'copy its value into a plain object'],
  symbolKey: ['a property with a symbol as its key', 'use a string as the key'],
  arrayProperty: ['a named property of an array', 'use an object that holds it and the array'],
  toJson: ['an object with a toJSON method', 'call it and pass what it returns'],
  key: ['a property whose key has a lone surrogate', 'cut text between characters'],
  depth: [
    `nested more than ${limits.depthMax} levels deep`,
    'make it flatter, or keep it as one text',
  ],
} as const satisfies Record<string, Offence>

/** Why a value that is not an object is refused. */
export function scalarOffence(value: unknown): Offence {
  switch (typeof value) {
    case 'number':
      return [String(value), 'use null, or a string that names it']
    case 'bigint':
      return ['a BigInt', 'use a string']
    case 'string':
      return ['a string with a lone surrogate', 'cut text between characters']
    case 'function':
      return ['a function', 'pass data, and keep code in tools and nodes']
    case 'symbol':
      return ['a symbol', 'use a string']
    default:
      return ['undefined', 'use null']
  }
}

const boxed = 'use the primitive value'
const remedies = new Map([
  ['Date', 'use toISOString()'],
  ['Map', 'use Object.fromEntries(map) or [...map]'],
  ['Set', 'use [...set]'],
  ['RegExp', 'use its source, a string'],
  ['Number', boxed],
  ['String', boxed],
  ['Boolean', boxed],
  ['BigInt', boxed],
  ['Symbol', boxed],
])

/** Why an object that `isPlain` does not accept is refused. */
export function instanceOffence(value: object): Offence {
  const name = className(Object.getPrototypeOf(value))
  const what =
    name === undefined ? 'an object with a prototype of its own' : `an instance of ${name}`
  if (ArrayBuffer.isView(value)) return [what, 'use a string, such as the bytes in base64']
  const generic = 'toJSON' in value ? offences.toJson[1] : 'copy what you need into a plain object'
  return [what, remedies.get(name ?? '') ?? generic]
}

// Reads data properties only: a refusal must not run the code of the object that it refuses.
function className(proto: object | null): string | undefined {
  const ctor = proto === null ? undefined : ownData(proto, 'constructor')
  const name = typeof ctor === 'function' ? ownData(ctor, 'name') : undefined
  return typeof name === 'string' && name !== '' ? name : undefined
}

function ownData(holder: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(holder, key)?.value
}

/** Whether an object or array is one by its prototype, and not an instance of something else. */
export function isPlain(value: object): boolean {
  const proto: object | null = Object.getPrototypeOf(value)
  if (!Array.isArray(value)) return proto === null || isObjectPrototype(proto)
  if (proto === Array.prototype) return true
  // Array.prototype is itself an array in every realm; the prototype of a subclass is not.
  return Array.isArray(proto) && isObjectPrototype(Object.getPrototypeOf(proto))
}

// Another realm (a vm context, a test runner) has an Object.prototype of its own. It is recognised
// by its constructor: the source text of a native function cannot be imitated, and the property
// Object.prototype cannot be reassigned. "The chain ends here" would let in `class A extends null`.
const nativeObject = Function.prototype.toString.call(Object)

function isObjectPrototype(proto: object | null): boolean {
  if (proto === Object.prototype) return true
  const ctor = proto === null ? undefined : ownData(proto, 'constructor')
  if (typeof ctor !== 'function') return false
  return Function.prototype.toString.call(ctor) === nativeObject && ctor.prototype === proto
}

/** Whether it has a toJSON method, even a hidden one: JSON.stringify would write something else. */
export function hasToJson(value: object): boolean {
  if (!Object.hasOwn(value, 'toJSON')) return false
  const own = Object.getOwnPropertyDescriptor(value, 'toJSON')
  return own?.get !== undefined || typeof own?.value === 'function'
}

/** The last named property of an array, by its keys: indices come before all other keys. */
export function arrayExtra(keys: readonly string[], length: number): string | undefined {
  const last = keys.at(-1)
  if (last === undefined) return undefined
  const index = Number(last) >>> 0
  return index < length && String(index) === last ? undefined : last
}

// Keys come from users and may be of any length; a path is for reading.
const keyLengthMax = 100

/** One step of a path: `[3]`, `.name` or `["odd key"]`. */
export function segment(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`
  if (key.length > keyLengthMax) return `[${JSON.stringify(`${key.slice(0, keyLengthMax)}…`)}]`
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}
