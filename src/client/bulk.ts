// One decision about many items. Only items that are alike can be decided so: whoever has looked at
// one of them knows what the others ask. Each is decided by itself, under its own version.
import { canonical } from '../model/canonical.ts'
import type { DecideRequest } from '../model/decide.ts'
import { CounterfoilError, isCounterfoilError } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import type { Decision, Item } from '../model/records.ts'

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
  find(itemId: string): Promise<Item>
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
  if (new Set(wanted.map(({ itemId }) => itemId)).size < wanted.length) {
    throw invalid('an item is named twice')
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

function checkAlike(items: readonly Item[]): void {
  const [first, ...others] = items
  if (first === undefined) return
  const other = others.find((item) => kindOf(item) !== kindOf(first))
  if (other === undefined) return
  throw new CounterfoilError(
    'ITEMS_DIFFER',
    `items ${first.itemId} and ${other.itemId} are not alike: they differ in ` +
      `${differences(first, other).join(', ')}; decide them one by one`,
    { details: { items: [first.itemId, other.itemId] } },
  )
}

/** What a person would have to look at anew. The data of each are its own. */
function traits({ kind, reason, queue, title, body }: Item): Record<string, unknown> {
  const { quorum = 1, schema = null } = body.approval ?? {}
  return { kind, reason, queue, title, tool: body.subject?.tool ?? null, schema, quorum }
}

function kindOf(item: Item): string {
  return canonical(traits(item))
}

function differences(a: Item, b: Item): string[] {
  const [one, two] = [traits(a), traits(b)]
  return Object.keys(one).filter((key) => canonical(one[key]) !== canonical(two[key]))
}

function invalid(message: string): CounterfoilError {
  return new CounterfoilError('DECISION_INVALID', message)
}
