import type { Changes } from '../../store/store.ts'
import {
  attempt,
  type Bench,
  decision,
  event,
  evidence,
  record,
  ref,
  type Subject,
  settled,
} from './fixtures.ts'

const ended = attempt(1, { endedAt: 3_000, outcome: 'unknown' })
const failed = { status: 'failed', errorJson: '{}', resultJson: null } as const

/** What was put first, what is tried then, and whether it may. */
const cases: [name: string, first: Changes, then: Changes, may: boolean][] = [
  ['a committed call', { records: [settled(record())] }, { records: [record()] }, false],
  [
    'the result of a committed call',
    { records: [settled(record())] },
    { records: [settled(record(), { resultJson: '"forged"' })] },
    false,
  ],
  [
    'a failed call',
    { records: [settled(record(), failed)] },
    { records: [settled(record())] },
    false,
  ],
  [
    'a call in doubt may settle',
    { records: [record(1, { status: 'in_doubt' })] },
    { records: [settled(record())] },
    true,
  ],
  [
    'how an attempt ended',
    { attempts: [ended] },
    { attempts: [{ ...ended, outcome: 'landed' }] },
    false,
  ],
  ['that an attempt ended', { attempts: [ended] }, { attempts: [attempt()] }, false],
  [
    'who made an attempt',
    { attempts: [attempt()] },
    { attempts: [attempt(1, { workerId: 'w_2' })] },
    false,
  ],
  ['an attempt may end', { attempts: [attempt()] }, { attempts: [ended] }, true],
  ['an end said twice is no change', { attempts: [ended] }, { attempts: [ended] }, true],
  [
    'what a decision says',
    { decisions: [decision()] },
    { decisions: [decision('d1', { outcome: 'happened' })] },
    false,
  ],
  [
    'who decided',
    { decisions: [decision()] },
    { decisions: [decision('d1', { by: 'bob' })] },
    false,
  ],
  [
    'a decision may be used',
    { decisions: [decision()] },
    { decisions: [decision('d1', { seq: 4, usedBy: 'a2' })] },
    true,
  ],
  [
    'a decision is used once',
    { decisions: [decision('d1', { usedBy: 'a2' })] },
    { decisions: [decision('d1', { usedBy: 'a3' })] },
    false,
  ],
  [
    'a voided decision',
    { decisions: [decision('d1', { voidedAt: 7_000 })] },
    { decisions: [decision()] },
    false,
  ],
  [
    'what evidence says',
    { evidence: [evidence()] },
    { evidence: [evidence(1, { outcome: 'not_sent' })] },
    false,
  ],
  [
    'evidence may be given its seq',
    { evidence: [evidence()] },
    { evidence: [evidence(1, { seq: 3 })] },
    true,
  ],
  [
    'the seq of evidence',
    { evidence: [evidence(1, { seq: 3 })] },
    { evidence: [evidence(1, { seq: 4 })] },
    false,
  ],
  [
    'what a decision was shown',
    { decisions: [decision('d1', { shownHash: 's1' })] },
    { decisions: [decision('d1', { shownHash: 's2' })] },
    false,
  ],
  [
    'the deadline of a committed call',
    { records: [settled(record(1, { dueAt: 9_000 }))] },
    { records: [settled(record(1, { dueAt: 9_001 }))] },
    false,
  ],
  [
    'the deadline of an intent may be set',
    { records: [record()] },
    { records: [record(1, { dueAt: 9_000 })] },
    true,
  ],
  [
    'an attempt may be given its token',
    { attempts: [attempt()] },
    { attempts: [attempt(1, { tokenHash: 't1' })] },
    true,
  ],
  [
    'the token of an attempt',
    { attempts: [attempt(1, { tokenHash: 't1' })] },
    { attempts: [attempt(1, { tokenHash: 't2' })] },
    false,
  ],
  [
    'that an attempt has a token',
    { attempts: [attempt(1, { tokenHash: 't1' })] },
    { attempts: [attempt()] },
    false,
  ],
  [
    'an attempt may be heard of again and again',
    { attempts: [attempt(1, { tokenHash: 't1', beatAt: 2_500, beatJson: '1' })] },
    { attempts: [attempt(1, { tokenHash: 't1', beatAt: 2_600, beatJson: null })] },
    true,
  ],
  [
    'an attempt that has ended may still be heard of',
    { attempts: [ended] },
    { attempts: [{ ...ended, beatAt: 3_500, beatJson: '{"done":5}' }] },
    true,
  ],
  [
    'how an attempt ended, with a word about it,',
    { attempts: [ended] },
    { attempts: [{ ...ended, outcome: 'landed', beatAt: 3_500 }] },
    false,
  ],
  [
    'where the result of a committed call lies',
    { records: [settled(record(), { resultJson: null, resultDigest: 'a'.repeat(64) })] },
    { records: [settled(record(), { resultJson: null, resultDigest: 'b'.repeat(64) })] },
    false,
  ],
]

export function immutabilityConcern({ describe, on, expect }: Bench): void {
  describe('immutability', () => {
    for (const [name, first, then, may] of cases) {
      const title = may ? name : `${name} cannot be rewritten`
      on(`B8 ${title}`, async (s) => {
        const run = await s.held()
        await s.commit(run, first)
        const before = await rows(s)
        if (may) {
          expect(await s.commit(run, then)).toBe('done')
          expect((await rows(s)).every((row) => row.verifies !== false)).toBe(true)
        } else {
          const forged = s.commit(run, { ...then, events: [event('beside')] })
          await expect(forged).rejects.toMatchObject({ code: 'ROW_IMMUTABLE', retryable: false })
          expect(await rows(s)).toEqual(before)
          expect((await s.events(run)).some((row) => row.kind === 'beside')).toBe(false)
          expect(await s.commit(run, { events: [event('after')] })).toBe('done')
        }
      })
    }
  })
}

async function rows(s: Subject): Promise<(object & { verifies?: boolean })[]> {
  const { records, attempts, decisions, evidence } = await s.load(ref())
  return [...records, ...decisions, ...evidence, ...attempts.map((row) => ({ ...row }))]
}
