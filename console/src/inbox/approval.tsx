// An approval: exactly what is shown is what is approved.

import { Link } from '../route.tsx'
import { Badge, Fields, Section } from '../ui/parts.tsx'
import { Time } from '../ui/time.tsx'
import { Data } from '../ui/value.tsx'
import type { ItemPageData } from '../wire.ts'

export function Approval({ item }: { item: ItemPageData }) {
  const { approval, call } = item
  const held = call.subject !== null && !call.subject.tool_name.startsWith('counterfoil.')
  return (
    <>
      {held ? (
        <p class="note wait" role="note">
          <span class="strong">
            {'A call of '}
            <code>{call.subject?.tool_name}</code>
            {' is held.'}
          </span>{' '}
          {approval?.why ?? 'The policy of this program asks before such a call.'}
        </p>
      ) : null}
      <Section title="What is to be approved">
        <Data value={item.data} label="what is to be approved" />
        {held ? (
          <Fields
            rows={[
              ['Class', call.replay_class === null ? null : <Badge word={call.replay_class} />],
              ['Key', call.idempotency_key],
            ]}
          />
        ) : null}
      </Section>
      <Votes item={item} />
      <Round item={item} />
    </>
  )
}

function Votes({ item }: { item: ItemPageData }) {
  const { votes, approval } = item
  const quorum = approval?.quorum ?? 1
  if (votes.length === 0 && quorum < 2) return null
  const yes = votes.filter((vote) => vote.says === 'approve').length
  return (
    <Section title="Votes">
      <p>{`${yes} of ${quorum} who have to approve`}</p>
      <ul class="plain">
        {votes.map((vote) => (
          <li key={`${vote.by}${vote.at}`}>
            <span class="strong">{vote.by}</span> <Badge word={vote.says} /> <Time at={vote.at} />
            <span class="under">{vote.reason}</span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

/** What happens if nobody decides. */
export function Terms({ item }: { item: ItemPageData }) {
  const { approval, escalated } = item
  return (
    <Fields
      rows={[
        ['Needs', (approval?.quorum ?? 1) > 1 ? `${approval?.quorum} people who approve` : null],
        ['Not by', approval?.not_starter ? 'whoever has started the run' : null],
        [
          'Escalates',
          item.escalates_at && (
            <span>
              <Time at={item.escalates_at} /> {`to ${item.escalates_to}`}
            </span>
          ),
        ],
        ['Came from', escalated && `queue ${escalated.from}, where nobody had decided`],
        [
          'Expires',
          approval?.expires_at && (
            <span>
              <Time at={approval.expires_at} /> {`: it then counts as ${approval.expires_as}`}
            </span>
          ),
        ],
      ]}
    />
  )
}

function Round({ item }: { item: ItemPageData }) {
  const { previous } = item.links
  if (previous === null) return null
  return (
    <Section title="Asked before">
      <p>
        <Link to={`/inbox/${encodeURIComponent(previous.item_id)}`}>The round before</Link>{' '}
        <Badge word={previous.outcome} /> <Time at={previous.at} />
        <span class="under">{`${previous.by}: ${previous.reason}`}</span>
      </p>
    </Section>
  )
}
