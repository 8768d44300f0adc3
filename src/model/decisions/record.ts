// Which record a person means, and what follows from it for the answer of the call.
import { canonical, keptText } from '../canonical.ts'
import { CounterfoilError } from '../errors.ts'
import { type Decision, type Item, keyOf, type UnmatchedCall } from '../records.ts'

interface Said {
  readonly outcome: string
  readonly result?: unknown
  readonly record?: { tool: string; inputHash: string; occurrence: number }
}

export function recordOf(item: Item, said: Said): Pick<Decision, 'record' | 'resultJson'> {
  const resultJson = said.result === undefined ? null : keptText(said.result)
  if (said.outcome !== 'use_record' && said.outcome !== 'retire_record') {
    if (said.record === undefined) return { record: null, resultJson }
    throw invalid(`"${said.outcome}" takes no \`record\`: leave it out`)
  }
  const found = recordMeant(item, said)
  if (said.outcome === 'use_record') checkUse(item, said, found)
  const { tool, inputHash, occurrence, nth } = found
  // It may be a record of another visit, where the call's own replay would not find it.
  const copied = item.reason === 'same_effect' && found.status === 'committed'
  return {
    record: { tool, inputHash, occurrence, nth },
    resultJson: resultJson ?? (copied ? canonical(found.result) : null),
  }
}

function recordMeant({ body: { unmatched } }: Item, { outcome, record: wanted }: Said) {
  const only = unmatched.length === 1 ? unmatched[0] : undefined
  const found = wanted ? unmatched.find((record) => keyOf(record) === keyOf(wanted)) : only
  if (found) return found
  const names = unmatched.map((record) => keyOf(record)).join(', ') || 'none'
  throw invalid(`"${outcome}" needs \`record\`: one of ${names}`)
}

function checkUse({ body: { subject } }: Item, { result }: Said, found: UnmatchedCall): void {
  if (subject !== null && found.tool !== subject.tool) {
    throw invalid(
      `${keyOf(found)} is a record of ${found.tool}, and cannot answer a call of ${subject.tool}`,
    )
  }
  if (found.status === 'committed' || result !== undefined) return
  throw invalid(
    `${keyOf(found)} is ${found.status}: to use it, say what it answered (\`result\`), which ` +
      'states that it happened',
  )
}

function invalid(message: string): CounterfoilError {
  return new CounterfoilError('DECISION_INVALID', message)
}
