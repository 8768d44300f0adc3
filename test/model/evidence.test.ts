// I11: what late evidence changes, over hand-made views of a run.
import { describe, expect, test } from 'vitest'
import { applyEvidence, type EvidenceView } from '../../src/model/replay/evidence.ts'
import type {
  Attempt,
  AttemptOutcome,
  CallRecord,
  Decision,
  Evidence,
  Item,
} from '../../src/model/run/records.ts'
import {
  attempt,
  decision,
  evidence,
  item,
  newRun,
  record,
  settled,
} from '../../src/testing/store/fixtures.ts'

const waitingFor = { kind: 'doubt', items: ['i1'], since: 5_000, queue: 'default' } as const
const parked = newRun('r1', { state: 'waiting_human', waitingFor }).run
const running = newRun('r1', { state: 'running', workerId: 'w_2', fence: 2 }).run

const inDoubt = record(1, { status: 'in_doubt' })
const key = 'send/h1/0'
const others: readonly AttemptOutcome[] = ['refused', 'not_sent', 'unknown']
const all: readonly AttemptOutcome[] = ['landed', ...others]

function view(more: Partial<EvidenceView> = {}): EvidenceView {
  const open = { run: parked, records: [inDoubt], attempts: [attempt()], items: [item()] }
  return { ...open, decisions: [], ...more }
}

/** The n-th attempt of the call. */
function nth(number: number, more: Partial<Attempt> = {}): Attempt {
  return attempt(1, { attempt: number, attemptId: `0#1/${key}/${number}`, ...more })
}

function about(number: number, outcome: AttemptOutcome): Evidence {
  return evidence(1, { attemptId: `0#1/${key}/${number}`, outcome })
}

function itemAt(number: number, more: Partial<Item> = {}): Item {
  const base = item('i2', more)
  return { ...base, body: { ...base.body, attempt: number } }
}

function applied(now: EvidenceView, learnt: Evidence = evidence()) {
  const changes = applyEvidence(now, learnt)
  if (changes === null) throw new Error('nothing changed')
  return { ...changes, kinds: changes.events.map((event) => event.kind) }
}

const wakes = { arrive: true, state: 'pending', waitingFor: null }

describe('I11 evidence that nobody can use changes nothing', () => {
  test('I11 about an attempt that is not of this visit', () => {
    expect(applyEvidence(view({ attempts: [] }), evidence())).toBeNull()
    expect(applyEvidence(view(), evidence(2))).toBeNull()
  })

  test('I11 about a call without a record', () => {
    expect(applyEvidence(view({ records: [] }), evidence())).toBeNull()
    expect(applyEvidence(view({ records: [record(2)] }), evidence())).toBeNull()
  })

  test.each(all)(
    'I11 I4 about an attempt that has ended (%s): said twice, it counts once',
    (outcome) => {
      const over = attempt(1, { endedAt: 3_500, outcome })
      expect(applyEvidence(view({ attempts: [over] }), evidence())).toBeNull()
      const first = applied(view())
      expect(applyEvidence(view({ attempts: first.attempts }), evidence())).toBeNull()
    },
  )
})

describe('I11 evidence ends its attempt, and is kept', () => {
  test.each(all)('I11 %s', (outcome) => {
    const learnt = evidence(1, { outcome })
    const changes = applied(view(), learnt)
    expect(changes.attempts).toEqual([attempt(1, { endedAt: 4_000, outcome })])
    expect(changes.evidence).toEqual([learnt])
    expect(changes.events[0]).toMatchObject({
      at: 4_000,
      data: { attemptId: learnt.attemptId, outcome, externalId: 'm1' },
    })
  })

  test('I11 nothing that was given is changed', () => {
    const before = view({ decisions: [decision()] })
    const copy = structuredClone(before)
    applyEvidence(before, evidence())
    expect(before).toEqual(copy)
  })
})

describe('I11 it closes an undecided doubt of that same attempt', () => {
  test.each(['landed', 'refused', 'not_sent'] as const)(
    'I11 %s closes it, raises its version and wakes the run',
    (outcome) => {
      const changes = applied(view(), evidence(1, { outcome }))
      expect(changes.items).toEqual([
        item('i1', {
          ...{ state: 'closed', version: 2, closedAt: 4_000 },
          closedBy: `late evidence: ${outcome}`,
        }),
      ])
      expect(changes.run).toEqual(wakes)
      expect(changes.kinds).toEqual(['evidence', 'state'])
      expect(changes.events[1]).toMatchObject({
        at: 4_000,
        data: { from: 'waiting_human', to: 'pending', cause: 'late evidence' },
      })
      expect(changes.decisions).toEqual([])
    },
  )

  test('I11 "it ended, and nobody knows how" settles nothing: the item is only raised', () => {
    const changes = applied(view(), evidence(1, { outcome: 'unknown' }))
    expect(changes.items).toEqual([item('i1', { version: 2 })])
    expect(changes.run).toEqual({})
    expect(changes.kinds).toEqual(['evidence'])
  })

  test('I11 a run that does not wait is told, and keeps its state', () => {
    const changes = applied(view({ run: running }))
    expect(changes.items[0]?.state).toBe('closed')
    expect(changes.run).toEqual({ arrive: true })
    expect(changes.kinds).toEqual(['evidence'])
  })

  test('I11 G2 a refusal settles nothing while another attempt is unknown', () => {
    for (const outcome of ['unknown', null, 'landed'] as const) {
      const attempts = [nth(1, { outcome, endedAt: outcome && 1 }), nth(2)]
      const changes = applied(view({ attempts, items: [itemAt(2)] }), about(2, 'refused'))
      expect(changes.items).toEqual([itemAt(2, { version: 2 })])
      expect(changes.run).toEqual({})
    }
  })

  test('I11 G2 a refusal settles it when every other attempt was certain too', () => {
    const attempts = [
      nth(1, { outcome: 'not_sent', endedAt: 1 }),
      nth(2, { outcome: 'refused', endedAt: 2 }),
      nth(3),
      // Another call's attempt, still out: none of this one's business.
      attempt(2),
    ]
    const changes = applied(view({ attempts, items: [itemAt(3)] }), about(3, 'refused'))
    expect(changes.items[0]?.state).toBe('closed')
    expect(changes.run).toEqual(wakes)
  })

  test('I11 doubts of another reason, or about another call, are left alone', () => {
    const other = item('i9')
    const elsewhere = { tool: 'send', inputHash: 'h2', occurrence: 0, nth: 2 }
    const items = [
      item('i7', { reason: 'drift' }),
      item('i8', { reason: 'tampered' }),
      { ...other, body: { ...other.body, subject: elsewhere } },
      { ...other, body: { ...other.body, subject: null } },
    ]
    const changes = applied(view({ items }))
    expect(changes.items).toEqual([])
    expect(changes.run).toEqual({ arrive: true })
  })

  test.each(['decided', 'closed'] as const)('I11 an item that is %s is not touched', (state) => {
    const changes = applied(view({ items: [item('i1', { state })] }))
    expect(changes.items).toEqual([])
  })

  test('I10 I11 a park under way must not overlook it: an arrival, without an item', () => {
    for (const outcome of all) {
      const pending = view({ run: running, records: [record()], items: [] })
      const changes = applied(pending, evidence(1, { outcome }))
      expect(changes.run).toEqual({ arrive: true })
      expect(changes.kinds).toEqual(['evidence'])
    }
  })
})

describe('I11 landed voids a grant that is not yet used', () => {
  const decidedItem = item('i1', { state: 'decided', version: 2 })
  const granted = view({ items: [decidedItem], decisions: [decision()] })

  test('I11 the grant is void, its item is raised and closed, the run goes on', () => {
    const changes = applied(granted)
    expect(changes.decisions).toEqual([decision('d1', { voidedAt: 4_000 })])
    expect(changes.items).toEqual([
      item('i1', {
        ...{ state: 'closed', version: 3, closedAt: 4_000 },
        closedBy: 'its call had landed after all',
      }),
    ])
    expect(changes.run).toEqual(wakes)
    expect(changes.kinds).toEqual(['evidence', 'state'])
  })

  test('I11 a run that is under way is told, so that the grant cannot be consumed unseen', () => {
    const changes = applied({ ...granted, run: running })
    expect(changes.decisions).toHaveLength(1)
    expect(changes.run).toEqual({ arrive: true })
  })

  test.each(others)('I11 %s leaves the grant as it is', (outcome) => {
    const changes = applied(granted, evidence(1, { outcome }))
    expect(changes.decisions).toEqual([])
    expect(changes.items).toEqual([])
    expect(changes.kinds).toEqual(['evidence'])
  })

  test('I11 a grant that is void already is not asked', () => {
    const decisions = [decision('d1', { voidedAt: 3_900 })]
    const changes = applied(view({ decisions }))
    expect(changes.decisions).toEqual([])
    expect(changes.items[0]).toMatchObject({ itemId: 'i1', state: 'closed' })
  })

  test('I11 a grant about another call is not touched', () => {
    const subject = { tool: 'send', inputHash: 'h2', occurrence: 0, nth: 2 }
    const changes = applied(view({ decisions: [decision('d1', { subject })] }))
    expect(changes.decisions).toEqual([])
    expect(changes.items[0]?.state).toBe('closed')
  })
})

describe('I11 after any other decision it is a conflict, on record', () => {
  /** It is said, its attempt has ended, and nothing else moves: what was decided stands. */
  function expectOnly(kind: string, now: EvidenceView, learnt: Evidence = evidence()): void {
    const changes = applied(now, learnt)
    expect(changes.kinds).toEqual([kind])
    expect(changes.attempts).toHaveLength(1)
    expect(changes.attempts[0]).toMatchObject({ endedAt: 4_000, outcome: learnt.outcome })
    expect(changes).toMatchObject({ evidence: [], items: [], decisions: [], run: {} })
  }

  const items = [item('i1', { state: 'decided', version: 2 })]
  const given = (more: Partial<Decision>) => view({ items, decisions: [decision('d1', more)] })
  const happened = { outcome: 'happened', resultJson: '{"id":"m1"}' } as const

  test.each(['fail', 'abandon'] as const)('I11 landed after %s', (outcome) => {
    expectOnly('evidence_conflict', given({ outcome }))
  })

  test('I11 landed after "it happened": a conflict if the results differ', () => {
    expectOnly('evidence', given(happened))
    expectOnly('evidence_conflict', given({ ...happened, resultJson: '{"id":"m2"}' }))
    expectOnly('evidence_conflict', given({ ...happened, resultJson: null }))
  })

  test('I11 a refusal after "it happened" contradicts it', () => {
    const refused = evidence(1, { outcome: 'refused', resultJson: null })
    expectOnly('evidence_conflict', given(happened), refused)
  })

  test('I11 landed after a grant that was used: it has been sent twice', () => {
    const used = decision('d1', { usedBy: `0#1/${key}/2` })
    const attempts = [nth(1), nth(2)]
    expectOnly('evidence_conflict', view({ attempts, items: [], decisions: [used] }))
    const receipt = settled(record(), { attempt: 2 })
    const now = view({ attempts, records: [receipt], items: [], decisions: [used] })
    expectOnly('evidence_conflict', now)
  })

  test('I11 landed after a certain failure was recorded', () => {
    const failed: CallRecord = settled(record(), { status: 'failed', resultJson: null })
    expectOnly('evidence_conflict', view({ records: [failed], items: [] }))
  })

  test('I11 a keyed call may land at every attempt: its upstream counts them as one', () => {
    const receipt = settled(record(1, { replayClass: 'idempotent_with_key' }), { attempt: 2 })
    expectOnly('evidence', view({ records: [receipt], attempts: [nth(1), nth(2)], items: [] }))
  })

  test.each(others)('I11 %s of a call that is settled is noted, and no more', (outcome) => {
    expectOnly('evidence', view({ records: [settled(record())] }), evidence(1, { outcome }))
  })

  test.each(others)('I11 %s after a decision to fail is no conflict', (outcome) => {
    expectOnly('evidence', given({ outcome: 'fail' }), evidence(1, { outcome }))
  })

  test('I11 landed agrees with a receipt that the probe of this very attempt gave', () => {
    expect(applied(view({ records: [settled(record())], items: [] })).kinds).toEqual(['evidence'])
  })

  test('I11 landed closes the doubt of the very attempt that used a grant', () => {
    const granted = decision('d1', { usedBy: `0#1/${key}/2` })
    const attempts = [nth(1, { outcome: 'unknown', endedAt: 1 }), nth(2)]
    const now = view({ attempts, items: [itemAt(2)], decisions: [granted] })
    const changes = applied(now, about(2, 'landed'))
    expect(changes.kinds).toEqual(['evidence', 'state'])
    expect(changes.items[0]?.state).toBe('closed')
    expect(changes.run).toEqual(wakes)
  })
})

// What follows is I11 too, and the code does not hold it yet: each of these turns red, and loses
// its `fails`, on the day it does.
describe('I11 gaps', () => {
  const granted = decision('d1', { usedBy: `0#1/${key}/2` })
  const ruledOut = nth(1, { outcome: 'unknown', endedAt: 1 })

  test('I11 landed closes the doubt of a call that drift allowed to be sent', () => {
    const sent = decision('d1', { outcome: 'send', reason: 'drift', usedBy: `0#1/${key}/1` })
    const changes = applied(view({ decisions: [sent] }))
    expect(changes.items[0]?.state).toBe('closed')
  })

  test('I11 G2 a refusal settles it when a used grant had ruled the others out', () => {
    const now = view({ attempts: [ruledOut, nth(2)], items: [itemAt(2)], decisions: [granted] })
    const changes = applied(now, about(2, 'refused'))
    expect(changes.items[0]?.state).toBe('closed')
    expect(changes.run).toEqual(wakes)
  })

  test('I11 a keyed call whose first attempt landed is no doubt any more', () => {
    const keyed = record(1, { status: 'in_doubt', replayClass: 'idempotent_with_key', attempt: 3 })
    const attempts = [nth(1), nth(2), nth(3)]
    const changes = applied(view({ records: [keyed], attempts, items: [itemAt(3)] }))
    expect(changes.items[0]?.state).toBe('closed')
    expect(changes.run).toEqual(wakes)
  })

  test('I11 G2 a refusal of the one unknown attempt ends the doubt of a later one', () => {
    const keyed = record(1, { status: 'in_doubt', replayClass: 'idempotent_with_key', attempt: 2 })
    const attempts = [nth(1), nth(2, { outcome: 'refused', endedAt: 2 })]
    const now = view({ records: [keyed], attempts, items: [itemAt(2)] })
    expect(applied(now, about(1, 'refused')).items[0]?.state).toBe('closed')
  })
})
