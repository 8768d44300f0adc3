// One item: what is asked, all that is known about it, and the decisions with their consequences.
import { useResource } from '../resource.ts'
import { Link } from '../route.tsx'
import { Badge, Fields, Loaded, Section } from '../ui/parts.tsx'
import { Since, Time } from '../ui/time.tsx'
import { Data } from '../ui/value.tsx'
import type { ItemPageData } from '../wire.ts'
import { brief, spaced } from '../words.ts'
import { Approval, Terms } from './approval.tsx'
import { Comments } from './comments.tsx'
import { DecidePanel } from './decide.tsx'
import { Doubt } from './doubt.tsx'
import { Drift } from './drift.tsx'
import { Due, For, Reason } from './list.tsx'

export function ItemPage({ id }: { id: string }) {
  const item = useResource<ItemPageData>(`/v1/inbox/${encodeURIComponent(id)}`)
  return (
    <>
      <p class="crumbs">
        <Link to="/">Inbox</Link>
      </p>
      <Loaded from={item}>{(data) => <ItemView item={data} reload={item.reload} />}</Loaded>
    </>
  )
}

function ItemView({ item, reload }: { item: ItemPageData; reload: () => void }) {
  return (
    <article class="item">
      <header>
        <h1>{item.title}</h1>
        <p class="under">
          <Badge word={item.kind} />
          <Reason item={item} />
          <Badge word={item.state} />
        </p>
      </header>
      <div class="columns item-parts">
        <div class="body">
          <Body item={item} />
        </div>
        <div class="rest">
          <Context item={item} />
          <Comments item={item} reload={reload} />
        </div>
        <div class="side">
          <DecidePanel key={item.item_id} item={item} reload={reload} />
          <Facts item={item} />
        </div>
      </div>
    </article>
  )
}

function Body({ item }: { item: ItemPageData }) {
  return (
    <>
      {item.unusable_answer === null ? null : (
        <p class="note bad" role="note">
          {`Asked again: the answer before did not fit. ${item.unusable_answer}`}
        </p>
      )}
      {item.kind === 'approval' ? <Approval item={item} /> : null}
      {item.kind === 'question' ? (
        <Section title="What is asked">
          <Data value={item.data} label="what is asked" />
        </Section>
      ) : null}
      {item.reason === 'drift' || item.reason === 'same_effect' ? <Drift item={item} /> : null}
      {item.kind === 'doubt' && item.call.subject !== null ? <Doubt item={item} /> : null}
      {item.damage === null ? null : <Damage item={item} />}
    </>
  )
}

function Damage({ item }: { item: ItemPageData }) {
  const { damage } = item
  if (damage === null) return null
  const good = damage.good_visits.length === 0 ? 'none' : damage.good_visits.join(', ')
  return (
    <Section title="The damaged checkpoint">
      <Fields
        rows={[
          ['What is wrong', damage.why],
          ['The run stands at', `visit ${damage.visit}; nothing is run on it`],
          ['Good ones before it', good],
        ]}
      />
    </Section>
  )
}

function Facts({ item }: { item: ItemPageData }) {
  const { run } = item
  return (
    <Section title="Facts">
      <Fields
        rows={[
          ['Waits', item.state === 'open' ? <Since key="s" at={item.created_at} /> : null],
          ['Due', <Due key="d" item={item} />],
          ['For', <For key="f" item={item} />],
          [
            'Run',
            <Link key="r" to={`/runs/${encodeURIComponent(item.run_id)}`}>
              {item.run_id}
            </Link>,
          ],
          ['Graph', `${run.graph}@${run.version}`],
          ['Node', `${item.call.node}, visit ${item.visit}`],
          ['Item version', `${item.version}`],
          ['Closed', item.closed_at === null ? null : <Time key="c" at={item.closed_at} />],
          ['Closed by', item.closed_by],
        ]}
      />
      <Terms item={item} />
    </Section>
  )
}

const contextMax = 8

function Context({ item }: { item: ItemPageData }) {
  const events = item.events.slice(-contextMax)
  return (
    <Section title="The run so far" aside={<Badge word={item.run.state} />}>
      <ol class="events">
        {events.map((event, index) => (
          <li key={index}>
            <Time at={event.at} /> <span class="strong">{spaced(event.kind)}</span>{' '}
            <span class="what dim">{brief(eventText(event.data), 160)}</span>
          </li>
        ))}
      </ol>
      <p class="after">
        <Link to={`/runs/${encodeURIComponent(item.run_id)}`}>The whole run, with its ledger</Link>
      </p>
    </Section>
  )
}

/** `tool: send_email, landed: unknown`. */
export function eventText(data: Readonly<Record<string, unknown>>): string {
  return Object.entries(data)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${spaced(name)}: ${brief(shortHash(value))}`)
    .join(', ')
}

/** The first twelve digits tell hashes apart. */
function shortHash(value: unknown): unknown {
  const hash = typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
  return hash ? `${value.slice(0, 12)}…` : value
}
