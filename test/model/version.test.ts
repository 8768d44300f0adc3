import { expect, test } from 'vitest'
import { compareVersions } from '../../src/model/graph/version.ts'

// The order of the semver specification itself, and of numbers of several digits.
const inOrder = [
  ...['0.9.9', '0.10.0', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta'],
  ...['1.0.0-beta.2', '1.0.0-beta.11', '1.0.0-rc.1', '1.0.0', '1.0.1', '1.2.0', '1.10.0', '2.0.0'],
]

test('F4 versions are in the order of semver', () => {
  for (const [i, a] of inOrder.entries()) {
    for (const [j, b] of inOrder.entries()) {
      expect([a, b, Math.sign(compareVersions(a, b))]).toEqual([a, b, Math.sign(i - j)])
    }
  }
  expect(compareVersions('1.0.0+one', '1.0.0+two')).toBe(0)
})
