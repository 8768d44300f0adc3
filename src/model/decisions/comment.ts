// Comments: what people say about an item without deciding it. Rows like decisions, signed and
// kept; the item's version is not raised, because what is decided about has not changed.

import { errorFor } from '../errors.ts'
import { type Decision, eventOf } from '../run/records.ts'
import { type DecideChanges, decisionOf } from './decide.ts'
import type { DecideView } from './may-decide.ts'

/** It has no subject: it decides nothing. */
export function comment(
  { run, items }: Pick<DecideView, 'run' | 'items'>,
  itemId: string,
  said: { by: string; text: string },
  made: { decisionId: string; at: number },
): { changes: Pick<DecideChanges, 'decisions' | 'events'>; comment: Decision } {
  const item = items.find((row) => row.itemId === itemId)
  if (item === undefined) throw errorFor('ITEM_NOT_FOUND', itemId)
  const { by, text: reason } = said
  if (typeof reason !== 'string' || reason.trim() === '') {
    throw errorFor('DECISION_INVALID', 'a comment needs `text`')
  }
  const request = { outcome: 'comment' as const, by, reason, version: item.version }
  const row = { ...decisionOf(item, request, made), subject: null }
  const event = eventOf(run, made.at, 'commented', { item: itemId, by: row.by, text: row.why })
  return { changes: { decisions: [row], events: [event] }, comment: row }
}
