import { createHmac, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createSealer, keyCheck } from '../../src/store/seal.ts'

test('B8 a MAC is HMAC-SHA-256, for short, block-long and longer secrets', () => {
  for (const length of [1, 32, 63, 64, 65, 200]) {
    const secret = randomBytes(length)
    const right = createHmac('sha256', secret).update('counterfoil key check').digest('base64url')
    expect(keyCheck({ id: 'k', secret })).toBe(right)
  }
})

test('B8 rows signed with an old key verify after a rotation, with no other key', () => {
  const old = { id: 'k1', secret: randomBytes(32) }
  const next = { id: 'k2', secret: randomBytes(32) }
  const evidence = {
    namespace: 'n',
    runId: 'r',
    attemptId: 'a',
    outcome: 'landed',
    resultJson: null,
    externalId: null,
    errorJson: null,
    at: 1,
    seq: null,
  } as const
  const mac = createSealer([old]).evidence(evidence)
  const text = '["evidence","n","r","a","landed",null,null,null,1,null]'
  expect(createSealer([old, next]).verifies(mac, text)).toBe(true)
  expect(createSealer([next]).verifies(mac, text)).toBe(false)
  expect(createSealer([old, next]).verifies(mac, `${text} `)).toBe(false)
  expect(createSealer([old, next]).verifies(null, text)).toBe(false)
  expect(createSealer([old, next]).evidence(evidence).startsWith('k2:')).toBe(true)
})
