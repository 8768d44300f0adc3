// What every screen offers is what `decide` takes: over every kind of item and every outcome.
import { describe, expect, test } from 'vitest'
import { choicesForMany, differences, likenessOf } from '../../src/model/decisions/alike.ts'
import { type DecideRequest, decide } from '../../src/model/decisions/decide.ts'
import { choicesOf, type DecideView, mayDecide } from '../../src/model/decisions/may-decide.ts'
import { type Choice, recordsFor } from '../../src/model/decisions/outcomes.ts'
import type { CounterfoilError } from '../../src/model/errors.ts'
import type { Item, UnmatchedCall } from '../../src/model/run/records.ts'
import { outcomes } from '../../src/model/run/records.ts'
import { table } from '../../src/server/table.ts'
import { attempt, newRun, record } from '../../src/testing/store/fixtures.ts'
import { about, approval, drift, kinds, reasons, unmatched } from './items.ts'

const { run } = newRun('r1', { state: 'waiting_human', fence: 1 })
const late = 10_000_000

// Its worker is alive, and nothing says that the attempt has ended.
const running = attempt()
const ended = attempt(1, { endedAt: 2_500, outcome: 'unknown' })

function view(one: Item, attempts = [running]): DecideView {
  const records = [record(1, { status: 'in_doubt' })]
  return { run, records, attempts, items: [one], evidence: [], decisions: [], deaths: new Map() }
}

function say(one: Item, request: Partial<DecideRequest>, attempts = [running]): string {
  const words = { by: 'ana', reason: 'seen', version: one.version, ...request }
  try {
    decide(view(one, attempts), 'i1', words as DecideRequest, { decisionId: 'd1', at: late })
    return 'taken'
  } catch (error) {
    return (error as CounterfoilError).code
  }
}

/** All that a choice says it needs. */
function wordsFor(one: Item, { outcome, result }: Choice): Partial<DecideRequest> {
  const [named] = recordsFor(one, outcome)
  return {
    ...(result === 'required' ? { result: { ok: true } } : {}),
    ...(named ? { record: named } : {}),
  }
}

const manyAtOnce = table.find(
  ({ method, path }) => method === 'POST' && path === '/v1/inbox/decisions',
)

describe.each(kinds)('E2 %s', (_, one) => {
  test('E8 what the console offers for many items is taken by the route for many', () => {
    const items = [{ item_id: 'i1', version: 1 }]
    for (const { outcome } of choicesForMany(one)) {
      const read = manyAtOnce?.body?.safeParse({ items, outcome, reason: 'alike' })
      expect([outcome, read?.success]).toEqual([outcome, true])
    }
  })

  const choices = choicesOf(view(one), one, late)

  test('E2 what is offered is taken, with what it says it needs, and told in words', () => {
    expect(choices.length).toBeGreaterThan(0)
    for (const choice of choices) {
      const words = { outcome: choice.outcome, ...wordsFor(one, choice) }
      const expected = choice.locked ? 'DECISION_TOO_EARLY' : 'taken'
      expect([choice.outcome, say(one, words)]).toEqual([choice.outcome, expected])
      if (choice.locked) expect(say(one, { ...words, madeSure: true })).toBe('taken')
      expect(choice.label).not.toBe('')
      expect(choice.consequence).toMatch(/[.]$/)
    }
  })

  test('E2 what is not offered is refused', () => {
    const offered = choices.map(({ outcome }) => outcome)
    for (const outcome of outcomes.filter((each) => !offered.includes(each))) {
      const words = { outcome, result: 1, record: unmatched('send', 'a') }
      expect([outcome, say(one, words)]).toEqual([outcome, 'DECISION_INVALID'])
    }
  })

  test('E2 what says that it needs a result is refused without; what takes none, with one', () => {
    for (const choice of choices) {
      const { result: _none, ...words } = wordsFor(one, choice)
      const said = { outcome: choice.outcome, ...words, madeSure: true }
      if (choice.result === 'required') expect(say(one, said)).toBe('DECISION_INVALID')
      if (choice.result === 'none') {
        expect(say(one, { ...said, result: 1 })).toBe('DECISION_INVALID')
      }
    }
  })
})

test('E2 screens offered "fail" of a tampered record unlocked, and decide refused it', () => {
  const one = about({}, { reason: 'tampered' })
  const lockOn = (attempts: (typeof running)[]) =>
    choicesOf(view(one, attempts), one, late).find(({ outcome }) => outcome === 'fail')?.locked
  expect(lockOn([running])).toMatchObject({ until: Number.POSITIVE_INFINITY })
  expect(lockOn([ended])).toBeNull()
  expect(say(one, { outcome: 'fail' }, [ended])).toBe('taken')
})

test('E2 a drift offers only records of the same tool as its answer, and any to retire', () => {
  const one = about(reasons.drift, { reason: 'drift' })
  expect(recordsFor(one, 'use_record').map((call) => call.tool)).toEqual(['send'])
  expect(recordsFor(one, 'retire_record').map((call) => call.tool)).toEqual(['send', 'other'])
})

test('E1 who may decide is told before they try, in the words of the refusal', () => {
  const one = approval('counterfoil.approval', { deciders: ['bo'], notStarter: true })
  expect(mayDecide(view(one), one, { by: 'ana' }, late)?.code).toBe('DECISION_FORBIDDEN')
  expect(mayDecide(view(one), one, { by: 'bo' }, late)).toBeNull()
  expect(mayDecide(view(one), one, null, late)).toBeNull()
  const gone = { ...one, state: 'closed', closedBy: 'expired' } as const
  expect(mayDecide(view(gone), gone, { by: 'bo' }, late)?.code).toBe('ITEM_CLOSED')
})

describe('which items one decision can be about', () => {
  const one = about({ node: 'pay' }, { title: 'Pay 40 to Ana' })
  const same = (other: Item, graph = 'trip') =>
    likenessOf('trip', one) === likenessOf(graph, other) &&
    differences({ item: one, graph: 'trip' }, { item: other, graph }).length === 0

  test('E2 a title is rendered from data: items with other words are alike', () => {
    expect(same({ ...one, title: 'Pay 50 to Bo' })).toBe(true)
  })

  test.each([
    ['kind', { ...one, kind: 'question' } as Item],
    ['reason', { ...one, reason: 'tampered' } as Item],
    ['queue', { ...one, queue: 'other' }],
    ['node', about({ node: 'refund' }, { title: one.title })],
    ['tool', about({ node: 'pay', subject: null }, { title: one.title })],
  ])('E2 the same title does not make items of another %s alike', (trait, other) => {
    expect(same(other)).toBe(false)
    expect(differences({ item: one, graph: 'g' }, { item: other, graph: 'g' })).toContain(trait)
  })

  test('E2 nor those of another graph', () => {
    expect(same(one, 'visa')).toBe(false)
  })
})

test('E2 to send beside a record of unknown outcome is offered with a warning', () => {
  const send = (status: UnmatchedCall['status']) => {
    const one = about({ unmatched: [{ ...unmatched('send', 'a'), status }] }, drift())
    return choicesOf(view(one), one, late).find(({ outcome }) => outcome === 'send')?.consequence
  }
  expect(send('pending')).toContain('nobody knows yet whether it happened')
  expect(send('in_doubt')).toContain('nobody knows yet whether it happened')
  expect(send('committed')).not.toContain('nobody knows')
})
