// The decisions about an item, each with what follows from it. What cannot be said yet says why.
import { useState } from 'preact/hooks'
import { mayWrite } from '../api.ts'
import { Badge, Section } from '../ui/parts.tsx'
import type { Choice, ItemPageData, Outcome } from '../wire.ts'
import { DecideForm } from './decide-form.tsx'
import { lockOf } from './lock.ts'

interface Props {
  readonly item: ItemPageData
  readonly reload: () => void
}

export function DecidePanel({ item, reload }: Props) {
  const bar = barOf(item)
  return (
    <Section title="Decide">
      {bar === null ? <Choices item={item} reload={reload} /> : <p class="pad">{bar}</p>}
    </Section>
  )
}

/** Why nobody, or not this person, decides it here. */
function barOf(item: ItemPageData): string | null {
  if (item.state === 'decided') return 'It is decided. Nothing is left to say.'
  if (item.state === 'closed') return `It was closed without a decision: ${item.closed_by ?? ''}`
  if (!mayWrite()) return 'Your role is viewer: you can look, and an operator decides.'
  return item.barred
}

function Choices({ item, reload }: Props) {
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const chosen = item.choices.find((one) => one.outcome === outcome)
  // The version that was looked at: what changes under the reader must not be decided unread.
  const [version, setVersion] = useState(item.version)
  if (version !== item.version) {
    return (
      <div class="note wait" role="alert">
        <p>
          <span class="strong">The item has changed while you looked.</span> Read it again, then
          decide.
        </p>
        <button type="button" onClick={() => setVersion(item.version)}>
          I have read it
        </button>
      </div>
    )
  }
  return (
    <>
      <fieldset class="choices">
        <legend class="hidden">What is your decision?</legend>
        {item.choices.map((one) => (
          <Option key={one.outcome} choice={one} chosen={outcome} choose={setOutcome} />
        ))}
      </fieldset>
      {chosen === undefined ? null : (
        <DecideForm key={outcome} item={item} choice={chosen} reload={reload} />
      )}
    </>
  )
}

interface OptionProps {
  readonly choice: Choice
  readonly chosen: Outcome | null
  readonly choose: (outcome: Outcome) => void
}

function Option({ choice, chosen, choose }: OptionProps) {
  const { outcome, label, consequence } = choice
  const lock = lockOf(choice)
  return (
    <label class={chosen === outcome ? 'choice chosen' : 'choice'}>
      <input
        type="radio"
        name="outcome"
        value={outcome}
        checked={chosen === outcome}
        onChange={() => choose(outcome)}
      />
      <span>
        <span class="strong">{label}</span>{' '}
        {lock === null ? null : <Badge word="locked" tone="wait" />}
        <span class="under">{consequence}</span>
        {lock === null ? null : <span class="under lock">{lock}</span>}
      </span>
    </label>
  )
}
