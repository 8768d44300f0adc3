import { createHmac, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Described } from '../../src/store/schema/describe.ts'
import * as tables from '../../src/store/schema/index.ts'
import { createSealer, isSigned, keyCheck, rowText, type Sealer } from '../../src/store/seal.ts'
import { attempt, decision, evidence, record, signal } from '../../src/testing/store/fixtures.ts'

test('B8 a MAC is HMAC-SHA-256, for short, block-long and longer secrets', () => {
  for (const length of [1, 32, 63, 64, 65, 200]) {
    const secret = randomBytes(length)
    const right = createHmac('sha256', secret).update('counterfoil key check').digest('base64url')
    expect(keyCheck({ id: 'k', secret })).toBe(right)
  }
})

const old = { id: 'k1', secret: randomBytes(32) }
const next = { id: 'k2', secret: randomBytes(32) }
const row = evidence(1, { externalId: null, resultJson: null })
const text = `["evidence","default","r1","${row.attemptId}","landed",null,null,null,null,4000,null]`
const seal = (sealer: Sealer) => sealer.row(tables.evidence, row) ?? ''

test('B8 rows signed with an old key verify after a rotation, with no other key', () => {
  const mac = seal(createSealer([old]))
  expect(createSealer([old, next]).verifies(mac, text)).toBe(true)
  expect(createSealer([next]).verifies(mac, text)).toBe(false)
  expect(createSealer([old, next]).verifies(mac, `${text} `)).toBe(false)
  expect(createSealer([old, next]).verifies(null, text)).toBe(false)
  expect(seal(createSealer([old, next])).startsWith('k2:')).toBe(true)
})

test('B8 a key that is added signs from then on, and rows of the old one still verify', () => {
  const sealer = createSealer([old])
  const before = seal(sealer)
  sealer.add(next)
  const after = seal(sealer)
  expect([before, after].map((mac) => mac.slice(0, 3))).toEqual(['k1:', 'k2:'])
  expect([before, after].map((mac) => sealer.verifies(mac, text))).toEqual([true, true])
})

test('B8 a key that is not known is asked for, once it is there no more', () => {
  const asked: string[] = []
  let added: (typeof next)[] = []
  const find = (id: string) => {
    asked.push(id)
    return added
  }
  const sealer = createSealer([old], { find })
  const mac = seal(createSealer([next]))
  expect(sealer.verifies(seal(createSealer([old])), text)).toBe(true)
  expect(asked).toEqual([])
  expect(sealer.verifies(mac, text)).toBe(false)
  added = [old, next]
  expect([sealer.verifies(mac, text), sealer.verifies(mac, text)]).toEqual([true, true])
  expect(asked).toEqual(['k2', 'k2'])
  expect(seal(sealer).startsWith('k2:')).toBe(true)
  expect(sealer.verifies('k3:AAAA', text)).toBe(false)
  expect(asked.at(-1)).toBe('k3')
})

test.each(['', ':', 'k1', 'k1:', 'k1:AAAA', ':k1'])('B8 the MAC %j is none', (mac) => {
  expect(createSealer([old]).verifies(mac, text)).toBe(false)
})

/** Another value of the same kind. */
const other = (value: unknown) =>
  typeof value === 'boolean' ? !value : typeof value === 'number' ? value + 1 : `${value}x`

test.each([
  ['record', tables.records, record(1)],
  ['attempt', tables.attempts, attempt(1, { endedAt: 3_000, outcome: 'landed' })],
  ['evidence', tables.evidence, evidence(1)],
  ['decision', tables.decisions, decision('d1')],
  ['signal', tables.signals, signal('s1')],
] as const)('B8 every field of a %s is signed, in the order of its table', (as, table, given) => {
  const described = table as unknown as Described<Record<string, unknown>>
  const of = (row: object) => rowText(described, row as Record<string, unknown>)
  const unsigned = as === 'attempt' ? ['beatAt', 'beatJson'] : []
  const named = Object.keys(described.fields).filter((key) => !unsigned.includes(key))
  expect(described.sealed?.fields).toEqual(named)
  expect(JSON.parse(of(given))).toHaveLength(named.length + 1)
  expect(JSON.parse(of(given))[0]).toBe(as)
  for (const [key, value] of Object.entries(given)) {
    const changed = { ...given, [key]: other(value) }
    expect(of(changed) === of(given), key).toBe(unsigned.includes(key))
  }
})

test('B8 whatever an attempt says of its end is signed, also an outcome without an end', () => {
  expect(isSigned(tables.attempts, attempt(1))).toBe(false)
  for (const more of [{ endedAt: 3_000 }, { outcome: 'refused' }, { tokenHash: 't1' }] as const) {
    expect(isSigned(tables.attempts, attempt(1, more))).toBe(true)
  }
})
