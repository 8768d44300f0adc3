// The call that waits, beside the records that a person is to compare it with: those that nothing
// has claimed (drift), or those that may have had its effect already.
import { DiffView } from '../ui/diff-view.tsx'
import { Badge, Section } from '../ui/parts.tsx'
import { Data } from '../ui/value.tsx'
import type { ItemPageData } from '../wire.ts'
import { WhereToLook } from './look.tsx'

type Unmatched = ItemPageData['unmatched'][number]

export function recordName(record: Unmatched): string {
  return `${record.tool_name}/${String(record.input_hash).slice(0, 12)}/${record.occurrence}`
}

export function Drift({ item }: { item: ItemPageData }) {
  const { subject } = item.call
  const twice = 'If it is the same, and you send it, it happens twice.'
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
            {`${sentWords(item)} ${twice}`}
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
      The usual cause is a time or a random value in the input, which is another at every resume.
      Take it from <code>ctx.now()</code>, <code>ctx.random()</code> or <code>ctx.uuid()</code>:
      these are recorded.
    </p>
  )
}

/** Which of the records went out: what stands above must not invite to send it again. */
function sentWords({ unmatched }: ItemPageData): string {
  const done = unmatched.filter(({ status }) => status === 'committed').length
  const open = unmatched.filter(
    ({ status }) => status === 'pending' || status === 'in_doubt',
  ).length
  const many = (count: number, words: string) =>
    count === 1 ? `One call before it ${words}` : `${count} calls before it ${words}`
  const said = [
    ...(done > 0 ? [`${many(done, 'was sent and answered')}.`] : []),
    ...(open > 0 ? [`${many(open, 'was sent, and nobody knows how it ended')}.`] : []),
  ]
  return said.join(' ').replaceAll(/(\d+ calls before it) was/g, '$1 were')
}

const statusWords: Readonly<Record<string, string>> = {
  committed: 'was sent and answered',
  pending: 'was sent; nobody knows how it ended',
  in_doubt: 'was sent; nobody knows how it ended',
  failed: 'failed for certain',
}

function One({ item, record }: { item: ItemPageData; record: Unmatched }) {
  return (
    <div class="pair">
      <h3>
        <code>{recordName(record)}</code> <Badge word={record.status ?? ''} />
        <span class="under">{`This one ${statusWords[record.status ?? ''] ?? ''}.`}</span>
      </h3>
      <WhereToLook look={record.where_to_look} />
      {record.tool_name === item.call.subject?.tool_name ? (
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
