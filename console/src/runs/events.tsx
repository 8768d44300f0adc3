// The history of a run: what no other row says.
import { useState } from 'preact/hooks'
import { eventText } from '../inbox/item-page.tsx'
import { useResource } from '../resource.ts'
import { Empty, Loaded, Section } from '../ui/parts.tsx'
import { Time } from '../ui/time.tsx'
import type { Event, Page } from '../wire.ts'
import { spaced } from '../words.ts'
import { pathOf } from './paths.ts'

const pageSize = 200

export function Events({ id }: { id: string }) {
  const [cursor, setCursor] = useState<string | null>(null)
  const [kind, setKind] = useState('')
  const from = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
  const events = useResource<Page<Event>>(pathOf(id, `/events?limit=${pageSize}${from}`))
  const kinds = [...new Set((events.data?.items ?? []).map((event) => event.kind))].sort()
  const choose = (
    <label class="filter">
      <span>Kind</span>
      <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
        <option value="">all</option>
        {kinds.map((one) => (
          <option key={one} value={one}>
            {spaced(one)}
          </option>
        ))}
      </select>
    </label>
  )
  return (
    <Section title="Events" aside={choose}>
      <Loaded from={events}>
        {(page) => (
          <>
            {page.items.length === 0 ? <Empty title="No events here." /> : null}
            <ol class="events">
              {page.items
                .filter((event) => kind === '' || event.kind === kind)
                .map((event, index) => (
                  <Line key={event.id ?? index} event={event} />
                ))}
            </ol>
            <p class="buttons">
              {cursor === null ? null : (
                <button type="button" onClick={() => setCursor(null)}>
                  From the beginning
                </button>
              )}
              {page.next === null ? null : (
                <button type="button" onClick={() => setCursor(page.next)}>
                  Later ones
                </button>
              )}
            </p>
          </>
        )}
      </Loaded>
    </Section>
  )
}

function Line({ event }: { event: Event }) {
  return (
    <li>
      <Time at={event.at} /> <span class="strong">{spaced(event.kind)}</span>{' '}
      <span class="what">
        <span class="dim">{`visit ${event.visit} `}</span>
        {eventText(event.data)}
      </span>
    </li>
  )
}
