import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { renderTable } from '../../../src/cli/show/table.ts'
import {
  bytes,
  clean,
  clip,
  duration,
  relative,
  shellWord,
  widthOf,
  wrap,
} from '../../../src/cli/show/text.ts'
import { nearest } from '../../../src/cli/usage.ts'
import { fc } from '../../seed.ts'

const outcomes = ['happened', 'did_not_happen', 'fail', 'abandon', 'use_record', 'send']

test.each([
  ['happend', 'happened'],
  ['did_not_hapen', 'did_not_happen'],
  ['abandn', 'abandon'],
  ['sned', 'send'],
  ['aba', 'abandon'],
  ['frobnicate', null],
])('the word nearest to %s is %s', (given, expected) => {
  expect(nearest(given, outcomes)).toBe(expected)
})

test('an id is cut in its middle, a sentence at its end, and both by what a terminal shows', () => {
  expect(clip('item_0123456789', 9, 'ends')).toBe('item…6789')
  expect(clip('send_email: did it happen?', 12)).toBe('send_email:…')
  expect(clip('日本語テキスト', 7)).toBe('日本語…')
  expect(widthOf('👩‍👩‍👧 é')).toBe(4)
})

const cell = fc.string({ unit: 'grapheme', maxLength: 60 })

test('any table fits any width', () => {
  const columns = [
    { head: 'ID', keep: 'ends', yields: 2 },
    { head: 'WHAT', yields: 1 },
    { head: 'WHEN' },
  ] as const
  const rows = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(rows, fc.integer({ min: 20, max: 140 }), (given, width) => {
      const lines = renderTable(columns, given, { width })
      expect(lines).toHaveLength(given.length + 1)
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width)
    }),
  )
})

test('wrapped text loses no word and exceeds no width', () => {
  fc.assert(
    fc.property(fc.lorem({ maxCount: 40 }), fc.integer({ min: 5, max: 80 }), (text, width) => {
      const lines = wrap(text, width)
      expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width)
    }),
  )
})

test('nothing that moves a cursor or turns text around is printed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(clean(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
    }),
  )
})

describe('times as people say them', () => {
  test.each([
    [500, '0 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [7_200_000, '2 h'],
    [900_000_000, '10 d'],
  ])('%d ms is %s', (ms, said) => {
    expect(duration(ms)).toBe(said)
  })

  test('before and after now', () => {
    expect(relative(1_000, 1_500)).toBe('just now')
    expect(relative(1_000, 61_000)).toBe('1 min ago')
    // Never "in 0 s" while it is still to come.
    expect(relative(1_001, 1_000)).toBe('in 1 s')
  })
})

test('a word for a shell is what it was when the shell has read it', () => {
  const words = ["it's", '{"a": 1}', 'plain-1', '$HOME `x` \\', 'a b', '…']
  const line = `printf '%s\\n' ${words.map(shellWord).join(' ')}`
  expect(execFileSync('sh', ['-c', line], { encoding: 'utf8' })).toBe(`${words.join('\n')}\n`)
})

test('a value of megabytes is cut and wrapped without being taken apart as a whole', () => {
  for (const letter of ['x', 'é', '日']) {
    const large = letter.repeat(2_000_000)
    expect(widthOf(clip(large, 40))).toBeLessThanOrEqual(40)
    expect(widthOf(clip(large, 40, 'ends'))).toBeLessThanOrEqual(40)
    const [head, line] = renderTable([{ head: 'WHAT' }], [[large]], { width: 40 })
    expect([head, widthOf(line ?? '') <= 40]).toEqual(['WHAT', true])
  }
  const lines = wrap(`a ${'x'.repeat(200_000)} b`, 60)
  expect(lines.every((line) => line.length <= 60)).toBe(true)
  expect(lines.join('').replaceAll(' ', '')).toHaveLength(200_002)
})

test('sizes are told as people say them', () => {
  const sizes = [0, 999, 1_000, 9_999, 123_456, 5_000_000_000]
  expect(sizes.map(bytes)).toEqual(['0 B', '999 B', '1.0 KB', '10.0 KB', '123 KB', '5.0 GB'])
})
