import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { canonical, parseCanonical } from '../../src/model/json/canonical.ts'
import { applyDelta, costOf, diff, patched } from '../../src/model/run/delta.ts'
import { absorb, weightOf } from '../../src/model/run/state.ts'
import { fc } from '../seed.ts'

const deep = 10_000

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 6 }), fc.string({ maxLength: 6 }))
const key = fc.oneof(text, fc.constantFrom('__proto__', 'toString', '10', '9', '', 'a', 'b', 'c'))
const values = [text, fc.boolean(), fc.constant(null), fc.integer({ min: -9, max: 99 })]
// Values that look like deltas: 0, [value], [n, …], objects of these.
const lookalike = fc.constantFrom(0, [0], [[1]], [0, [1]], [1, -1, ['x']], { a: 0 }, { a: ['x'] })
const plain = fc.oneof(fc.anything({ key, values, maxDepth: 4, maxKeys: 5 }), lookalike)

interface Edit {
  path: number[]
  op: number
  value: unknown
}

const edit = fc.record({
  path: fc.array(fc.nat(9), { maxLength: 4 }),
  op: fc.nat(8),
  value: plain,
})

// What the code of a node does to a state: copies on the way, and shares the rest.
function edited(root: unknown, { path, op, value }: Edit): unknown {
  if (typeof root === 'string') return op < 5 ? `${root}tail😀` : value
  if (typeof root !== 'object' || root === null) return value
  const keys = Object.keys(root)
  const at = path[0] ?? 0
  const name = keys[at % Math.max(1, keys.length)]
  if (path.length > 1 && name !== undefined) {
    const rest = { path: path.slice(1), op, value }
    if (Array.isArray(root)) return root.with(Number(name), edited(root[Number(name)], rest))
    return { ...root, [name]: edited((root as Record<string, unknown>)[name], rest) }
  }
  if (op === 0) return structuredClone(root)
  if (!Array.isArray(root)) {
    if (op < 4) return { ...root, [`k${at}`]: value }
    return Object.fromEntries(Object.entries(root).filter((_, i) => i !== at % 3))
  }
  if (op === 1) return [...root, value]
  if (op === 2) return [value, ...root]
  if (op === 3) return [...root.slice(1), value]
  if (op === 4) return root.filter((_, i) => i % 3 !== at % 3)
  if (op === 5) return root.toSpliced(at, 1, value)
  if (op === 6) return root.map((item) => (typeof item === 'number' ? item + 1 : item))
  return op === 7 ? root.toReversed() : [...root.slice(0, -1), value, value]
}

function bytes(value: unknown): number {
  return Buffer.byteLength(canonical(value))
}

function check(a: unknown, b: unknown): void {
  const delta = diff(a, b)
  expect(delta === null).toBe(isDeepStrictEqual(absorb(a), absorb(b)))
  const stored = parseCanonical(canonical(delta))
  const after = applyDelta(a, stored)
  expect(isDeepStrictEqual(after, absorb(b))).toBe(true)
  expect(canonical(after)).toBe(canonical(b))
  expect(JSON.stringify(after)).toBe(JSON.stringify(absorb(b)))
  if (delta !== null) expect(bytes(delta)).toBeLessThanOrEqual(bytes([b]))
}

describe('any two states', () => {
  test('D10 the delta of two values gives the second, and is no longer than it', () => {
    fc.assert(fc.property(plain, plain, check), { numRuns: 3_000 })
  })

  test('D10 the deltas of edits give every state, one by one and in place', () => {
    let structural = 0
    const property = fc.property(
      fc.dictionary(key, plain, { maxKeys: 6 }),
      fc.array(edit, { minLength: 1, maxLength: 8 }),
      (first, edits) => {
        let state: unknown = absorb(first)
        let draft: unknown = state
        for (const each of edits) {
          const next = absorb(edited(state, each))
          check(state, next)
          const delta = diff(state, next)
          if (delta !== null && !(Array.isArray(delta) && delta.length === 1)) structural++
          draft = patched(draft, absorb(delta))
          state = next
        }
        expect(canonical(absorb(draft))).toBe(canonical(state))
      },
    )
    fc.assert(property, { numRuns: 3_000 })
    expect(structural).toBeGreaterThan(3_000)
  })

  test('D10 in-place application leaves the frozen state as it was', () => {
    const first = absorb({ list: [1, { a: [2] }], text: 'x' })
    const before = canonical(first)
    const second = absorb({ list: [1, { a: [2, 3] }, 4], text: 'xy' })
    const draft = patched(first, diff(first, second))
    patched(draft, diff(second, { list: [], text: '' }))
    expect(canonical(first)).toBe(before)
    expect(canonical(second)).toBe('{"list":[1,{"a":[2,3]},4],"text":"xy"}')
  })
})

const big = 'a sentence that is long enough to be worth a delta of its own'
const item = (n: number, extra: object = {}) => ({ id: `id-${n}`, body: big, n, ...extra })
const items = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => item(from + i))

describe('forms', () => {
  test.each<[string, unknown, unknown, unknown]>([
    ['nothing', { a: [1, { b: 'x' }] }, { a: [1, { b: 'x' }] }, null],
    ['a scalar', { a: 1, b: big }, { a: 2, b: big }, { a: [2] }],
    ['another type', { a: [1], b: big }, { a: { 0: 1 }, b: big }, { a: [{ 0: 1 }] }],
    ['a new and a removed key', { a: 1, b: big }, { c: null, b: big }, { a: 0, c: [null] }],
    ['a string that grew', { a: big, b: 1 }, { a: `${big}!"😀`, b: 1 }, { a: '!"😀' }],
    ['a string that shrank', { a: 'xyz', b: big }, { a: 'xy', b: big }, { a: ['xy'] }],
    ['a tail', items(0, 5), items(0, 6), [5, [item(5)]]],
    ['a tail cut off', items(0, 5), items(0, 3), [3, -2]],
    ['a new first member', items(1, 5), items(0, 5), [0, [item(0)]]],
    ['a member removed', items(0, 5), items(0, 5).toSpliced(2, 1), [2, -1]],
    [
      'a member exchanged',
      items(0, 5),
      items(0, 5).with(2, item(9)),
      [2, 0, { id: ['id-9'], n: [9] }],
    ],
    ['a small member exchanged', [1, 2, 3, 4, 5, 6], [1, 2, 3, 9, 5, 6], [3, -1, [9]]],
    ['a window that slides', items(0, 5), items(2, 7), [0, -2, 3, items(5, 7)]],
    ['a newest-first window', items(2, 7), items(0, 5), [0, items(0, 2), 3, -2]],
    ['a filter', items(0, 6), [item(0), item(2), item(5)], [1, -1, 1, -2]],
    ['a member moved to the end', items(0, 4), [...items(1, 4), item(0)], [0, -1, 3, [item(0)]]],
    ['lists of lists', [big, [[1, 2], big]], [big, [[1, 2, 3], big]], [1, 0, [0, -1, [[1, 2, 3]]]]],
    [
      'longer ones',
      [1, [items(0, 2), big]],
      [1, [items(0, 3), big]],
      [1, 0, [0, 0, [2, [item(2)]]]],
    ],
    ['the whole', { a: 1, b: 2 }, { c: 3 }, [{ c: 3 }]],
    ['a tie: the part', { a: 1 }, { a: 2 }, { a: [2] }],
    ['a scalar state', 1, 'x', ['x']],
  ])('D10 %s', (_, before, after, wanted) => {
    expect(diff(before, after)).toEqual(wanted)
    check(before, after)
  })

  test('D10 members that changed and a new tail cost what changed', () => {
    const before = items(0, 5)
    const after = [...items(0, 4), item(4, { done: true }), item(5)]
    expect(diff(before, after)).toEqual([4, 0, { done: [true] }, [item(5)]])
  })

  test('D10 a key that is inherited is not taken for one that is there', () => {
    const [odd, even] = [JSON.parse('{"__proto__":{}}'), { abcdefghi: {} }]
    check([1, odd], [even])
    check([1, even], [odd])
    check({ toString: 1 }, { valueOf: 1 })
  })

  test('D10 what was rebuilt without a change is no change', () => {
    const before = absorb({ list: items(0, 50) })
    expect(diff(before, structuredClone(before))).toBe(null)
    expect(diff(before, { list: [...structuredClone(before.list), item(50)] })).toEqual({
      list: [50, [item(50)]],
    })
  })

  test('D10 a user object that looks like a delta is not taken for one', () => {
    for (const odd of [0, '', 'tail', [1], [[1]], [0, -1], { a: 0 }, { a: [1] }, [0, 0, 'x']]) {
      check({ a: big }, { a: odd })
      check({ a: odd }, { a: big })
      check([odd], [odd, odd])
      check({ a: odd, b: big }, { a: [odd], b: big })
    }
  })
})

describe('sharing and depth', () => {
  test('D10 what did not change is the same object afterwards, and all is frozen', () => {
    const before = absorb({ messages: items(0, 3), plan: { steps: [1] }, memory: { a: [1] } })
    const after = absorb({
      ...before,
      messages: [...before.messages, item(3)],
      plan: { steps: [] },
    })
    const applied = applyDelta(before, diff(before, after)) as typeof before
    expect(applied).toStrictEqual(after)
    expect(applied.memory).toBe(before.memory)
    for (const [i, old] of before.messages.entries()) expect(applied.messages[i]).toBe(old)
    expect(() => applied.messages.push(item(4))).toThrow(TypeError)
    expect(() => applied.plan.steps.push(1)).toThrow(TypeError)
    expect(applyDelta(before, null)).toBe(before)
  })

  test('D10 parts identical by reference are not walked', () => {
    const before = absorb({ part: { list: items(0, 9) }, n: 1 })
    const look = vi.spyOn(Object, 'keys')
    const delta = diff(before, absorb({ ...before, n: 2 }))
    const walked = look.mock.calls.map(([object]) => object)
    look.mockRestore()
    expect(delta).toEqual({ n: [2] })
    expect(walked).toContain(before)
    expect(walked).not.toContain(before.part)
  })

  test(`D10 ${deep} levels: a change at the bottom is found and applied`, () => {
    const nest = (core: unknown, wrap: (inner: unknown) => unknown) => {
      let value = core
      for (let i = 0; i < deep; i++) value = wrap(value)
      return absorb(value)
    }
    const wraps = [
      (inner: unknown) => ({ a: inner, b: big }),
      (inner: unknown) => [big, inner],
      (inner: unknown) => [inner, big],
    ]
    for (const wrap of wraps) {
      const [before, after] = [nest([1, 2], wrap), nest([1, 3], wrap)]
      const delta = diff(before, after)
      expect(bytes(delta)).toBeLessThan(deep * 12)
      expect(canonical(applyDelta(before, delta)) === canonical(after)).toBe(true)
      expect(diff(after, nest([1, 3], wrap))).toBe(null)
    }
  })

  test('D10 a list of 100,000 that grows by one costs one', () => {
    const list = absorb(Array.from({ length: 100_000 }, (_, i) => ({ i })))
    const after = absorb([...list, { i: -1 }])
    expect(canonical(diff(list, after))).toBe('[100000,[{"i":-1}]]')
    expect(costOf(diff(list, after))).toBe(weightOf(after) - weightOf(list))
  })
})

describe('a delta that does not fit', () => {
  test.each<[unknown, unknown]>([
    [{ a: 1 }, 'tail'],
    [{ a: 1 }, { a: 'tail' }],
    [{ a: 1 }, { b: 0 }],
    [{ a: 1 }, { b: 'tail' }],
    [{ a: 1 }, { toString: { x: [1] } }],
    [{ a: 1 }, { a: null }],
    [{ a: 1 }, { a: 1 }],
    [{ a: 1 }, [0, [1]]],
    [{ a: 1 }, 7],
    [{ a: 1 }, true],
    [[1, 2], { 0: [1] }],
    [[1, 2], []],
    [
      [1, 2],
      [3, [1]],
    ],
    [
      [1, 2],
      [1, -2],
    ],
    [
      [1, 2],
      [-1, [1]],
    ],
    [
      [1, 2],
      [0, -3],
    ],
    [
      [1, 2],
      [0.5, [1]],
    ],
    [
      [1, 2],
      [0, -0.5],
    ],
    [
      [1, 2],
      ['0', [1]],
    ],
    [
      [1, 2],
      [[1], 1],
    ],
    [
      [1, 2],
      [2, 0, [1]],
    ],
    [
      [1, 2],
      [0, 0],
    ],
    [
      [1, 2],
      [0, { a: [1] }],
    ],
    [
      [1, 2],
      [0, 'x'],
    ],
    [
      [1, 2],
      [0, -1, 5],
    ],
    [['a'], [0, 0, [0, [1]]]],
    ['text', { a: [1] }],
    [null, 'tail'],
  ])('D10 %j with %j is refused', (before, delta) => {
    const kept = canonical(before)
    expect(() => applyDelta(before, delta)).toThrow(
      expect.objectContaining({ code: 'CHECKPOINT_DAMAGED' }),
    )
    expect(canonical(before)).toBe(kept)
  })
})
