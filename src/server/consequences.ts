// What each outcome of an item leads to, in words for whoever decides it.
import type { ItemView } from '../client/inbox.ts'
import type { Item, Outcome } from '../model/records.ts'

/** Null, or why "it did not happen" cannot be said yet. */
export function lockOf({ reason, quietUntil }: ItemView, now: number): string | null {
  if (reason !== 'unknown' || quietUntil === null) return null
  if (quietUntil === Number.POSITIVE_INFINITY) {
    return 'an earlier attempt may still be running: nobody can know that it will not land'
  }
  if (quietUntil <= now) return null
  return 'what was sent may still be on its way: the quiet time is not over'
}

export function consequencesOf(item: ItemView): Partial<Record<Outcome, string>> {
  const entries = item.outcomes.map((outcome) => [outcome, says(item, outcome)] as const)
  return Object.fromEntries(entries)
}

function says(item: Item, outcome: Outcome): string {
  const tool = item.body.subject?.tool ?? 'the call'
  const known: Partial<Record<Outcome, string>> = {
    happened: `${tool} is not sent. The run goes on with the result you give.`,
    did_not_happen: `${tool} is sent once more. If it did happen, it happens twice.`,
    fail: fails(item),
    abandon: 'The run ends as failed, now. Nothing that was done is undone.',
    use_record: `${tool} is answered with that record. Nothing is sent.`,
    send: `${tool} is sent with its present input. The earlier records stay as they are.`,
    retire_record: 'That record is nobody’s any more, and holds nothing up. Nothing is sent.',
    respond: 'The run goes on with your answer.',
    approve: approves(item),
    edit: 'The run goes on with what you have written instead of what was shown.',
    reject: 'The run is told that you rejected it, and why; its own code decides what follows.',
    pin: 'The run goes back to an earlier, good checkpoint. What was done since stays on record.',
    resume: 'The run is given to a worker again. If it kills that one too, it comes back here.',
  }
  return known[outcome] ?? 'The run goes on with it.'
}

function fails(item: Item): string {
  const tool = item.body.subject?.tool ?? 'the call'
  if (tool.startsWith('counterfoil.'))
    return 'The run is told that nobody answers; its own code decides what follows.'
  return `The run is told that ${tool} failed and that nobody knows whether it happened.`
}

function approves(item: Item): string {
  const tool = item.body.subject?.tool ?? ''
  if (tool.startsWith('counterfoil.')) return 'The run goes on with what was shown to you.'
  return `${tool} is sent, with exactly what was shown to you.`
}
