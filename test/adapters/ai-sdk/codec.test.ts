// What is not plain data comes back from the ledger as it was.

import { expect, test } from 'vitest'
import { fromPlain, toPlain } from '../../../src/adapters/ai-sdk/codec.ts'
import { canonical } from '../../../src/model/json/canonical.ts'
import { fc } from '../../seed.ts'

const through = (value: unknown) => fromPlain(JSON.parse(canonical(toPlain(value))))

test('K2 dates, bytes, addresses and cut texts come back as they were', () => {
  const value = {
    at: new Date(5),
    never: new Date(Number.NaN),
    bytes: new Uint8Array([0, 255]),
    url: new URL('https://example.org/a?b=c'),
    cut: '😀'.slice(0, 1),
    big: 2n ** 70n,
    numbers: [Number.NaN, Number.POSITIVE_INFINITY, 1.5],
    list: [1, [new Date(7)]],
    own: { $counterfoil: 'date', value: 'not a date' },
    nothing: null,
  }
  expect(through(value)).toEqual(value)
})

test('K2 what is plain stays as it is, for people to read and to write', () => {
  const plain = { a: [1, 'two', null, true], b: { c: {} } }
  expect(toPlain(plain)).toEqual(plain)
  expect(fromPlain(plain)).toEqual(plain)
  expect(through(null)).toBeNull()
  expect(toPlain(undefined)).toBeUndefined()
})

test('K2 instances become what JSON makes of them', () => {
  class Row {
    id = 1
    private readonly secret = () => 'x'
    look() {
      return this.secret()
    }
  }
  expect(through({ row: new Row(), none: undefined, list: [undefined] })).toEqual({
    row: { id: 1 },
    list: [null],
  })
  expect(through({ toJSON: () => ({ ok: true }) })).toEqual({ ok: true })
  expect(through(new Error('no'))).toEqual({ name: 'Error', message: 'no' })
})

test('K2 any JSON comes back', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      const said = JSON.parse(JSON.stringify(value))
      expect(through(said)).toEqual(said)
    }),
    { numRuns: 50 },
  )
})
