// The person who decides: looks at the world and tells the truth.
import type { Inbox } from '../../src/client/inbox/inbox.ts'
import { attemptPlace } from '../../src/model/run/attempt-id.ts'
import { type Item, keyOf, type UnmatchedCall } from '../../src/model/run/records.ts'
import type { Store } from '../../src/store/store.ts'
import type { Life } from './life.ts'
import type { SentAttempt, SimResult } from './world.ts'

export async function decideTruthfully(life: Life, store: Store, inbox: Inbox): Promise<void> {
  const { items } = await inbox.list()
  const [item] = items
  if (item === undefined) {
    life.notes.push('PARKED WITHOUT AN ITEM')
    return
  }
  const said = item.reason === 'unknown' ? unknown(life, item) : drift(life, item)
  if (!['unknown', 'drift'].includes(item.reason ?? '')) {
    life.notes.push(`UNEXPECTED ITEM: ${item.reason}`)
  }
  await inbox.decide(item.itemId, {
    ...said,
    by: 'sim',
    reason: 'looked at the world',
    version: item.version,
    madeSure: true,
  })
  void store
}

type Said = { outcome: 'happened' | 'did_not_happen' | 'use_record' | 'retire_record' | 'send' } & {
  result?: unknown
  record?: UnmatchedCall
}

function unknown(life: Life, item: Item): Said {
  life.doubts++
  const { subject, attempt } = item.body
  const attempts = subject ? attemptsOf(life, keyOf(subject), attempt) : []
  const landed = landedOf(attempts)
  if (landed) return { outcome: 'happened', result: landed }
  life.falseDoubts++
  return { outcome: 'did_not_happen' }
}

function drift(life: Life, item: Item): Said {
  life.drifts++
  const { subject, unmatched } = item.body
  const [first] = unmatched
  if (subject === null) return { outcome: 'retire_record', ...(first ? { record: first } : {}) }
  const site = life.issued.get(`${subject.tool}#${subject.nth}`)?.node.site
  const own = unmatched.find((call) => siteOf(life, call) === site)
  if (own === undefined) return { outcome: 'send' }
  if (own.status === 'committed') return { outcome: 'use_record', record: own }
  const landed = landedOf(attemptsOf(life, keyOf(own), 9))
  if (landed) return { outcome: 'use_record', record: own, result: landed }
  return { outcome: 'retire_record', record: own }
}

function attemptsOf(life: Life, key: string, upTo: number): SentAttempt[] {
  const found: SentAttempt[] = []
  for (let n = 1; n <= upTo; n++) {
    const sent = life.world.attempts.get(attemptPlace(0, 1, key, n))
    if (sent) found.push(sent)
  }
  return found
}

function landedOf(attempts: SentAttempt[]): SimResult | null {
  return attempts.find((attempt) => attempt.landed)?.landed ?? null
}

function siteOf(life: Life, call: UnmatchedCall): string | undefined {
  return attemptsOf(life, keyOf(call), 9)[0]?.node.site
}
