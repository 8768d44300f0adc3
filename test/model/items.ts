// Items of every kind, for tests of what can be decided about them.
import type { ApprovalBody } from '../../src/model/decisions/approval.ts'
import type { DoubtReason, Item, ItemBody, UnmatchedCall } from '../../src/model/run/records.ts'
import { item } from '../../src/testing/store/fixtures.ts'

export const reasons: Readonly<Record<DoubtReason, Partial<ItemBody>>> = {
  unknown: {},
  tampered: {},
  drift: { unmatched: [unmatched('send', 'a'), unmatched('other', 'b')] },
  same_effect: { unmatched: [unmatched('send', 'a'), unmatched('other', 'b')] },
  unresolved: {},
  key_conflict: {},
  checkpoint: { subject: null, damage: { why: 'torn', visit: 3, good: [2, 1] } },
  failed: {},
  poison: { subject: null },
}

export function unmatched(tool: string, inputHash: string): UnmatchedCall {
  // As long as the command line wants a hash to be.
  const place = { tool, inputHash: inputHash.repeat(8), occurrence: 0, nth: 0 }
  return { ...place, status: 'committed', input: {}, result: null }
}

export function about(body: Partial<ItemBody>, more: Partial<Item> = {}): Item {
  const base = item('i1', more)
  return { ...base, body: { ...base.body, ...body } }
}

export function approval(tool: string, more: Partial<ApprovalBody> = {}): Item {
  const subject = { tool, inputHash: 'h1', occurrence: 0, nth: 0 }
  const terms = { shownHash: 'x', deciders: null, schema: null, why: null, ...more }
  return about({ subject, approval: terms }, { kind: 'approval', reason: null })
}

export const kinds: [string, Item][] = [
  ...Object.entries(reasons).map(([reason, body]): [string, Item] => {
    return [reason, about(body, { reason: reason as DoubtReason })]
  }),
  ['drift without a record of its tool', about({ unmatched: [unmatched('other', 'b')] }, drift())],
  ['records left behind', about({ subject: null, unmatched: [unmatched('send', 'a')] }, drift())],
  ['damage without a good visit', damaged()],
  ['a question', about({}, { kind: 'question', reason: null })],
  ['an approval', approval('counterfoil.approval')],
  ['a held call', approval('send')],
  ['an approval of two', approval('counterfoil.approval', { quorum: 2 })],
]

export function drift() {
  return { reason: 'drift' } as const
}

function damaged(): Item {
  return about(
    { subject: null, damage: { why: 'torn', visit: 3, good: [] } },
    { reason: 'checkpoint' },
  )
}
