// The call that waits, beside the records that a person is to compare it with: those that nothing
// has claimed (drift), or those that may have had its effect already.
import { DiffView } from '../ui/diff-view.tsx'
import { Badge, Section } from '../ui/parts.tsx'
import { Data } from '../ui/value.tsx'
import type { ItemPageData } from '../wire.ts'

type Unmatched = ItemPageData['unmatched'][number]

export function recordName(record: Unmatched): string {
  return `${record.tool_name}/${String(record.input_hash).slice(0, 12)}/${record.occurrence}`
}

export function Drift({ item }: { item: ItemPageData }) {
  const waits = item.call.subject !== null
  return (
    <Section title={waits ? 'Two inputs, side by side' : 'Records that nothing has claimed'}>
      <p>
        {item.reason === 'same_effect'
          ? 'These calls may have had the effect that this one asks for. This one was not sent.'
          : waits
            ? 'On the resume the node asks for a call that has no record, while these records of ' +
              'the same visit stay unclaimed. Nothing was sent.'
            : 'The node has ended, and these records of its visit belong to no call that it made.'}
      </p>
      {item.unmatched.map((record) => (
        <div key={recordName(record)} class="pair">
          <h3>
            <code>{recordName(record)}</code> <Badge word={record.status ?? ''} />
          </h3>
          {waits && record.tool_name === item.call.subject?.tool_name ? (
            <DiffView
              before={record.input}
              after={item.call.input}
              names={['recorded', 'asked for now']}
            />
          ) : (
            <Data value={record.input} label="recorded input" />
          )}
          {record.result === null ? null : (
            <>
              <h4>Its result</h4>
              <Data value={record.result} label="result" />
            </>
          )}
        </div>
      ))}
    </Section>
  )
}
