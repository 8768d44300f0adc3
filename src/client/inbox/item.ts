// An item with all that is known around it, for whoever shows it to a person.

import type { Decider } from '../../model/decisions/vote.ts'
import { type Item, keyOf, type Subject } from '../../model/run/records.ts'
import { rowsOf } from '../../store/pages.ts'
import type { CoreStore, Loaded, WorkerRow } from '../../store/store.ts'
import type { Inbox, ItemView } from './inbox.ts'

interface Desk {
  readonly store: CoreStore
  readonly inbox: Inbox
}

/** An item, and what the store knows besides. */
export interface ItemLook {
  readonly item: ItemView
  readonly workers: ReadonlyMap<string, WorkerRow>
  /** The class of the call it is about, as it is on record. */
  readonly replayClass: string | null
  /** Why an earlier answer could not be used, if this was asked before. */
  readonly unusable: string | null
}

export async function lookAt(
  cf: Desk,
  itemId: string,
  who: Decider | null = null,
): Promise<ItemLook> {
  const item = await cf.inbox.get(itemId, who)
  const workers = new Map((await cf.store.workers()).map((row) => [row.workerId, row]))
  const { subject, scope } = item.body
  const place = { visit: item.visit, ...(scope === null ? {} : { scope }) }
  const loaded = subject && (await cf.store.load(item, place))
  const record = loaded?.records.find((row) => subject && keyOf(row) === keyOf(subject))
  const unusable = await unusableBefore(cf, item, loaded)
  return { item, workers, replayClass: record?.replayClass ?? null, unusable }
}

/** Asked again after a decision: the run's history says what was wrong with it. */
async function unusableBefore(cf: Desk, item: Item, loaded: Loaded | null): Promise<string | null> {
  const { subject } = item.body
  const same = (old: Item) =>
    old.body.subject !== null && keyOf(old.body.subject) === keyOf(subject as Subject)
  const before = loaded?.items.some((old) => old.state === 'decided' && same(old)) ?? false
  if (subject === null || item.state !== 'open' || !before) return null
  let said: string | null = null
  for await (const { kind, data, visit } of rowsOf((page) => cf.store.listEvents(item, page))) {
    const about = kind === 'decision_unusable' && visit === item.visit
    if (about && data['tool'] === subject.tool) said = String(data['message'])
  }
  return said
}
