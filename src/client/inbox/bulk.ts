// One decision about many items. Only items that are alike can be decided so: whoever has looked at
// one of them knows what the others ask. Each is decided by itself, under its own version.

import { differences, outcomesForMany, type Placed } from '../../model/decisions/alike.ts'
import type { DecideRequest } from '../../model/decisions/decide.ts'
import { type CounterfoilError, errorFor, isCounterfoilError } from '../../model/errors.ts'
import * as limits from '../../model/limits.ts'
import type { Decision } from '../../model/run/records.ts'

export interface BulkItem {
  readonly itemId: string
  /** The version that was looked at. */
  readonly version: number
}

/** An answer of one's own for each would be many decisions, not one. */
export type BulkRequest = Omit<DecideRequest, 'version' | 'result' | 'record'>

export type BulkResult =
  | { readonly itemId: string; readonly decision: Decision }
  | { readonly itemId: string; readonly error: { readonly code: string; readonly message: string } }

export interface Desk {
  find(itemId: string): Promise<Placed>
  decide(itemId: string, request: DecideRequest): Promise<Decision>
}

export async function decideAlike(
  desk: Desk,
  wanted: readonly BulkItem[],
  request: BulkRequest,
): Promise<BulkResult[]> {
  if (wanted.length === 0 || wanted.length > limits.bulkMax) {
    throw invalid(`from 1 to ${limits.bulkMax} items can be decided at once, not ${wanted.length}`)
  }
  if (!outcomesForMany.includes(request.outcome)) {
    throw invalid(
      `"${request.outcome}" cannot be said of many items at once, only ` +
        `${outcomesForMany.join(', ')}: decide them one by one`,
    )
  }
  if (new Set(wanted.map(({ itemId }) => itemId)).size < wanted.length) {
    const twice = wanted.find(({ itemId }, n) => wanted.findIndex(sameAs(itemId)) < n)
    throw invalid(`item ${twice?.itemId} is named twice: name each once`)
  }
  checkAlike(await Promise.all(wanted.map(({ itemId }) => desk.find(itemId))))
  const results: BulkResult[] = []
  for (const { itemId, version } of wanted) {
    try {
      results.push({ itemId, decision: await desk.decide(itemId, { ...request, version }) })
    } catch (error) {
      if (!isCounterfoilError(error)) throw error
      const { code, message } = error
      results.push({ itemId, error: { code, message } })
    }
  }
  return results
}

const sameAs = (id: string) => (one: BulkItem) => one.itemId === id

function checkAlike(items: readonly Placed[]): void {
  const [first, ...others] = items
  if (first === undefined) return
  const other = others.find((one) => differences(first, one).length > 0)
  if (other === undefined) return
  const ids = [first.item.itemId, other.item.itemId]
  throw errorFor('ITEMS_DIFFER', ids, differences(first, other))
}

function invalid(message: string): CounterfoilError {
  return errorFor('DECISION_INVALID', message)
}
