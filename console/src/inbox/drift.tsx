// The call that waits, beside the records that a person is to compare it with: those that nothing
// has claimed (drift), or those that may have had its effect already.
import { sentBefore, sentWords, twice, usualCause } from '../../../src/model/decisions/words.ts'
import { DiffView } from '../ui/diff-view.tsx'
import { Section } from '../ui/parts.tsx'
import { Data } from '../ui/value.tsx'
import type { ItemPageData } from '../wire.ts'
import { WhereToLook } from './look.tsx'

type Unmatched = ItemPageData['unmatched'][number]

/** As the command line names it. */
function recordName(record: Unmatched): string {
  return `${record.tool_name}/${String(record.input_hash).slice(0, 12)}/${record.occurrence}`
}

/** As the page names it: its number among those that are shown, and what became of it. */
export function recordTitle(item: ItemPageData, record: Unmatched): string {
  const number = item.unmatched.indexOf(record) + 1
  return `Record ${number}: ${record.tool_name} ${sentWords[record.status]}`
}

export function Drift({ item }: { item: ItemPageData }) {
  const { subject } = item.call
  return (
    <Section title={subject === null ? 'Records that nothing has claimed' : 'Is it the same call?'}>
      {subject === null ? (
        <p>
          The node has ended, and these records of its visit belong to no call that it made. They
          were sent, or may have been: each says so below.
        </p>
      ) : (
        <>
          <p>
            <span class="strong">
              {'This call of '}
              <code>{subject.tool_name}</code>
              {' was not sent.'}
            </span>{' '}
            {`${sentBefore(item.unmatched)} ${twice}`}
          </p>
          {item.reason === 'drift' ? <Cause /> : null}
        </>
      )}
      {item.unmatched.map((record) => (
        <One key={recordName(record)} item={item} record={record} />
      ))}
    </Section>
  )
}

function Cause() {
  return (
    <p class="dim">
      {usualCause} Such a value is different after each restart. In the code, take it from{' '}
      <code>ctx.now()</code>, <code>ctx.random()</code> or <code>ctx.uuid()</code>: these are
      recorded.
    </p>
  )
}

function One({ item, record }: { item: ItemPageData; record: Unmatched }) {
  const waits = item.call.subject?.tool_name ?? null
  const same = record.tool_name === waits
  return (
    <div class="pair">
      <h3>
        {recordTitle(item, record)}
        <code class="under dim">{recordName(record)}</code>
      </h3>
      {same || waits === null ? null : (
        <p class="dim">{`It cannot answer this call: it is not a call of ${waits}.`}</p>
      )}
      <WhereToLook look={record.where_to_look} />
      {same ? (
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
  )
}
