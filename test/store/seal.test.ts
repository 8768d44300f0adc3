import { createHmac, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  attemptText,
  createSealer,
  decisionText,
  evidenceText,
  isSigned,
  keyCheck,
  recordText,
} from '../../src/store/seal.ts'
import { attempt, decision, evidence, record } from '../../src/testing/store/fixtures.ts'

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
const text = `["evidence","default","r1","${row.attemptId}","landed",null,null,null,4000,null]`

test('B8 rows signed with an old key verify after a rotation, with no other key', () => {
  const mac = createSealer([old]).evidence(row)
  expect(createSealer([old, next]).verifies(mac, text)).toBe(true)
  expect(createSealer([next]).verifies(mac, text)).toBe(false)
  expect(createSealer([old, next]).verifies(mac, `${text} `)).toBe(false)
  expect(createSealer([old, next]).verifies(null, text)).toBe(false)
  expect(createSealer([old, next]).evidence(row).startsWith('k2:')).toBe(true)
})

test('B8 a key that is added signs from then on, and rows of the old one still verify', () => {
  const sealer = createSealer([old])
  const before = sealer.evidence(row)
  sealer.add(next)
  const after = sealer.evidence(row)
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
  const mac = createSealer([next]).evidence(row)
  expect(sealer.verifies(createSealer([old]).evidence(row), text)).toBe(true)
  expect(asked).toEqual([])
  expect(sealer.verifies(mac, text)).toBe(false)
  added = [old, next]
  expect([sealer.verifies(mac, text), sealer.verifies(mac, text)]).toEqual([true, true])
  expect(asked).toEqual(['k2', 'k2'])
  expect(sealer.evidence(row).startsWith('k2:')).toBe(true)
  expect(sealer.verifies('k3:AAAA', text)).toBe(false)
  expect(asked.at(-1)).toBe('k3')
})

test.each(['', ':', 'k1', 'k1:', 'k1:AAAA', ':k1'])('B8 the MAC %j is none', (mac) => {
  expect(createSealer([old]).verifies(mac, text)).toBe(false)
})

test('B8 fields that came later are signed, and rows from before them verify as they are', () => {
  const texts = (of: (more: object) => string, more: object) => [of({}), of(more)]
  const pairs = [
    texts((more) => recordText(record(1, more)), { resultDigest: 'd' }),
    texts((more) => recordText(record(1, more)), { usageJson: '{}' }),
    texts((more) => recordText(record(1, more)), { dueAt: 9 }),
    texts((more) => attemptText(attempt(1, more)), { tokenHash: 't' }),
    texts((more) => decisionText(decision('d1', more)), { shownHash: 's' }),
    texts((more) => evidenceText(evidence(1, more)), { resultDigest: 'd' }),
  ]
  for (const [without, withIt] of pairs) expect(without).not.toBe(withIt)
  expect(evidenceText(row)).toBe(text)
})

test('B8 whatever an attempt says of its end is signed, also an outcome without an end', () => {
  expect(isSigned(attempt(1))).toBe(false)
  for (const more of [{ endedAt: 3_000 }, { outcome: 'refused' }, { tokenHash: 't1' }] as const) {
    expect(isSigned(attempt(1, more))).toBe(true)
  }
})
