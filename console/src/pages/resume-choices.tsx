// A call, as the verdict sees it: every input of the function is a control.

import type { Known } from '../../../src/model/replay/verdict.ts'
import type { ReplayClass } from '../../../src/model/tool/tool.ts'
import { spaced } from '../words.ts'
import { firstKnown } from './resume-steps.ts'

const classes: readonly ReplayClass[] = ['pure', 'idempotent_with_key', 'unsafe_on_replay']

interface Props {
  readonly known: Known
  readonly onKnown: (known: Known) => void
}

type Recorded = NonNullable<Known['record']>

export function Choices({ known, onKnown }: Props) {
  const set = (next: Partial<Known>) => onKnown({ ...known, ...next })
  const { record } = known
  const setRecord = (next: Partial<Recorded>) => record && set({ record: { ...record, ...next } })
  return (
    <div class="known">
      <Choice
        label="Replay class"
        value={known.replayClass}
        options={classes}
        onValue={(replayClass) => set({ replayClass })}
      />
      <Check
        label="A person has decided it"
        value={known.decided}
        onValue={(decided) => set({ decided })}
      />
      <Check
        label="There is a record of it"
        value={record !== null}
        onValue={(there) => set({ record: there ? firstKnown.record : null })}
      />
      {record === null ? (
        <Unrecorded known={known} set={set} />
      ) : (
        <OfRecord known={known} record={record} set={set} setRecord={setRecord} />
      )}
    </div>
  )
}

function Unrecorded({ known, set }: { known: Known; set: (next: Partial<Known>) => void }) {
  return (
    <>
      <Check
        label="Other records of the visit are unclaimed"
        value={known.unmatched}
        onValue={(unmatched) => set({ unmatched })}
      />
      <Check
        label="Quiet: nothing more can match"
        value={known.quiet}
        onValue={(quiet) => set({ quiet })}
      />
      <Check
        label="The same call was failed without knowledge before"
        value={known.unresolved}
        onValue={(unresolved) => set({ unresolved })}
      />
    </>
  )
}

interface RecordProps {
  readonly known: Known
  readonly record: Recorded
  readonly set: (next: Partial<Known>) => void
  readonly setRecord: (next: Partial<Recorded>) => void
}

function OfRecord({ known, record, set, setRecord }: RecordProps) {
  return (
    <>
      <Check
        label="Its MAC is right"
        value={record.verifies}
        onValue={(verifies) => setRecord({ verifies })}
      />
      <Choice
        label="Its status"
        value={record.status}
        options={['pending', 'committed', 'failed', 'in_doubt']}
        onValue={(status) => setRecord({ status })}
      />
      <Choice
        label="Attempts whose outcome nobody knows"
        value={record.unknownAttempts === 0 ? 'none' : 'some'}
        options={['none', 'some']}
        onValue={(some) => setRecord({ unknownAttempts: some === 'none' ? 0 : 1 })}
      />
      <Choice
        label="Its key"
        value={record.keyWindow}
        options={['open', 'closed']}
        texts={{ open: 'remembered by the upstream', closed: 'forgotten by now' }}
        onValue={(keyWindow) => setRecord({ keyWindow })}
      />
      <Choice
        label="A callback"
        value={record.callback}
        options={['none', 'open', 'overdue']}
        texts={{ none: 'none', open: 'still to come', overdue: 'past its deadline' }}
        onValue={(callback) => setRecord({ callback })}
      />
      <Choice
        label="Probe"
        value={known.probe}
        options={['none', 'unasked', 'yes', 'no', 'unknown']}
        texts={{
          none: 'the tool has none',
          unasked: 'not asked yet',
          yes: 'said yes',
          no: 'said no',
        }}
        onValue={(probe) => set({ probe })}
      />
    </>
  )
}

interface ChoiceProps<T extends string> {
  readonly label: string
  readonly value: T
  readonly options: readonly T[]
  readonly texts?: Readonly<Partial<Record<T, string>>>
  readonly onValue: (value: T) => void
}

function Choice<T extends string>({ label, value, options, texts, onValue }: ChoiceProps<T>) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onValue(event.currentTarget.value as T)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {texts?.[option] ?? spaced(option)}
          </option>
        ))}
      </select>
    </label>
  )
}

function Check(props: { label: string; value: boolean; onValue: (value: boolean) => void }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={props.value}
        onChange={(event) => props.onValue(event.currentTarget.checked)}
      />
      <span>{props.label}</span>
    </label>
  )
}
