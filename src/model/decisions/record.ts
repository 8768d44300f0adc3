// Which record a person means, and what follows from it for the answer of the call.

import { type CounterfoilError, errorFor } from '../errors.ts'
import { canonical, keptText } from '../json/canonical.ts'
import {
  type Decision,
  type Item,
  keyOf,
  type Outcome,
  type Remark,
  type UnmatchedCall,
} from '../run/records.ts'
import { isMarked, recordsFor } from './outcomes.ts'

interface Said {
  readonly outcome: Outcome | Remark
  readonly result?: unknown
  readonly record?: { tool: string; inputHash: string; occurrence: number }
}

export function recordOf(item: Item, said: Said): Pick<Decision, 'record' | 'resultJson'> {
  const resultJson = said.result === undefined ? null : keptText(said.result)
  if (!isMarked(said.outcome, 'record')) {
    if (said.record === undefined) return { record: null, resultJson }
    throw invalid(`"${said.outcome}" takes no \`record\`: leave it out`)
  }
  const found = recordMeant(item, said)
  if (isMarked(said.outcome, 'call')) checkUse(said, found)
  const { tool, inputHash, occurrence, nth } = found
  // It may be a record of another visit, where the call's own replay would not find it.
  const copied = item.reason === 'same_effect' && found.status === 'committed'
  return {
    record: { tool, inputHash, occurrence, nth },
    resultJson: resultJson ?? (copied ? canonical(found.result) : null),
  }
}

/** One that is offered with the outcome; left out, if there is only one. */
function recordMeant(item: Item, { outcome, record: wanted }: Said): UnmatchedCall {
  const offered = recordsFor(item, outcome)
  const only = offered.length === 1 ? offered[0] : undefined
  const found = wanted ? offered.find((record) => keyOf(record) === keyOf(wanted)) : only
  if (found) return found
  const names = offered.map((record) => keyOf(record)).join(', ') || 'none'
  throw invalid(`"${outcome}" needs \`record\`: one of ${names}`)
}

function checkUse({ result }: Said, found: UnmatchedCall): void {
  if (found.status === 'committed' || result !== undefined) return
  throw invalid(
    `${keyOf(found)} is ${found.status}: to use it, say what it answered (\`result\`), which ` +
      'states that it happened',
  )
}

function invalid(message: string): CounterfoilError {
  return errorFor('DECISION_INVALID', message)
}
