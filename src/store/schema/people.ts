// What waits for people, what they said, and what people outside must be told.
import type { Decision, Item, Notice } from '../../model/run/records.ts'
import { bodyOf } from '../item-body.ts'
import { allBut, count, describe, type Fields, flag, json, maybe, text, time } from './describe.ts'

export const items = describe<Item>(
  'inbox_items',
  {
    namespace: text('namespace'),
    runId: text('run_id'),
    itemId: text('item_id'),
    kind: text('kind'),
    reason: maybe(text('reason')),
    state: text('state'),
    version: count('version'),
    queue: text('queue'),
    title: text('title'),
    generation: count('generation'),
    visit: count('visit'),
    dueAt: maybe(time('due_at')),
    overdueAt: maybe(time('overdue_at')),
    body: json('body_json'),
    createdAt: time('created_at'),
    closedAt: maybe(time('closed_at')),
    closedBy: maybe(text('closed_by')),
  },
  {
    key: ['namespace', 'itemId'],
    read: (row) => ({ ...row, body: bodyOf(row.body) }),
    final: { fixed: ['runId'], once: [], says: 'the identity of an item' },
  },
)

const decisionFields: Fields<Decision> = {
  namespace: text('namespace'),
  runId: text('run_id'),
  decisionId: text('decision_id'),
  itemId: text('item_id'),
  kind: text('kind'),
  reason: maybe(text('reason')),
  generation: count('generation'),
  visit: count('visit'),
  subject: maybe(json('subject_json')),
  outcome: text('outcome'),
  record: maybe(json('record_json')),
  resultJson: maybe(text('result_json')),
  shownHash: maybe(text('shown_hash')),
  by: text('decided_by'),
  why: text('why'),
  evidence: maybe(text('evidence')),
  madeSure: flag('made_sure'),
  version: count('version'),
  at: time('at'),
  seq: maybe(count('seq')),
  usedBy: maybe(text('used_by')),
  voidedAt: maybe(time('voided_at')),
}

export const decisions = describe<Decision>('decisions', decisionFields, {
  key: ['namespace', 'runId', 'decisionId'],
  sealed: { as: 'decision', fields: allBut(decisionFields, []) },
  final: {
    fixed: allBut(decisionFields, ['seq', 'usedBy', 'voidedAt']),
    once: [['seq'], ['usedBy'], ['voidedAt']],
    says: 'a decision can only be used or voided, once',
  },
  kept: 'a decision is never deleted',
})

/** The first stays. */
export const notices = describe<Notice>(
  'notices',
  {
    namespace: text('namespace'),
    noticeId: text('notice_id'),
    kind: text('kind'),
    runId: text('run_id'),
    itemId: maybe(text('item_id')),
    at: time('at'),
    dataJson: text('data_json'),
  },
  { key: ['namespace', 'noticeId'] },
)
