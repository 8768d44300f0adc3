// Errors about what waits for a person, and what people say about it.
import { inWords, type Wordings } from './said.ts'

export const peopleErrors = {
  ITEM_NOT_FOUND: (itemId: string, more = '') => ({
    message: `there is no item ${itemId}${more}`,
    details: { itemId },
  }),
  ITEM_CHANGED: (itemId: string, version: number, seen: number) => ({
    message:
      `item ${itemId} is at version ${version}, and you looked at ${seen}: ` +
      'read it again, then decide',
    details: { itemId, version },
  }),
  ITEM_CLOSED: (itemId: string, what: string) => ({
    message: `${what}; nothing is left to decide`,
    details: { itemId },
  }),
  ITEMS_DIFFER: (items: readonly string[], differences: readonly string[]) => ({
    message:
      `items ${items.join(' and ')} are not alike: they differ in ` +
      `${differences.join(', ')}; decide them one by one`,
    details: { items },
  }),
  DECISION_INVALID: inWords,
  /** `until`: Infinity while nobody can say. */
  DECISION_TOO_EARLY: (what: string, { until, why }: { until: number; why: string }) => ({
    message:
      `${what} is not allowed yet: ${why}. Look again after that, or state ` +
      'madeSure: true, which is kept on record under your name',
    details: { until: until === Number.POSITIVE_INFINITY ? null : until },
  }),
  DECISION_FORBIDDEN: (itemId: string, why: string) => ({ message: why, details: { itemId } }),
  VOTE_CAST: (itemId: string, by: string, says: string) => ({
    message: `${by} has voted about item ${itemId} (${says}): a vote is final`,
    details: { itemId },
  }),
} as const satisfies Wordings
