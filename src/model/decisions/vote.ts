// Who may decide an item, and which of them have said so already. A vote is a signed row of its
// own. It does not raise the version of its item: what is decided about has not changed, so that
// two people who vote at once both count.

import { type CounterfoilError, errorFor } from '../errors.ts'
import type { ApprovalBody, Decision, Item, Run, Vote } from '../run/records.ts'
import { isClaim } from './approval.ts'

export interface Decider {
  readonly by: string
  /** What their token says about them: `role:…`, `group:…`. */
  readonly claims?: readonly string[] | undefined
}

/** A claim is never a name: nobody gets a role by calling themselves so. */
function isMeant(decider: string, { by, claims = [] }: Decider): boolean {
  return isClaim(decider) ? claims.includes(decider) : decider === by
}

/** Why this person may not decide the item; null if they may. */
export function deciderFault(run: Run, item: Item, who: Decider): CounterfoilError | null {
  const { deciders = null, notStarter = false } = item.body.approval ?? {}
  if (deciders !== null && !deciders.some((decider) => isMeant(decider, who))) {
    return errorFor(
      'DECISION_FORBIDDEN',
      item.itemId,
      `${who.by} may not decide item ${item.itemId}: it is for ${deciders.join(', ')}`,
    )
  }
  if (!notStarter || run.startedBy === null || !same(run.startedBy, who.by)) return null
  const why = `${who.by} has started run ${run.runId}, and somebody else has to decide item`
  return errorFor('DECISION_FORBIDDEN', item.itemId, `${why} ${item.itemId}`)
}

/** What one more yes or no does: it ends the item, or is one of several that are needed. */
export function isVote(item: Item, rows: readonly Decision[], decision: Decision): boolean {
  const { outcome, by } = decision
  if (outcome !== 'approve' && outcome !== 'reject') return false
  const needed = neededFor(item.body.approval, outcome)
  return needed > 1 && votersFor(rows, item.itemId, outcome, by).size < needed
}

export function neededFor(approval: ApprovalBody | null, says: Vote['says']): number {
  return (says === 'approve' ? approval?.quorum : approval?.rejects) ?? 1
}

/** Everybody who has said so, with whoever says it now. */
export function votersFor(
  rows: readonly (Decision & { readonly verifies?: boolean })[],
  itemId: string,
  says: Vote['says'],
  by: string,
): ReadonlySet<string> {
  const voted = votesOn(rows, itemId).filter((vote) => vote.says === says)
  return new Set([...voted.map((vote) => vote.by.trim()), by.trim()])
}

/** The votes on an item that can be trusted, in the order they were cast. */
export function votesOn(
  rows: readonly (Decision & { readonly verifies?: boolean })[],
  itemId: string,
): Vote[] {
  return rows
    .filter((row) => row.itemId === itemId && row.outcome === 'vote' && row.verifies !== false)
    .map(({ by, why, at, resultJson }) => ({ by, says: saysOf(resultJson), why, at }))
}

function saysOf(resultJson: string | null): Vote['says'] {
  return resultJson === '"approve"' ? 'approve' : 'reject'
}

/** The vote that this person has cast already; it stands. */
export function earlierVote(
  item: Item,
  rows: readonly Decision[],
  said: { by: string; outcome: string },
): Decision | null {
  if (said.outcome !== 'approve' && said.outcome !== 'reject') return null
  const own = rows.find(
    (row) => row.itemId === item.itemId && row.outcome === 'vote' && same(row.by, said.by),
  )
  if (own === undefined || saysOf(own.resultJson) === said.outcome) return own ?? null
  if (item.state !== 'open') return null
  throw errorFor('VOTE_CAST', item.itemId, said.by, saysOf(own.resultJson))
}

/** The row of a vote: it has no subject, since it decides nothing by itself. */
export function voteRow(decision: Decision): Decision {
  const resultJson = JSON.stringify(decision.outcome)
  return { ...decision, outcome: 'vote', subject: null, resultJson }
}

export function withVote(item: Item, { by, why, at, resultJson }: Decision): Item {
  const { approval } = item.body
  if (approval === null) return item
  const votes = [...(approval.votes ?? []), { by, says: saysOf(resultJson), why, at }]
  return { ...item, body: { ...item.body, approval: { ...approval, votes } } }
}

function same(a: string, b: string): boolean {
  return a.trim() === b.trim()
}
