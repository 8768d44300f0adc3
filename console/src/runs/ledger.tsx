// The ledger of a run: every call with its intent, attempts, receipt, evidence and decisions.
import { useResource } from '../resource.ts'
import { param } from '../route.tsx'
import { Badge, Empty, Fields, Loaded, Pager, Section } from '../ui/parts.tsx'
import { Time } from '../ui/time.tsx'
import { Data } from '../ui/value.tsx'
import type { Entry, Page } from '../wire.ts'
import { plural, spaced } from '../words.ts'
import { pathOf } from './paths.ts'

const pageSize = 100

export function Ledger({ id }: { id: string }) {
  const cursor = param('cursor')
  const more = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
  const ledger = useResource<Page<Entry>>(pathOf(id, `/ledger?limit=${pageSize}${more}`))
  return (
    <Section title="Ledger">
      <Loaded from={ledger}>
        {(page) => (
          <>
            {page.items.length === 0 ? <Empty title="No call has been recorded." /> : null}
            <ul class="ledger">
              {page.items.map((entry) => (
                <EntryRow key={keyOf(entry)} entry={entry} />
              ))}
            </ul>
            <Pager next={page.next} count={page.items.length} />
          </>
        )}
      </Loaded>
    </Section>
  )
}

function keyOf(entry: Entry): string {
  return `${entry.checkpoint_id}/${entry.tool_name}/${entry.input_hash}/${entry.occurrence}`
}

function EntryRow({ entry }: { entry: Entry }) {
  return (
    <li data-row={keyOf(entry)}>
      <details>
        <summary>
          <Badge word={entry.status} />
          <code>{entry.tool_name}</code>
          <Badge word={entry.replay_class} tone="plain" />
          {entry.verifies ? null : <Badge word="does not verify" tone="bad" />}
          <span class="dim">
            {`${entry.node_id}, visit ${entry.visit}, ${plural(entry.attempt_count, 'attempt')}`}
          </span>
          {entry.external_id === null ? null : <code>{entry.external_id}</code>}
          <Time at={entry.created_at} />
        </summary>
        <EntryBody entry={entry} />
      </details>
    </li>
  )
}

function EntryBody({ entry }: { entry: Entry }) {
  return (
    <div class="inside">
      <Fields
        rows={[
          ['Intent', <Time key="c" at={entry.created_at} />],
          ['Settled', <Time key="s" at={entry.settled_at} />],
          ['Key', entry.idempotency_key && <code>{entry.idempotency_key}</code>],
          ['Key forgotten', entry.expires_at && <Time key="e" at={entry.expires_at} />],
          ['Checkpoint', <code key="k">{entry.checkpoint_id}</code>],
          ['Input hash', <code key="h">{entry.input_hash}</code>],
          ['Order', entry.seq === null ? 'not known yet' : `seq ${entry.seq}`],
          ['Worker', entry.worker_id],
          ['Outcome', entry.unresolved ? 'failed by a person, without knowledge' : null],
        ]}
      />
      <Part name="Input" value={entry.input} />
      <Part name="Result" value={entry.result} />
      <Part name="Error" value={entry.error} />
      <Part name="Usage" value={entry.usage} />
      <Attempts entry={entry} />
      <Said entry={entry} />
    </div>
  )
}

function Part({ name, value }: { name: string; value: unknown }) {
  if (value === null) return null
  return (
    <>
      <h4>{name}</h4>
      <Data value={value} label={name} />
    </>
  )
}

function Attempts({ entry }: { entry: Entry }) {
  if (entry.attempts.length === 0) return null
  return (
    <>
      <h4>Attempts</h4>
      <ol class="plain">
        {entry.attempts.map((one) => (
          <li key={one.attempt}>
            {`${one.attempt}: `}
            <code>{one.attempt_id}</code> {'dispatched '}
            <Time at={one.dispatched_at} /> {`by ${one.worker_id}, `}
            {one.ended_at === null ? 'no end of its own' : 'ended '}
            {one.ended_at === null ? null : <Time at={one.ended_at} />}{' '}
            {one.outcome === null ? null : <Badge word={one.outcome} />}
          </li>
        ))}
      </ol>
    </>
  )
}

function Said({ entry }: { entry: Entry }) {
  return (
    <>
      {entry.evidence.length === 0 ? null : <h4>Learnt late</h4>}
      <ul class="plain">
        {entry.evidence.map((one) => (
          <li key={`${one.attempt}${one.at}`}>
            {`attempt ${one.attempt}: ${one.outcome} `}
            <Time at={one.at} /> {one.external_id}
          </li>
        ))}
      </ul>
      {entry.decisions.length === 0 ? null : <h4>Decisions</h4>}
      <ul class="plain">
        {entry.decisions.map((one) => (
          <li key={one.decision_id}>
            <span class="strong">{one.by}</span> {spaced(one.outcome)} <Time at={one.at} />
            <span class="under">{one.reason}</span>
          </li>
        ))}
      </ul>
    </>
  )
}
