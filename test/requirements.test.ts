// `npm run requirements`: what it reads from names of tests, and what it complains about.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { differencesOf, idsAtHead, problemsOf, testNames } from '../scripts/requirements.mjs'

const stored = JSON.parse(
  readFileSync(new URL('../docs/requirements.json', import.meta.url), 'utf8'),
)

const list = {
  claimed: ['A1', 'V1'],
  partial: { A2: 'half of it' },
  all: { A1: 'one', A2: 'two', V1: 'seen' },
  sections: { A: 'Tools', V: 'Seeing' },
  invariants: { I1: 'a prefix' },
}

const cited = (...ids: string[]) =>
  new Map(ids.map((id) => [id, [{ file: 'a.test.ts', name: id }]]))
const complete = cited('A1', 'A2', 'V1', 'I1')

test('ids are read from the head of a name: lists, ranges, and nothing behind them', () => {
  expect(idsAtHead('A1 a tool', 'AI')).toEqual(['A1'])
  expect(idsAtHead('A1, I2 and A4 a tool of B1', 'AI')).toEqual(['A1', 'I2', 'A4'])
  expect(idsAtHead('A1–A3 a range', 'AI')).toEqual(['A1', 'A2', 'A3'])
  expect(idsAtHead('S3 a place for blobs', 'AI')).toEqual([])
  expect(idsAtHead('A1x is no id', 'AI')).toEqual([])
})

test('names are read from tests, tables of them and templates, not from what is left out', () => {
  const left = 'skip'
  const more = "it.each([1])('A2 y', f); test(`A3 $" + '{z}`, f)'
  const text = `test('A1 x', f); ${more}; test.${left}('A4', f)`
  expect(testNames(text)).toEqual(['A1 x', 'A2 y', 'A3 …'])
})

test('a list that agrees with its tests has no problem', () => {
  expect(problemsOf(list, complete)).toEqual([])
})

test('what is claimed without a test, cited without a claim, or unknown is a problem', () => {
  expect(problemsOf(list, cited('A2', 'V1'))).toEqual(['A1 is claimed and no test cites it'])
  expect(problemsOf({ ...list, claimed: ['A1'] }, complete)).toEqual([
    'V1 is cited and not claimed (a.test.ts: V1)',
  ])
  expect(problemsOf(list, cited('A1', 'V1', 'A9', 'I9'))).toEqual([
    'A9 is cited and no requirement has it (a.test.ts: A9)',
    'I9 is cited and no invariant has it (a.test.ts: I9)',
  ])
})

test('an id that is listed twice is a problem: claimed twice, or claimed and met in part', () => {
  const twice = 'is listed twice: it is claimed once, or met in part'
  expect(problemsOf({ ...list, claimed: ['A1', 'V1', 'A1'] }, complete)).toEqual([`A1 ${twice}`])
  expect(problemsOf({ ...list, partial: { A1: 'half', A2: 'half' } }, complete)).toEqual([
    `A1 ${twice}`,
  ])
})

test('I and a number is an invariant: no requirement may be called so', () => {
  const all = { ...list.all, I1: 'a requirement' }
  expect(problemsOf({ ...list, all }, complete)).toEqual([
    'I1 is listed as a requirement: I and a number is an invariant',
  ])
  expect(Object.keys(stored.sections)).not.toContain('I')
  expect(Object.keys(stored.all)).toEqual(expect.arrayContaining(['V1', 'V2', 'V3', 'V4']))
})

test('ids that only the page or only the list has are told', () => {
  const page = '- **A1** one **A2** two\n- **A3** three'
  expect(differencesOf(page, list.all)).toEqual([
    'A3 is not in docs/requirements.json',
    'V1 is only in docs/requirements.json',
  ])
})
