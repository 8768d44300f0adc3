import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import vm from 'node:vm'
import canonicalize from 'canonicalize'
import { describe, expect, test } from 'vitest'
import {
  canonical,
  keptText,
  parseCanonical,
  plainCopy,
  sha256,
} from '../../src/model/json/canonical.ts'
import { depthMax } from '../../src/model/limits.ts'
import { fc } from '../seed.ts'

const deep = 100_000

function double(bits: bigint): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, bits)
  return view.getFloat64(0)
}

function nest(depth: number, wrap: (inner: unknown) => unknown, core: unknown): unknown {
  let value = core
  for (let i = 0; i < depth; i++) value = wrap(value)
  return value
}

describe('RFC 8785 vectors', () => {
  // Section 3.2.2, as it stands there.
  const sample = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`

  test('B2 the sample of sections 3.2.2 to 3.2.4, down to its bytes', () => {
    const text = canonical(JSON.parse(sample))
    expect(text).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    )
    expect(Buffer.from(text).toString('hex')).toBe(
      '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b33333333' +
        '33333333332e333333333333332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67' +
        '223a22e282ac245c75303030665c6e4127425c225c5c5c5c5c222f227d',
    )
  })

  test('B2 the order of keys of section 3.2.3', () => {
    const input = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    }
    expect(canonical(input)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control",' +
        '"\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign",' +
        '"\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    )
  })

  test.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
    ['7fffffffffffffff', undefined],
    ['7ff0000000000000', undefined],
  ])('B2 appendix B: %s is %s', (bits, text) => {
    const number = double(BigInt(`0x${bits}`))
    if (text === undefined) expect(() => canonical(number)).toThrow(/^\$ is (NaN|Infinity),/)
    else expect(canonical(number)).toBe(text)
  })
})

describe('text', () => {
  test.each([
    [2.2250738585072014e-308, '2.2250738585072014e-308'],
    [2.225073858507201e-308, '2.225073858507201e-308'],
    [1e21, '1e+21'],
    [1e21 - 2 ** 17, '999999999999999900000'],
    [123456789012345680000, '123456789012345680000'],
    [1e-6, '0.000001'],
    [1e-7, '1e-7'],
    [-1e-7, '-1e-7'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [2 ** 53, '9007199254740992'],
    [2 ** 53 + 2, '9007199254740994'],
    [-(2 ** 53) - 4, '-9007199254740996'],
    [0.1 + 0.2, '0.30000000000000004'],
    [5e-324, '5e-324'],
    [-0, '0'],
  ])('B2 the number %d', (number, text) => {
    expect(canonical([number])).toBe(`[${text}]`)
    expect(JSON.parse(canonical(number))).toBe(number === 0 ? 0 : number)
  })

  test('B2 10,000 doubles of random bits', () => {
    const bits = fc.noBias(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }))
    const check = fc.property(bits, (b) => {
      const number = double(b)
      if (Number.isFinite(number)) {
        expect(canonical(number)).toBe(JSON.stringify(number))
        expect(Number(canonical(number)) === number).toBe(true)
      } else {
        expect(() => canonical(number)).toThrow()
      }
    })
    fc.assert(check, { numRuns: 10_000 })
  })

  test('B2 keys are in the order of UTF-16 code units, not of code points', () => {
    // U+10000 is a surrogate pair, so it comes before U+FFFF although its code point is higher.
    expect(canonical({ '\uffff': 1, '\u{10000}': 2 })).toBe('{"\u{10000}":2,"\uffff":1}')
    expect(canonical({ b: 1, a: 2, 10: 3, 9: 4, aa: 5, '': 6, B: 7 })).toBe(
      '{"":6,"10":3,"9":4,"B":7,"a":2,"aa":5,"b":1}',
    )
  })

  test('B2 every UTF-16 code unit that is a character is escaped as JSON.stringify does', () => {
    for (let code = 0; code <= 0xffff; code++) {
      const text = `a${String.fromCharCode(code)}z`
      const isSurrogate = code >= 0xd800 && code <= 0xdfff
      if (isSurrogate) expect(() => canonical(text)).toThrow('$ is a string with a lone surrogate')
      // An expect for each of them takes seconds.
      else if (canonical(text) !== JSON.stringify(text)) throw new Error(`differs at ${code}`)
    }
  })

  test('B2 undefined and hidden properties are left out, wherever they stand', () => {
    const hidden = Object.defineProperty({ a: 1 }, '_request_id', { value: 'r1' })
    expect(canonical({ a: undefined })).toBe('{}')
    expect(canonical({ a: undefined, b: 1, c: undefined, d: 2, e: undefined })).toBe(
      '{"b":1,"d":2}',
    )
    expect(canonical(hidden)).toBe('{"a":1}')
  })

  test('B2 __proto__ and toJSON as data, null prototypes, shared references', () => {
    const shared = { x: [1] }
    expect(canonical(JSON.parse('{"__proto__":{"a":1},"b":2}'))).toBe('{"__proto__":{"a":1},"b":2}')
    expect(canonical({ toJSON: 'text', constructor: 1 })).toBe('{"constructor":1,"toJSON":"text"}')
    expect(canonical(Object.assign(Object.create(null), { b: 1, a: 2 }))).toBe('{"a":2,"b":1}')
    expect(canonical({ a: shared, b: [shared, shared.x] })).toBe(
      '{"a":{"x":[1]},"b":[{"x":[1]},[1]]}',
    )
    const below = nest(40, (inner) => [inner, shared, shared], shared)
    expect(canonical(below)).toBe(JSON.stringify(below))
  })

  test('B2 objects and arrays of another realm are plain', () => {
    const foreign = vm.runInNewContext('({ b: [1, { c: [] }], a: Object.create(null) })')
    expect(Object.getPrototypeOf(foreign)).not.toBe(Object.prototype)
    expect(canonical(foreign)).toBe('{"a":{},"b":[1,{"c":[]}]}')
  })

  test('B2 the input is not changed, and may be frozen', () => {
    const input = { b: [3, { d: 1, c: undefined }], a: 'x' }
    const before = structuredClone(input)
    canonical(input)
    expect(isDeepStrictEqual(input, before)).toBe(true)
    expect(Object.keys(input)).toEqual(['b', 'a'])
    expect(canonical(Object.freeze({ z: Object.freeze([1]), y: 2 }))).toBe('{"y":2,"z":[1]}')
  })

  test('B2 the hash is SHA-256 of the UTF-8 bytes, in hex', () => {
    expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    const text = canonical({ '€': '😀' })
    const bytes = Buffer.from(text, 'utf8')
    expect(sha256(text)).toBe(createHash('sha256').update(bytes).digest('hex'))
  })
})

describe('depth 100,000', () => {
  // toBe would spend minutes on the difference of two such texts.
  const same = (a: string, b: string) => expect(a === b).toBe(true)

  test('B2 arrays are written, hashed and read', () => {
    const text = canonical(nest(deep, (inner) => [inner], []))
    same(text, '['.repeat(deep + 1) + ']'.repeat(deep + 1))
    expect(sha256(text)).toHaveLength(64)
    same(canonical(parseCanonical(text)), text)
  })

  test('B2 objects are written, hashed and read', () => {
    const text = canonical(nest(deep, (inner) => ({ b: 1, a: inner }), null))
    same(text, `${'{"a":'.repeat(deep)}null${',"b":1}'.repeat(deep)}`)
    expect(sha256(text)).toHaveLength(64)
    same(canonical(parseCanonical(text)), text)
  })

  test('D9 a copy is frozen to the bottom', () => {
    const levels = depthMax / 2
    let level = plainCopy(nest(levels, (inner) => [{ a: inner }], 'core'))
    for (let i = 0; i < levels; i++) {
      const [object] = level as [{ a: unknown }]
      if (!Object.isFrozen(level) || !Object.isFrozen(object)) throw new Error(`not frozen at ${i}`)
      level = object.a
    }
    expect(level).toBe('core')
  })

  test('B2 D9 what is given to be kept nests no deeper than the limit, by its path', () => {
    const most = nest(depthMax, (inner) => ({ a: inner }), 1)
    expect(keptText(most)).toBe(canonical(most))
    const path = `$${'.a'.repeat(32)}…${'.a'.repeat(32)}`
    const says = `${path} is nested more than ${depthMax} levels deep`
    expect(() => keptText({ a: most })).toThrow(says)
    expect(() => plainCopy({ a: most })).toThrow(says)
  })

  test('D9 an array of a million members is copied', () => {
    expect(plainCopy(new Array(1_000_000).fill(0))).toHaveLength(1_000_000)
  })

  test('B2 a refusal at the bottom shows both ends of its path', () => {
    const value = nest(deep, (inner) => ({ a: inner }), Number.NaN)
    const path = `$${'.a'.repeat(32)}…${'.a'.repeat(32)}`
    expect(() => canonical(value)).toThrow(`${path} is NaN,`)
  })
})

class Point {
  x = 1
}
class Bare extends (null as unknown as typeof Object) {}
class Money {
  toJSON() {
    return '1 EUR'
  }
}
class List extends Array<number> {}

function hiding(value: object, key: string, property: PropertyDescriptor): object {
  return Object.defineProperty(value, key, { enumerable: true, configurable: true, ...property })
}

function fail(): never {
  throw new Error('a refusal must not run the code of what it refuses')
}

function sparse(): unknown[] {
  const array = [1, 2, 3]
  delete array[1]
  return array
}

const namedProperty = 'a named property of an array'
const ownPrototype = 'an object with a prototype of its own'
const lone = 'a string with a lone surrogate'
const accessor = 'a property with a getter or setter'
const symbolKey = 'a property with a symbol as its key'
const badKey = 'a property whose key has a lone surrogate'
const withToJson = 'an object with a toJSON method'

const refusals: [value: unknown, path: string, what: string][] = [
  [{ a: [0, 0, 0, { b: Number.NaN }] }, '$.a[3].b', 'NaN'],
  [[Number.POSITIVE_INFINITY], '$[0]', 'Infinity'],
  [{ 'odd key': Number.NEGATIVE_INFINITY }, '$["odd key"]', '-Infinity'],
  [undefined, '$', 'undefined'],
  [{ list: [1, undefined] }, '$.list[1]', 'undefined'],
  [{ n: 1n }, '$.n', 'a BigInt'],
  [() => 1, '$', 'a function'],
  [{ '': [class {}] }, '$[""][0]', 'a function'],
  [{ '1a': Symbol('s') }, '$["1a"]', 'a symbol'],
  [{ a: { [Symbol('s')]: 1 } }, '$.a[Symbol(s)]', symbolKey],
  [Object.assign([1], { [Symbol.iterator]: null }), '$[Symbol(Symbol.iterator)]', symbolKey],
  [['ok', 'cut \ud83d'], '$[1]', lone],
  [{ a: '\ude00 cut' }, '$.a', lone],
  [{ a: '\ude00\ud83d' }, '$.a', lone],
  [{ a: { 'k\ud800': 1 } }, '$.a["k\\ud800"]', badKey],
  [sparse(), '$[1]', 'a hole in an array'],
  [{ a: new Array(2) }, '$.a[0]', 'a hole in an array'],
  [Object.assign([1, 2], { total: 3 }), '$.total', namedProperty],
  [{ a: Object.assign([], { '-1': 3 }) }, '$.a["-1"]', namedProperty],
  [Object.assign([1, 2], { '01': 3 }), '$["01"]', namedProperty],
  [Object.assign([1, 2], { '4294967295': 3 }), '$["4294967295"]', namedProperty],
  [{ m: /a(?<g>.)/.exec('ab') }, '$.m.groups', namedProperty],
  [{ p: new Point() }, '$.p', 'an instance of Point'],
  [[Object.create({ inherited: 1 })], '$[0]', ownPrototype],
  [[Object.create(Object.create(null))], '$[0]', ownPrototype],
  [[Object.create({ constructor: Object })], '$[0]', 'an instance of Object'],
  [Object.create(Bare.prototype), '$', 'an instance of Bare'],
  [{ l: List.of(1, 2) }, '$.l', 'an instance of List'],
  [Object.setPrototypeOf([], null), '$', ownPrototype],
  [{ at: new Date(0) }, '$.at', 'an instance of Date'],
  [[new Map([[1, 2]])], '$[0]', 'an instance of Map'],
  [[new Set([1])], '$[0]', 'an instance of Set'],
  [{ re: /x/ }, '$.re', 'an instance of RegExp'],
  [{ e: new TypeError('no') }, '$.e', 'an instance of TypeError'],
  [{ u: new URL('http://a.b') }, '$.u', 'an instance of URL'],
  [{ p: Promise.resolve() }, '$.p', 'an instance of Promise'],
  [{ u8: new Uint8Array(2) }, '$.u8', 'an instance of Uint8Array'],
  [{ f: new Float64Array(2) }, '$.f', 'an instance of Float64Array'],
  [{ b: Buffer.from('x') }, '$.b', 'an instance of Buffer'],
  [new ArrayBuffer(1), '$', 'an instance of ArrayBuffer'],
  [[Object(1)], '$[0]', 'an instance of Number'],
  [[Object('s')], '$[0]', 'an instance of String'],
  [[Object(false)], '$[0]', 'an instance of Boolean'],
  [[Object(1n)], '$[0]', 'an instance of BigInt'],
  [[Object(Symbol('s'))], '$[0]', 'an instance of Symbol'],
  [hiding({ a: 1 }, 'b', { get: fail }), '$.b', accessor],
  [hiding({ a: 1 }, 'b', { set: fail }), '$.b', accessor],
  [hiding([1, 2], '1', { get: fail }), '$[1]', accessor],
  [{ m: new Money() }, '$.m', 'an instance of Money'],
  [{ m: { toJSON: fail } }, '$.m', withToJson],
  [{ m: hiding({}, 'toJSON', { value: fail, enumerable: false }) }, '$.m', withToJson],
  [{ m: hiding({}, 'toJSON', { get: fail, enumerable: false }) }, '$.m', withToJson],
  [[Math], '$[0][Symbol(Symbol.toStringTag)]', symbolKey],
  [vm.runInNewContext('({ d: new Date(0) })'), '$.d', 'an instance of Date'],
  [vm.runInNewContext('class A {}; [new A()]'), '$[0]', 'an instance of A'],
  [vm.runInNewContext('class A extends Array {}; [new A()]'), '$[0]', 'an instance of A'],
  [{ ['k'.repeat(200)]: 1n }, `$["${'k'.repeat(100)}…"]`, 'a BigInt'],
]

describe('refusals', () => {
  test.each(refusals.map(([value, path, what], i) => ({ i, value, path, what })))(
    'B2 D9 $path is $what',
    ({ value, path, what }) => {
      for (const use of [canonical, plainCopy]) {
        const error = thrownBy(() => use(value))
        expect(error).toMatchObject({
          name: 'NotPlainDataError',
          code: 'NOT_PLAIN_DATA',
          retryable: false,
          path,
          details: { path },
        })
        expect(error.message.startsWith(`${path} is ${what}, which is not plain data: `)).toBe(true)
      }
    },
  )

  test.each([
    [new Date(0), 'use toISOString()'],
    [new Map(), 'use Object.fromEntries(map) or [...map]'],
    [Buffer.from('x'), 'use a string, such as the bytes in base64'],
    [new Money(), 'call it and pass what it returns'],
    [new Point(), 'copy what you need into a plain object'],
    [Object(1), 'use the primitive value'],
    [undefined, 'use null'],
    [1n, 'use a string'],
  ])('B2 D9 %o: %s', (value, remedy) => {
    expect(thrownBy(() => canonical(value)).message.endsWith(`: ${remedy}`)).toBe(true)
  })

  test.each([0, 1, 15, 16, 17, 40])('B2 D9 a cycle back to depth %d', (target) => {
    const objects = Array.from({ length: 41 }, (_, i) => ({ id: i }) as { z?: unknown })
    for (const [i, object] of objects.entries()) object.z = objects[i + 1]
    const last = objects[40] as { z?: unknown }
    last.z = [objects[target]]
    const path = `$${'.z'.repeat(41)}[0]`
    for (const use of [canonical, plainCopy]) {
      expect(thrownBy(() => use(objects[0])).message).toBe(
        `${path} is a cycle, which is not plain data: ` +
          `it is $${'.z'.repeat(target)} again; use an id`,
      )
    }
  })

  test('B2 D9 an array that holds itself', () => {
    const array: unknown[] = [1]
    array.push(array)
    expect(() => canonical(array)).toThrow('$[1] is a cycle')
  })
})

function thrownBy(act: () => unknown): Error {
  try {
    act()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was refused')
}

// Strings of whole code points: a lone surrogate is refused, and canonicalize lets it through.
const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string())
const scalars = [
  text,
  fc.boolean(),
  fc.constant(null),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
]
const plain = fc.anything({ key: text, values: scalars, maxDepth: 5, maxKeys: 24 })

describe('generated values', () => {
  test('B2 10,000 agree with canonicalize, read back equal, and are stable', () => {
    let nested = 0
    const check = fc.property(plain, (value) => {
      const written = canonical(value)
      if (/[{[].*[{[]/.test(written)) nested++
      expect(written).toBe(canonicalize(value))
      expect(isDeepStrictEqual(JSON.parse(written), value)).toBe(true)
      expect(canonical(parseCanonical(written))).toBe(written)
    })
    fc.assert(check, { numRuns: 10_000 })
    expect(nested).toBeGreaterThan(1_000)
  })

  test('B2 objects of few and of many keys do not depend on the order of insertion', () => {
    const pairs = fc.uniqueArray(fc.tuple(text, fc.integer()), {
      maxLength: 60,
      size: 'max',
      selector: ([key]) => key,
    })
    const check = fc.property(pairs, fc.nat(), (entries, turn) => {
      const at = entries.length === 0 ? 0 : turn % entries.length
      const turned = [...entries.slice(at), ...entries.slice(0, at)].reverse()
      const written = canonical(Object.fromEntries(entries))
      expect(written).toBe(canonicalize(Object.fromEntries(entries)))
      expect(canonical(Object.fromEntries(turned))).toBe(written)
    })
    fc.assert(check, { numRuns: 2_000 })
  })

  test('D9 a copy equals its original, is frozen throughout, and shares nothing with it', () => {
    const check = fc.property(plain, (value) => {
      const copy = plainCopy(value)
      expect(canonical(copy)).toBe(canonical(value))
      expect(isDeepStrictEqual(copy, value)).toBe(true)
      const originals = new Set(objectsIn(value))
      for (const object of objectsIn(copy)) {
        expect(Object.isFrozen(object)).toBe(true)
        expect(originals.has(object)).toBe(false)
      }
    })
    fc.assert(check, { numRuns: 2_000 })
  })
})

function objectsIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return []
  return [value, ...Object.values(value).flatMap(objectsIn)]
}

describe('copies', () => {
  test('D9 what happens to the original later is not seen, and a change of the copy throws', () => {
    const original = { list: [{ n: 1 }], gone: undefined, zero: -0 }
    const copy = plainCopy(original)
    original.list.push({ n: 2 })
    expect(copy).toStrictEqual({ list: [{ n: 1 }], zero: 0 })
    expect(Object.isFrozen(original)).toBe(false)
    expect(() => copy.list.push({ n: 3 })).toThrow(TypeError)
    expect(() => Object.assign(copy.list[0] ?? {}, { n: 4 })).toThrow(TypeError)
  })

  test('D9 keys are in the order that a replay will see', () => {
    const copy = plainCopy({ b: 1, a: { d: 1, c: 2 } })
    expect(JSON.stringify(copy)).toBe(JSON.stringify(parseCanonical(canonical(copy))))
    expect(Object.keys(copy)).toEqual(['a', 'b'])
  })

  test('D9 __proto__ survives as data and changes no prototype', () => {
    const copy = plainCopy(JSON.parse('{"__proto__":{"admin":true}}'))
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(Object.hasOwn(copy, '__proto__')).toBe(true)
    expect(Object.isFrozen(Object.getOwnPropertyDescriptor(copy, '__proto__')?.value)).toBe(true)
    expect(copy.admin).toBe(undefined)
    expect(Object.isFrozen(Object.prototype)).toBe(false)
  })

  test('D9 scalars are their own copies', () => {
    for (const value of ['x', 1, true, null]) expect(plainCopy(value)).toBe(value)
  })
})
