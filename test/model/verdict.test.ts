// DESIGN §3 as data, transcribed from the page and not from the code, and compared with `verdict`
// over the whole product of its inputs. The first row that fits is the one that is expected.
import { describe, expect, test } from 'vitest'
import { type Known, type Verdict, verdict } from '../../src/model/replay/verdict.ts'
import type { CallStatus } from '../../src/model/run/records.ts'
import { replayClasses, stricter } from '../../src/model/tool/tool.ts'

/** Known, made flat, so that a row can be a pattern over it. */
interface Facts {
  class: Known['replayClass']
  decided: boolean
  recorded: 'nothing' | CallStatus
  verifies: boolean
  unknownAttempts: number
  window: 'open' | 'closed'
  callback: 'none' | 'open' | 'overdue'
  unmatched: boolean
  quiet: boolean
  unresolved: boolean
  alike: Known['alike']
  probe: Known['probe']
}

type Pattern = { [K in keyof Facts]?: Facts[K] | readonly Facts[K][] }

interface Row {
  says: string
  when: Pattern
  expected: string
  /** How many combinations are this row's, worked out by hand. */
  count: number
}

const keyed = 'idempotent_with_key'
const unsafe = 'unsafe_on_replay'
const nonPure = [keyed, unsafe] as const
const nothing = { recorded: 'nothing' } as const
const some = [1, 2]
const noYes = ['none', 'no', 'unknown'] as const

// 3 classes × unmatched × quiet × unresolved (8) × 5 probes = 120 situations of an undecided call,
// with nothing recorded (× 3 of what others may have done), or 4 statuses × verifies × 3 counts of
// attempts × 2 windows × 3 callbacks.
const table: readonly Row[] = [
  { says: 'a decision | any | obey it', when: { decided: true }, expected: 'obey', count: 17_640 },

  {
    says: 'nothing, and nothing unmatched | pure | first time: dispatch',
    when: { ...nothing, class: 'pure', unmatched: false },
    expected: 'dispatch',
    count: 2 * 2 * 5 * 3,
  },
  {
    says: 'nothing, but records stay unmatched | pure | dispatch, at once',
    when: { ...nothing, class: 'pure', unmatched: true },
    expected: 'dispatch',
    count: 2 * 2 * 5 * 3,
  },
  {
    says: 'nothing, but records are unmatched, not yet quiet | keyed, unsafe | wait for quiet',
    when: { ...nothing, class: nonPure, unmatched: true, quiet: false },
    expected: 'wait_for_quiet',
    count: 2 * 2 * 5 * 3,
  },
  {
    says: 'nothing, but records stay unmatched once quiet | keyed, unsafe | doubt: drift',
    when: { ...nothing, class: nonPure, unmatched: true, quiet: true },
    expected: 'doubt: drift',
    count: 2 * 2 * 5 * 3,
  },
  {
    says: 'nothing, and the same call was failed without knowledge | keyed, unsafe | a person',
    when: { ...nothing, class: nonPure, unmatched: false, unresolved: true },
    expected: 'doubt: unresolved',
    count: 2 * 2 * 5 * 3,
  },
  {
    says: 'nothing, and a receipt has the same words | keyed, unsafe | its result, nothing is sent',
    when: { ...nothing, class: nonPure, unmatched: false, unresolved: false, alike: 'answers' },
    expected: 'copy',
    count: 2 * 2 * 5,
  },
  {
    says: 'nothing, and others may have had the effect | keyed, unsafe | doubt: same_effect',
    when: { ...nothing, class: nonPure, unmatched: false, unresolved: false, alike: 'asks' },
    expected: 'doubt: same_effect',
    count: 2 * 2 * 5,
  },
  {
    says: 'nothing, and nothing unmatched | keyed, unsafe | first time: intent, dispatch',
    when: { ...nothing, class: nonPure, unmatched: false, unresolved: false },
    expected: 'dispatch',
    count: 2 * 2 * 5,
  },

  {
    // §3 says it of committed rows; §2 of every record that cannot be trusted.
    says: 'a record that does not verify | any | doubt: tampered',
    when: { verifies: false },
    expected: 'doubt: tampered',
    count: 120 * 4 * 18,
  },
  {
    says: 'committed, verifies | any | return it; nothing is dispatched',
    when: { recorded: 'committed' },
    expected: 'return',
    count: 120 * 18,
  },
  {
    says: 'failed for certain | any | throw the recorded error again',
    when: { recorded: 'failed' },
    expected: 'throw',
    count: 120 * 18,
  },
  {
    says: 'in doubt, undecided | any | stay parked on the same item; no second item',
    when: { recorded: 'in_doubt' },
    expected: 'stay_parked',
    count: 120 * 18,
  },

  {
    says: 'pending, asynchronous tool | any | wait for its callback until the deadline',
    when: { recorded: 'pending', callback: 'open' },
    expected: 'wait_for_callback',
    count: 120 * 6,
  },
  {
    // G2: what was certainly not sent may be tried again by any class.
    says: 'pending, every attempt certainly not sent | any | dispatch',
    when: { recorded: 'pending', unknownAttempts: 0 },
    expected: 'dispatch',
    count: 120 * 4,
  },
  {
    says: 'pending | pure | dispatch: twice does no harm',
    when: { recorded: 'pending', class: 'pure', unknownAttempts: some },
    expected: 'dispatch',
    count: 40 * 8,
  },
  {
    says: 'pending, window open or closed | keyed, unsafe | probe if there is one',
    when: { recorded: 'pending', class: nonPure, probe: 'unasked' },
    expected: 'probe',
    count: 2 * 8 * 8,
  },
  {
    says: 'pending, window open or closed | keyed, unsafe | probe yes → receipt',
    when: { recorded: 'pending', class: nonPure, probe: 'yes' },
    expected: 'record_probe',
    count: 2 * 8 * 8,
  },
  {
    says: 'pending, key window open | keyed | else dispatch with the recorded key',
    when: { recorded: 'pending', class: keyed, window: 'open', probe: noYes },
    expected: 'resend',
    count: 8 * 3 * 4,
  },
  {
    says: 'pending, key window closed | keyed | else doubt',
    when: { recorded: 'pending', class: keyed, window: 'closed', probe: noYes },
    expected: 'doubt: unknown',
    count: 8 * 3 * 4,
  },
  {
    says: 'pending | unsafe | else (no, unknown, none) doubt',
    when: { recorded: 'pending', class: unsafe, probe: noYes },
    expected: 'doubt: unknown',
    count: 8 * 3 * 8,
  },
]

function fits(facts: Facts, pattern: Pattern): boolean {
  return Object.entries(pattern).every(([key, wanted]) => {
    const value = facts[key as keyof Facts]
    // What is said of a record is never said of the lack of one.
    const ofRecord = ['verifies', 'unknownAttempts', 'window', 'callback'].includes(key)
    if (ofRecord && facts.recorded === 'nothing') return false
    return Array.isArray(wanted) ? wanted.includes(value) : wanted === value
  })
}

const domains: { [K in keyof Facts]: readonly Facts[K][] } = {
  class: replayClasses,
  decided: [false, true],
  recorded: ['nothing', 'pending', 'committed', 'failed', 'in_doubt'],
  verifies: [false, true],
  unknownAttempts: [0, 1, 2],
  window: ['open', 'closed'],
  callback: ['none', 'open', 'overdue'],
  unmatched: [false, true],
  quiet: [false, true],
  unresolved: [false, true],
  alike: ['none', 'answers', 'asks'],
  probe: ['none', 'unasked', 'yes', 'no', 'unknown'],
}

function product(): Facts[] {
  let all: Partial<Facts>[] = [{}]
  for (const [key, values] of Object.entries(domains)) {
    all = all.flatMap((facts) => values.map((value) => ({ ...facts, [key]: value })))
  }
  // Without a record its columns have no values: one combination stands for all of them.
  const first = { verifies: true, unknownAttempts: 0, window: 'open', callback: 'none' } as const
  return (all as Facts[]).filter(
    (facts) =>
      // What others may have done is asked of a call without a record only.
      (facts.recorded !== 'nothing' && facts.alike === 'none') ||
      (facts.recorded === 'nothing' &&
        (Object.keys(first) as (keyof typeof first)[]).every((key) => facts[key] === first[key])),
  )
}

function knownOf(facts: Facts): Known {
  const { decided, unmatched, quiet, unresolved, alike, probe, recorded } = facts
  const record =
    recorded === 'nothing'
      ? null
      : {
          status: recorded,
          verifies: facts.verifies,
          unknownAttempts: facts.unknownAttempts,
          keyWindow: facts.window,
          callback: facts.callback,
        }
  return { replayClass: facts.class, decided, record, unmatched, quiet, unresolved, alike, probe }
}

function spell(said: Verdict): string {
  return said.do === 'doubt' ? `doubt: ${said.reason}` : said.do
}

const combinations = product()
const judged = combinations.map((facts) => ({ facts, said: spell(verdict(knownOf(facts))) }))

/** The combinations, of those described, whose verdict is not one of these; a few say enough. */
function unless(described: (facts: Facts) => boolean, ...allowed: string[]) {
  const all = judged.filter(({ facts }) => described(facts))
  expect(all.length).toBeGreaterThan(0)
  return all.filter(({ said }) => !allowed.includes(said)).slice(0, 3)
}

/** The combinations, of those described, that have one of these verdicts. */
function among(described: (facts: Facts) => boolean, ...forbidden: string[]) {
  const all = judged.filter(({ facts }) => described(facts))
  expect(all.length).toBeGreaterThan(0)
  return all.filter(({ said }) => forbidden.includes(said)).slice(0, 3)
}

const sends = ['dispatch', 'resend']
const doubts = ['unknown', 'drift', 'tampered', 'unresolved', 'key_conflict', 'same_effect'].map(
  (reason) => `doubt: ${reason}`,
)

describe('C1 the verdict is the table of DESIGN §3', () => {
  test('C1 the product has 35,280 combinations, each of them once', () => {
    expect(combinations).toHaveLength(3 * 2 * 2 * 2 * 2 * 5 * (3 + 4 * 2 * 3 * 2 * 3))
    expect(combinations).toHaveLength(35_280)
    expect(new Set(combinations.map((facts) => JSON.stringify(knownOf(facts)))).size).toBe(35_280)
  })

  test('C1 every combination has a row, and every row as many as were worked out', () => {
    const counts = table.map(() => 0)
    const without = combinations.filter((facts) => {
      const index = table.findIndex((row) => fits(facts, row.when))
      if (index >= 0) counts[index] = (counts[index] ?? 0) + 1
      return index < 0
    })
    expect(without).toEqual([])
    expect(counts).toEqual(table.map((row) => row.count))
    expect(table.reduce((sum, row) => sum + row.count, 0)).toBe(35_280)
  })

  test.each(table)('C1 $says', (row) => {
    const own = judged.filter(({ facts }) => table.find((r) => fits(facts, r.when)) === row)
    expect(own).toHaveLength(row.count)
    expect(own.filter(({ said }) => said !== row.expected).slice(0, 3)).toEqual([])
  })

  test('C1 it is pure: the same facts, frozen, give the same verdict', () => {
    for (const { facts, said } of judged) {
      const known = knownOf(facts)
      Object.freeze(known.record)
      expect(spell(verdict(Object.freeze(known)))).toBe(said)
    }
  })
})

describe('C1 what must never be, over the whole product', () => {
  test('C1 C2 an unsafe call with an unknown attempt and no decision is never sent', () => {
    const dangerous = (f: Facts) =>
      f.class === unsafe && !f.decided && f.recorded !== 'nothing' && f.unknownAttempts > 0
    expect(among(dangerous, ...sends)).toEqual([])
  })

  test('C1 C2 an unsafe call is never re-sent, whatever is known', () => {
    expect(among((f) => f.class === unsafe, 'resend')).toEqual([])
  })

  test('C1 a record that does not verify is never returned, thrown, sent or probed (B8)', () => {
    const broken = (f: Facts) => f.recorded !== 'nothing' && !f.verifies
    expect(unless(broken, 'obey', 'doubt: tampered')).toEqual([])
  })

  test('C1 a keyed call whose window has closed is never re-sent (G6)', () => {
    const late = (f: Facts) => f.recorded !== 'nothing' && f.window === 'closed'
    expect(among(late, 'resend')).toEqual([])
    const sent = (f: Facts) => late(f) && f.class === keyed && f.unknownAttempts > 0
    expect(among(sent, ...sends)).toEqual([])
  })

  test('C1 only a committed record is returned, and only a failed one thrown', () => {
    expect(among((f) => f.recorded !== 'committed', 'return')).toEqual([])
    expect(among((f) => f.recorded !== 'failed', 'throw')).toEqual([])
  })

  test('C1 what is settled is never sent, whatever the probe says', () => {
    const settled = (f: Facts) => f.recorded === 'committed' || f.recorded === 'failed'
    expect(among(settled, ...sends, 'probe', 'record_probe')).toEqual([])
  })

  test('C1 a non-pure call without a record is not sent while others are unmatched (C3)', () => {
    const drifting = (f: Facts) =>
      f.class !== 'pure' && f.recorded === 'nothing' && f.unmatched && !f.decided
    expect(among(drifting, ...sends)).toEqual([])
  })

  test('C1 a pure call is never put before a person for want of a record', () => {
    const pure = (f: Facts) => f.class === 'pure' && f.recorded === 'nothing'
    expect(among(pure, ...doubts, 'wait_for_quiet', 'stay_parked')).toEqual([])
  })

  test('C1 a call failed without knowledge is not sent again without a decision (E2)', () => {
    const again = (f: Facts) =>
      f.class !== 'pure' && f.unresolved && f.recorded === 'nothing' && !f.decided
    expect(among(again, ...sends)).toEqual([])
  })

  test('C1 a call whose effect another may have had is not sent without a decision', () => {
    const alike = (f: Facts) =>
      f.class !== 'pure' && f.alike !== 'none' && f.recorded === 'nothing' && !f.decided
    expect(among(alike, ...sends)).toEqual([])
  })

  test('C1 a decision is always obeyed, and obeying needs one', () => {
    expect(unless((f) => f.decided, 'obey')).toEqual([])
    expect(among((f) => !f.decided, 'obey')).toEqual([])
  })

  test('C1 G1 a probe is asked before a doubt, and its yes is never a second send', () => {
    const open = (f: Facts) =>
      f.recorded === 'pending' && f.verifies && f.class !== 'pure' && f.unknownAttempts > 0
    expect(among((f) => open(f) && f.probe === 'unasked', ...doubts, ...sends)).toEqual([])
    expect(among((f) => open(f) && f.probe === 'yes', ...doubts, ...sends)).toEqual([])
    expect(among((f) => f.probe !== 'yes', 'record_probe')).toEqual([])
    expect(among((f) => f.probe !== 'unasked', 'probe')).toEqual([])
  })

  test('C1 I5 a probe that says no does not send an unsafe call again', () => {
    const denied = (f: Facts) =>
      f.class === unsafe && f.recorded === 'pending' && f.unknownAttempts > 0 && f.probe === 'no'
    expect(among(denied, ...sends)).toEqual([])
  })

  test('C1 A4 a stricter class never sends where a laxer one would not', () => {
    const at = new Map(judged.map(({ facts, said }) => [JSON.stringify(knownOf(facts)), said]))
    const saidFor = (facts: Facts, name: Facts['class']) =>
      at.get(JSON.stringify(knownOf({ ...facts, class: name }))) ?? ''
    const bad = combinations.filter((facts) => {
      const [pure, key, never] = replayClasses.map((name) => sends.includes(saidFor(facts, name)))
      return (key && !pure) || (never && !key)
    })
    expect(bad.slice(0, 3)).toEqual([])
  })

  test('C1 A4 the stricter of two classes does not depend on which was stored', () => {
    for (const [i, a] of replayClasses.entries()) {
      for (const [j, b] of replayClasses.entries()) {
        expect(stricter(a, b)).toBe(replayClasses[Math.max(i, j)])
      }
    }
    expect(replayClasses).toEqual(['pure', keyed, unsafe])
  })

  test('C1 every verdict that exists is reached, so no branch is dead', () => {
    expect([...new Set(judged.map(({ said }) => said))].sort()).toEqual(
      [
        ...['dispatch', 'doubt: drift', 'doubt: tampered', 'doubt: unknown', 'doubt: unresolved'],
        ...[
          'copy',
          'doubt: same_effect',
          'obey',
          'probe',
          'record_probe',
          'resend',
          'return',
          'stay_parked',
          'throw',
        ],
        ...['wait_for_callback', 'wait_for_quiet'],
      ].sort(),
    )
  })
})
