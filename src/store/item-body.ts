// What an item shows, as it was read from a row that somebody may have damaged. An item that cannot
// be read is still one: it shows where to look.
import type { Item } from '../model/run/records.ts'
import { isRecord } from '../model/run/state.ts'

type Body = Item['body']

const unreadable: Body = {
  subject: null,
  node: '',
  scope: null,
  input: null,
  attempt: 0,
  idempotencyKey: null,
  unmatched: [],
  probe: null,
  data: null,
  approval: null,
  damage: null,
  error: { code: 'STORE_CORRUPT', message: 'the row of this item cannot be read' },
}

/** What it is used by is there, and is of its kind; members that came later may be missing. */
export function bodyOf(value: unknown): Body {
  if (!isRecord(value)) return unreadable
  const { subject, node, scope, unmatched, error, approval, damage } = value
  const isWhole =
    typeof node === 'string' &&
    isNoneOr(subject, isSubject) &&
    isNoneOr(scope, (it) => isText(it['nodeId']) && isText(it['checkpointId'])) &&
    Array.isArray(unmatched) &&
    unmatched.every((one) => isRecord(one) && isSubject(one) && isText(one['status'])) &&
    isNoneOr(error, (it) => isText(it['message'])) &&
    isNoneOr(approval, () => true) &&
    isNoneOr(damage, (it) => Array.isArray(it['good']))
  return isWhole ? (value as unknown as Body) : unreadable
}

function isNoneOr(value: unknown, is: (value: Record<string, unknown>) => boolean): boolean {
  return value === undefined || value === null || (isRecord(value) && is(value))
}

function isSubject(value: Record<string, unknown>): boolean {
  const { tool, inputHash, occurrence, nth } = value
  return [tool, inputHash].every(isText) && [occurrence, nth].every((n) => typeof n === 'number')
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}
