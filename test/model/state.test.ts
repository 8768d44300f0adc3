import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { canonical, plainCopy } from '../../src/model/json/canonical.ts'
import { absorb, mergePatch, weightOf } from '../../src/model/run/state.ts'
import { fc } from '../seed.ts'

const deep = 100_000

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string())
const key = fc.oneof(text, fc.constantFrom('__proto__', 'toString', '10', '9', ''))
const scalars = [
  ...[text, fc.boolean(), fc.constantFrom(null, -0), fc.integer()],
  fc.double({ noNaN: true, noDefaultInfinity: true }),
]
const odd = fc.constantFrom(undefined, Number.NaN, 1n, 'cut \ud83d', Symbol.iterator, new Date(0))
const plain = fc.anything({ key, values: scalars, maxDepth: 4 })
const wild = fc.anything({ key, values: [...scalars, odd], maxDepth: 4 })

function objectsIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return []
  return [value, ...Object.values(value).flatMap(objectsIn)]
}

function refusal(act: () => unknown): Error {
  try {
    act()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was refused')
}

describe('absorb', () => {
  test('D9 what it gives and refuses is what a replay gives and refuses', () => {
    let refused = 0
    const check = fc.property(wild, (value) => {
      let wanted: unknown
      try {
        wanted = plainCopy(value)
      } catch (error) {
        refused++
        expect(refusal(() => absorb(value)).message).toBe((error as Error).message)
        return
      }
      const state = absorb(value)
      expect(isDeepStrictEqual(state, wanted)).toBe(true)
      expect(JSON.stringify(state)).toBe(JSON.stringify(wanted))
    })
    fc.assert(check, { numRuns: 3_000 })
    expect(refused).toBeGreaterThan(100)
  })

  test('D9 all of it is frozen, and nothing of the caller is', () => {
    const check = fc.property(plain, (value) => {
      const before = new Set(objectsIn(value))
      for (const object of objectsIn(absorb(value))) {
        expect(Object.isFrozen(object)).toBe(true)
        expect(before.has(object)).toBe(false)
      }
      for (const object of before) expect(Object.isFrozen(object)).toBe(false)
    })
    fc.assert(check, { numRuns: 2_000 })
  })

  test('D9 an in-place change of state throws instead of being lost', () => {
    const state = absorb({ messages: [{ role: 'user' }], n: 1 })
    expect(() => state.messages.push({ role: 'tool' })).toThrow(TypeError)
    expect(() => Object.assign(state.messages[0] ?? {}, { role: 'x' })).toThrow(TypeError)
    expect(() => {
      state.n = 2
    }).toThrow(TypeError)
  })

  test('D9 undefined is left out, -0 is 0, keys are in the order of a replay', () => {
    const state = absorb({ b: -0, a: { d: undefined, c: 1 }, 10: 'x', 9: 'y' })
    expect(state).toStrictEqual({ 9: 'y', 10: 'x', a: { c: 1 }, b: 0 })
    expect(Object.keys(state)).toEqual(['9', '10', 'a', 'b'])
  })

  test('D9 __proto__ is a key like any other', () => {
    const state = absorb(JSON.parse('{"__proto__":{"admin":true},"a":[{"__proto__":1}]}'))
    expect(Object.getPrototypeOf(state)).toBe(Object.prototype)
    expect(state.admin).toBe(undefined)
    expect(canonical(state)).toBe('{"__proto__":{"admin":true},"a":[{"__proto__":1}]}')
  })

  test.each([
    [{ at: new Date(0) }, '$.at', 'an instance of Date'],
    [{ a: [1, new Map()] }, '$.a[1]', 'an instance of Map'],
    [{ f: () => 1 }, '$.f', 'a function'],
    [[undefined], '$[0]', 'undefined'],
    [{ s: 'cut \ud83d' }, '$.s', 'a string with a lone surrogate'],
    [{ n: Number.NaN }, '$.n', 'NaN'],
    [{ n: 1n }, '$.n', 'a BigInt'],
    [undefined, '$', 'undefined'],
  ])('D9 %o is refused at its path', (value, path, what) => {
    expect(refusal(() => absorb(value))).toMatchObject({ code: 'NOT_PLAIN_DATA', path })
    const error = refusal(() => absorb(value, '$.draft'))
    expect(error.message).toContain(`$.draft${path.slice(1)} is ${what}, which is not plain data`)
  })

  test('D9 a cycle is refused, also one that goes past what was absorbed', () => {
    const loop: Record<string, unknown> = { known: absorb({ a: [1] }) }
    loop['self'] = { loop }
    expect(() => absorb(loop)).toThrow('$.self.loop is a cycle')
  })

  test(`D9 ${deep} levels are absorbed and frozen to the bottom`, () => {
    let value: unknown = 'core'
    for (let i = 0; i < deep; i++) value = i % 2 === 0 ? [value] : { a: value }
    let level: unknown = absorb(value)
    expect(weightOf(level)).toBe(canonical(value).length)
    for (let i = 0; i < deep; i++) {
      if (!Object.isFrozen(level)) throw new Error(`not frozen at ${i}`)
      level = Object.values(level as object)[0]
    }
    expect(level).toBe('core')
  })

  test('D10 what was absorbed before is shared, and not looked into again', () => {
    const message = (i: number) => ({ role: 'user', parts: [{ text: `message ${i}`, n: [i] }] })
    const state = absorb({ messages: Array.from({ length: 1_000 }, (_, i) => message(i)) })
    expect(absorb(state)).toBe(state)
    const look = vi.spyOn(Object, 'getOwnPropertyDescriptor')
    const messages = absorb([...state.messages, message(1_000)])
    const looks = look.mock.calls.length
    look.mockRestore()
    expect(messages).toHaveLength(1_001)
    for (const [i, old] of state.messages.entries()) expect(messages[i]).toBe(old)
    // One for each member of the new array, and 6 for the new message.
    expect(looks).toBe(1_001 + 6)
  })

  test('D10 the weight is at most the bytes, and all of them for simple text', () => {
    const check = fc.property(plain, (value) => {
      expect(weightOf(value)).toBeLessThanOrEqual(Buffer.byteLength(canonical(value)))
    })
    fc.assert(check, { numRuns: 2_000 })
    const simple = { a: [1, -2.5, true, false, null], 'b€': { c: 'text', d: [] }, e: {} }
    expect(weightOf(absorb(simple))).toBe(Buffer.byteLength(canonical(simple)))
  })
})

describe('mergePatch', () => {
  const before = absorb({ messages: [{ n: 1 }], draft: 'x', plan: { steps: [1, 2] } })

  test('D9 keys are merged shallowly, undefined removes one, and the rest is shared', () => {
    const after = mergePatch(before, { draft: undefined, plan: { done: true }, extra: [1] })
    expect(after).toStrictEqual({ messages: [{ n: 1 }], plan: { done: true }, extra: [1] })
    expect((after as typeof before).messages).toBe(before.messages)
    expect(Object.isFrozen(after)).toBe(true)
    expect(before).toStrictEqual({ messages: [{ n: 1 }], draft: 'x', plan: { steps: [1, 2] } })
  })

  test('D9 keys are in the order of a replay', () => {
    const after = mergePatch(before, { a: 1, 7: 2, z: 3 }) as object
    expect(Object.keys(after)).toEqual(Object.keys(JSON.parse(canonical(after))))
  })

  test('D10 a patch that changes nothing gives the same state', () => {
    expect(mergePatch(before, undefined)).toBe(before)
    expect(mergePatch(before, {})).toBe(before)
    expect(mergePatch(before, { draft: 'x', plan: before.plan, gone: undefined })).toBe(before)
    expect(mergePatch(before, { draft: 'x', other: null })).not.toBe(before)
    expect(mergePatch(before, { plan: undefined })).not.toBe(before)
  })

  test('D9 the patch of a caller is not frozen, and what is not plain is refused', () => {
    const patch = { plan: { steps: [3] } }
    const after = mergePatch(before, patch) as typeof before
    patch.plan.steps.push(4)
    expect(after.plan.steps).toEqual([3])
    expect(refusal(() => mergePatch(before, { plan: { at: new Date(0) } }))).toMatchObject({
      code: 'NOT_PLAIN_DATA',
      path: '$.plan.at',
    })
  })

  test('D9 __proto__ in a patch is data', () => {
    const after = mergePatch(before, JSON.parse('{"__proto__":{"admin":true}}')) as object
    expect(Object.getPrototypeOf(after)).toBe(Object.prototype)
    expect(Object.hasOwn(after, '__proto__')).toBe(true)
    const gone = Object.defineProperty({}, '__proto__', { value: undefined, enumerable: true })
    expect(mergePatch(after, gone)).toStrictEqual(before)
  })

  test.each([
    [['a'], { a: 1 }, 'the state'],
    ['text', {}, 'the state'],
    [null, { a: 1 }, 'the state'],
    [{ a: 1 }, [1], 'the patch'],
    [{ a: 1 }, null, 'the patch'],
    [{ a: 1 }, 'a', 'the patch'],
  ])('D9 %j with the patch %j is refused', (state, patch, what) => {
    const error = refusal(() => mergePatch(state, patch))
    expect(error).toMatchObject({ code: 'STATE_INVALID' })
    expect(error.message).toContain(`${what} is not an object`)
  })
})
