// The parts of the console that are plain functions.
import { describe, expect, test } from 'vitest'
import { diff } from '../../console/src/diff.ts'
import { endings, stepOf, steps } from '../../console/src/pages/resume-steps.ts'
import { isForm, kindOf } from '../../console/src/schema.ts'
import { duration, hourMinute, relative } from '../../console/src/words.ts'
import { type Known, verdict } from '../../src/model/replay/verdict.ts'
import { faults } from '../../src/model/tool/schema-faults.ts'

/** Everything that the verdict can be asked. */
function everything(): Known[] {
  const flags = [true, false]
  const records: Known['record'][] = [null]
  for (const status of ['pending', 'committed', 'failed', 'in_doubt'] as const) {
    for (const verifies of flags) {
      for (const unknownAttempts of [0, 1]) {
        for (const keyWindow of ['open', 'closed'] as const) {
          for (const callback of ['none', 'open', 'overdue'] as const) {
            records.push({ status, verifies, unknownAttempts, keyWindow, callback })
          }
        }
      }
    }
  }
  const classes = ['pure', 'idempotent_with_key', 'unsafe_on_replay'] as const
  const probes = ['none', 'unasked', 'yes', 'no', 'unknown'] as const
  return classes.flatMap((replayClass) =>
    records.flatMap((record) =>
      flags.flatMap((decided) =>
        flags.flatMap((unmatched) =>
          flags.flatMap((quiet) =>
            flags.flatMap((unresolved) =>
              probes.map((probe) => ({
                ...{
                  replayClass,
                  record,
                  decided,
                  unmatched,
                  quiet,
                  unresolved,
                  alike: 'none',
                  probe,
                },
              })),
            ),
          ),
        ),
      ),
    ),
  )
}

test('C1, O7 every verdict is decided by one of six steps, and only by what that step asks', () => {
  const all = everything()
  const reached = new Set(all.map((known) => stepOf(known, verdict(known))))
  expect(steps).toHaveLength(6)
  expect([...reached].sort()).toEqual([0, 1, 2, 3, 4, 5])
  expect(all.filter((known) => endings[verdict(known).do].text === '')).toEqual([])
  expect(all.filter((known) => !fits(known))).toEqual([])
})

/** Every question before the one that decided had no answer, and no later one counts. */
function fits(known: Known): boolean {
  const said = verdict(known)
  const step = stepOf(known, said)
  const same = (other: Known) => JSON.stringify(verdict(other)) === JSON.stringify(said)
  if (step === 0) return known.decided && same({ ...known, record: null })
  if (known.decided || (known.record === null) !== (step === 1)) return false
  if (step === 1) return same({ ...known, probe: 'none' })
  if (known.record?.verifies !== step > 2) return false
  if (step === 2 || step === 3) {
    const open = known.record?.status === 'pending'
    return open === false || step === 2 ? same({ ...known, probe: 'none' }) : false
  }
  return known.record?.status === 'pending'
}

describe('C3 two inputs side by side', () => {
  test.each([
    [{ to: 'a' }, { to: 'b' }, [['to', 'changed']]],
    [{ to: 'a', cc: 'x' }, { to: 'a' }, [['cc', 'removed']]],
    [{ a: { b: 1 } }, { a: { b: 1, c: 2 } }, [['a.c', 'added']]],
    [[1, 3], [1, 2, 3], [['[1]', 'added']]],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, []],
    [[], {}, [['', 'changed']]],
    [null, { a: 1 }, [['', 'changed']]],
  ])('%j and %j', (before, after, expected) => {
    expect(diff(before, after).map(({ path, kind }) => [path, kind])).toEqual(expected)
  })
})

describe('E1 an edit is checked against its schema before it is sent', () => {
  const order = {
    type: 'object',
    properties: {
      amount: { type: 'number', minimum: 1 },
      currency: { type: 'string', enum: ['EUR', 'USD'] },
      lines: { type: 'array', items: { type: 'string' } },
    },
    required: ['amount', 'currency'],
    additionalProperties: false,
  }

  test('a form is made of an object with properties', () => {
    expect(isForm(order)).toBe(true)
    expect(isForm({ type: 'array' })).toBe(false)
    expect(isForm(null)).toBe(false)
    expect(Object.values(order.properties).map(kindOf)).toEqual(['number', 'choice', 'json'])
  })

  test.each([
    [{ amount: 5, currency: 'EUR' }, 0],
    [{ amount: 0, currency: 'EUR' }, 1],
    [{ amount: 5, currency: 'GBP' }, 1],
    [{ amount: '5', currency: 'EUR' }, 1],
    [{ currency: 'EUR' }, 1],
    [{ amount: 5, currency: 'EUR', more: 1 }, 1],
    [{ amount: 5, currency: 'EUR', lines: ['a', 2] }, 1],
    ['no object', 1],
  ])('%j has %i faults', (value, count) => {
    expect(faults(order, value)).toHaveLength(count)
  })
})

test('E8 durations and moments in words', () => {
  expect([0, 900, 61_000, 12 * 60_000 + 5_000, 90_000_000].map((ms) => duration(ms))).toEqual([
    ...['0 s', '900 ms', '1 min 1 s', '12 min', '1 d 1 h'],
  ])
  expect(duration(12 * 60_000 + 5_000, true)).toBe('12 min 5 s')
  expect([relative(0, 60_000), relative(60_000, 0), relative(0, 0)]).toEqual([
    ...['1 min ago', 'in 1 min', 'now'],
  ])
})

test('E8 labels of an axis are short at any hour of the day, and not to be mistaken', () => {
  const hours = [0, 9, 13, 22].map((hour) => hourMinute(new Date(2026, 0, 5, hour, 7).getTime()))
  expect(hours).toEqual(['00:07', '09:07', '13:07', '22:07'])
})
