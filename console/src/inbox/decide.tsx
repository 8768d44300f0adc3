// The decisions about an item, each with what follows from it. What cannot be said yet says why.
import { useState } from 'preact/hooks'
import { mayWrite } from '../api.ts'
import { Badge, Section } from '../ui/parts.tsx'
import type { Choice, ItemPageData, Outcome } from '../wire.ts'
import { DecideForm } from './decide-form.tsx'
import { Decided } from './decided.tsx'
import { lockOf } from './lock.ts'

interface Props {
  readonly item: ItemPageData
  readonly reload: () => void
}

export function DecidePanel({ item, reload }: Props) {
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const [mine, setMine] = useState(false)
  const bar = barOf(item)
  const closed = item.state !== 'open'
  // What somebody was writing while another decided stays there to be read.
  const writing = outcome !== null && !mine
  const done = (said: boolean) => {
    if (said) setMine(true)
    reload()
  }
  return (
    <Section title={closed ? 'Decided' : 'Decide'}>
      {closed && writing ? (
        <p class="note wait" role="alert">
          <span class="strong">{`${whoClosed(item)} while you were writing.`}</span> Your decision
          was not recorded. Your text is kept below.
        </p>
      ) : null}
      {closed ? <Decided item={item} /> : null}
      {bar === null ? null : <p>{bar}</p>}
      {bar === null && (!closed || writing) ? (
        <Choices item={item} outcome={outcome} choose={setOutcome} done={done} />
      ) : null}
    </Section>
  )
}

function whoClosed({ decision }: ItemPageData): string {
  return decision === null ? 'It was closed' : `${decision.by} decided`
}

/** Why nobody, or not this person, decides it here. */
function barOf(item: ItemPageData): string | null {
  if (item.state !== 'open') return null
  if (!mayWrite()) return 'Your role is viewer: you can look, and an operator decides.'
  return item.barred
}

interface ChoicesProps {
  readonly item: ItemPageData
  readonly outcome: Outcome | null
  readonly choose: (outcome: Outcome) => void
  readonly done: (said: boolean) => void
}

function Choices({ item, outcome, choose, done }: ChoicesProps) {
  // The version that was looked at: what changes under the reader must not be decided unread.
  const [version, setVersion] = useState(item.version)
  const open = item.state === 'open'
  const moved = open && version !== item.version
  const chosen = item.choices.find((one) => one.outcome === outcome)
  // Once another has decided, only what was being written is left to read.
  const offered = open ? item.choices : item.choices.filter((one) => one === chosen)
  return (
    <>
      {moved ? (
        <div class="note wait" role="alert">
          <p>
            <span class="strong">The item changed while you were reading.</span> Read it again, then
            decide. Your text is kept.
          </p>
          <button type="button" onClick={() => setVersion(item.version)}>
            I have read it
          </button>
        </div>
      ) : null}
      <fieldset class="choices" disabled={!open || moved}>
        <legend class="hidden">What is your decision?</legend>
        {offered.map((one) => (
          <Option key={one.outcome} choice={one} open={open} chosen={outcome} choose={choose} />
        ))}
      </fieldset>
      {chosen === undefined ? null : (
        <DecideForm
          key={outcome}
          item={item}
          choice={chosen}
          blocked={!open || moved}
          done={done}
        />
      )}
    </>
  )
}

interface OptionProps {
  readonly choice: Choice
  readonly open: boolean
  readonly chosen: Outcome | null
  readonly choose: (outcome: Outcome) => void
}

function Option({ choice, open, chosen, choose }: OptionProps) {
  const { outcome, label, consequence } = choice
  const lock = open ? lockOf(choice) : null
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
        {lock === null ? null : <Badge word="not yet" tone="wait" />}
        <span class="under">{consequence}</span>
        {lock === null ? null : <span class="under lock">{lock}</span>}
      </span>
    </label>
  )
}
