// How a resume is decided: the verdict in six steps (O7). What is shown is what the engine's own
// function says about the call that the reader describes.
import { useState } from 'preact/hooks'
import { type Known, type Verdict, verdict } from '../../../src/model/replay/verdict.ts'
import { Badge, Section } from '../ui/parts.tsx'
import { Choices } from './resume-choices.tsx'
import { endings, firstKnown, stepOf, steps } from './resume-steps.ts'

const stories: readonly (readonly [name: string, known: Known])[] = [
  ['Killed after an e-mail was sent', firstKnown],
  ['Killed after a payment with a key', { ...firstKnown, replayClass: 'idempotent_with_key' }],
  [
    'Killed after the receipt was written',
    { ...firstKnown, record: { ...recordOf(firstKnown), status: 'committed' } },
  ],
  ['The upstream can be asked', { ...firstKnown, probe: 'unasked' }],
  ['The input is another one now', { ...firstKnown, record: null, unmatched: true, quiet: true }],
  [
    'Somebody altered the ledger',
    { ...firstKnown, record: { ...recordOf(firstKnown), status: 'committed', verifies: false } },
  ],
  ['The very first time', { ...firstKnown, record: null }],
]

function recordOf(known: Known): NonNullable<Known['record']> {
  return known.record as NonNullable<Known['record']>
}

export function ResumePage() {
  const [known, setKnown] = useState<Known>(firstKnown)
  const said = verdict(known)
  return (
    <>
      <h1>How a resume is decided</h1>
      <p class="lead">
        A worker died. Another takes the run and starts the node again from its beginning. For every
        call the node makes, six questions are asked in this order; the first that has an answer
        decides. Describe a call, and watch.
      </p>
      <div class="columns even">
        <div>
          <Section title="The call">
            <fieldset class="stories" aria-label="Examples">
              {stories.map(([name, story]) => (
                <button
                  key={name}
                  type="button"
                  class="small"
                  aria-pressed={JSON.stringify(story) === JSON.stringify(known)}
                  onClick={() => setKnown(story)}
                >
                  {name}
                </button>
              ))}
            </fieldset>
            <Choices known={known} onKnown={setKnown} />
          </Section>
        </div>
        <div>
          <Outcome said={said} />
          <Steps known={known} said={said} />
        </div>
      </div>
    </>
  )
}

function Outcome({ said }: { said: Verdict }) {
  const ending = endings[said.do]
  return (
    <p class={`note ${ending.tone}`} role="status">
      <Badge word={said.do} tone={ending.tone} />{' '}
      {said.do === 'doubt' ? <Badge word={said.reason} tone="plain" /> : null}{' '}
      <span class="strong">{ending.text}</span>
    </p>
  )
}

function Steps({ known, said }: { known: Known; said: Verdict }) {
  const at = stepOf(known, said)
  return (
    <ol class="steps">
      {steps.map((step, index) => {
        const place = index < at ? 'passed' : index === at ? 'decides' : 'unasked'
        return (
          <li key={step.asks} class={place} aria-current={place === 'decides' ? 'step' : undefined}>
            <span class="strong">{step.asks}</span>
            <span class="under">{step.tells}</span>
            <span class="place">
              {place === 'decides'
                ? 'decides'
                : place === 'passed'
                  ? 'no answer here'
                  : 'not asked'}
            </span>
          </li>
        )
      })}
    </ol>
  )
}
