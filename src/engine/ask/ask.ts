// A call is put before a person: as a question of its node, as one that the risk policy holds, or
// as a doubt.
import { isAboutSent } from '../../model/replay/entry.ts'
import type { DoubtReason } from '../../model/run/records.ts'
import { intent } from '../attempt/intent-row.ts'
import { usedGrant } from '../attempt/rows.ts'
import type { IssuedCall } from '../call/call.ts'
import type { Next } from '../call/next.ts'
import { openApproval } from '../visit/ending.ts'
import type { Visit } from '../visit/visit.ts'
import { askAbout } from './ask-about.ts'
import { askItem, doubtItem, itemChanges, known } from './doubt.ts'

const asked: Next = { do: 'stay', state: 'asked' }

export function ask(visit: Visit, call: IssuedCall): Next {
  // Held in an earlier execution: the item is there, or the policy has to say anew what it wants.
  if (call.ask === null) {
    const open = openApproval(visit.loaded.items, call.subject)
    if (open) {
      visit.wait(open, null)
      return asked
    }
    if (visit.policy) return { do: 'consult' }
    call.held = true
    call.ask = askAbout(call, {})
  }
  const item = askItem(visit, call, call.ask)
  const old = known(visit, item)
  if (old?.state === 'open') {
    visit.wait(old, null)
    return asked
  }
  visit.secure()
  const record = intent(visit, call)
  const data = { item: item.itemId, title: item.title, queue: item.queue }
  const events = [visit.event('asked', data)]
  const decisions = usedGrant(visit, call)
  visit.wait(item, { records: [record], items: [item], events, decisions })
  return asked
}

export function doubt(visit: Visit, call: IssuedCall, reason: DoubtReason): Next {
  const item = doubtItem(visit, call, reason)
  const changes = itemChanges(visit, item)
  const { record } = call
  if (record?.status === 'pending' && isAboutSent(reason) && call.entry?.verifies !== false) {
    call.record = { ...record, status: 'in_doubt' }
    changes.records = [call.record]
  }
  visit.doubt(known(visit, item) ?? item, changes)
  return { do: 'stay', state: 'in_doubt' }
}
