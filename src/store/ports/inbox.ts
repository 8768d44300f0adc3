// The port of what waits for people, and of what they said. Items and decisions are written by the
// ledger's port, with the run that they are about; here they are found.
import type { Decision, Item, RunRef } from '../../model/run/records.ts'
import type { Sealed } from './ledger.ts'
import type { ListRequest, Page } from './page.ts'

export interface ItemFilter extends ListRequest {
  readonly kind?: Item['kind']
  readonly state?: Item['state']
  readonly runId?: string
  readonly queue?: string
  /** Open ones whose SLA has passed. */
  readonly overdue?: boolean
  readonly newestFirst?: boolean
}

export interface InboxPort {
  getItem(namespace: string, itemId: string): Promise<Item | null>
  listItems(filter: ItemFilter): Promise<Page<Item>>
  /** Open items past their SLA that were not noticed yet, of all namespaces. */
  listOverdue(countMax: number): Promise<Item[]>
  listDecisions(ref: RunRef): Promise<Sealed<Decision>[]>
}
