import { expect, test } from 'vitest'
import { stateDiff } from '../../../src/cli/show/state-diff.ts'
import { canonical } from '../../../src/model/json/canonical.ts'
import { fc } from '../../seed.ts'

test('an insertion at the front of a list reads as one', () => {
  const after = { list: [0, 1, 2, 3] }
  expect(stateDiff({ list: [1, 2, 3] }, after)).toEqual([
    { path: 'list[0]', kind: 'added', after: 0 },
  ])
  expect(stateDiff({ list: [1, 2, 3] }, { list: [1, 3] })).toEqual([
    { path: 'list[1]', kind: 'removed', before: 2 },
  ])
})

test('paths lead to what changed, whatever the keys are called', () => {
  const before = { a: { 'odd key': 1, deep: [{ x: 1 }] }, gone: null, same: [1] }
  const after = { a: { 'odd key': 2, deep: [{ x: 1, y: 2 }] }, same: [1], '': 0 }
  expect(stateDiff(before, after).map(({ path, kind }) => `${kind} ${path}`)).toEqual([
    'added [""]',
    'added a.deep[0].y',
    'changed a["odd key"]',
    'removed gone',
  ])
  expect(stateDiff(1, [1])).toEqual([{ path: '', kind: 'changed', before: 1, after: [1] }])
})

test('a state that nests deeper than the stack is compared', () => {
  const nested = (leaf: unknown) => {
    let state = leaf
    for (let depth = 0; depth < 50_000; depth++) state = { a: state }
    return state
  }
  const [change, ...rest] = stateDiff([nested(1)], [nested(2)])
  expect(rest).toEqual([])
  expect(change).toMatchObject({ kind: 'changed', before: 1, after: 2 })
})

test('two states differ exactly if there is a change', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const same = canonical(a) === canonical(b)
      expect(stateDiff(a, b).length === 0).toBe(same)
      expect(stateDiff(a, a)).toEqual([])
    }),
  )
})
