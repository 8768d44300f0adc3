// Visits and their calls in order, with what became of each.
import { now } from '../clock.ts'
import { useResource } from '../resource.ts'
import type { Tone } from '../tone.ts'
import { Badge, Loaded, Section } from '../ui/parts.tsx'
import { Time } from '../ui/time.tsx'
import type { Entry, Event, Page, RunView } from '../wire.ts'
import { duration, parseMs, plural } from '../words.ts'
import { claimsOf, type Fate, fateOf, hitsOf, type Mark, marksOf } from './fate.ts'
import { pathOf } from './paths.ts'

interface Stop {
  readonly visit: number
  readonly node: string
  readonly at: string
  readonly entries: readonly Entry[]
}

const rowsMax = 200

export function Timeline({ run }: { run: RunView }) {
  const ledger = useResource<Page<Entry>>(pathOf(run.run_id, `/ledger?limit=${rowsMax}`))
  const events = useResource<Page<Event>>(pathOf(run.run_id, `/events?limit=${rowsMax}`))
  const claims = claimsOf(events.data?.items ?? [])
  return (
    <Section title="Timeline" aside={<Legend />}>
      <Loaded from={ledger}>
        {(page) => (
          <>
            <ol class="visits">
              {stopsOf(run, page.items).map((stop) => (
                <Visit
                  key={stop.visit}
                  stop={stop}
                  claims={claims}
                  events={events.data?.items ?? []}
                />
              ))}
            </ol>
            {page.next === null ? null : (
              <p class="dim">{`The first ${rowsMax} calls; the ledger has all of them.`}</p>
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}

const fates: readonly (readonly [Fate, string])[] = [
  ['executed', 'sent and answered'],
  ['hit', 'answered from its receipt after a restart'],
  ['decided', 'a person said how it ended'],
  ['parked', 'waits for a person'],
]

function Legend() {
  return (
    <p class="legend dim">
      {fates.map(([fate, words]) => (
        <span key={fate}>
          <Badge word={fate} tone={fateTones[fate]} /> {words}
        </span>
      ))}
    </p>
  )
}

function stopsOf(run: RunView, entries: readonly Entry[]): Stop[] {
  const stops = new Map<number, Stop>(
    run.path.map(({ node, visit, at }) => [visit, { node, visit, at, entries: [] }]),
  )
  for (const entry of entries) {
    const { visit, node_id: node, created_at: at } = entry
    const stop = stops.get(visit) ?? { node, visit, at, entries: [] }
    stops.set(visit, { ...stop, entries: [...stop.entries, entry] })
  }
  return [...stops.values()].sort((a, b) => a.visit - b.visit)
}

type Claims = ReturnType<typeof claimsOf>

interface VisitProps {
  readonly stop: Stop
  readonly claims: Claims
  readonly events: readonly Event[]
}

function Visit({ stop, claims, events }: VisitProps) {
  const resumes = (claims.get(stop.visit) ?? []).filter((at) => at > stop.at).length
  return (
    <li>
      <h3>
        {stop.node} <span class="dim">{`visit ${stop.visit}`}</span> <Time at={stop.at} />{' '}
        {resumes > 1 ? <span class="dim">{`resumed ${times(resumes - 1)}`}</span> : null}
      </h3>
      {stop.entries.length === 0 ? null : (
        <ul class="calls">
          {stop.entries.map((entry) => (
            <Call
              key={`${entry.tool_name}/${entry.input_hash}/${entry.occurrence}`}
              entry={entry}
              hits={hitsOf(entry, claims)}
              stop={stop}
              marks={marksOf(entry, events)}
            />
          ))}
        </ul>
      )}
    </li>
  )
}

const fateTones: Readonly<Record<Fate, Tone>> = {
  executed: 'busy',
  hit: 'good',
  decided: 'wait',
  parked: 'bad',
  waits: 'wait',
  failed: 'bad',
  'in flight': 'wait',
}

interface CallProps {
  readonly entry: Entry
  readonly hits: number
  readonly stop: Stop
  readonly marks: readonly Mark[]
}

function Call({ entry, hits, stop, marks }: CallProps) {
  const fate = fateOf(entry, hits)
  const from = parseMs(entry.created_at)
  const until = entry.settled_at === null ? now.value : parseMs(entry.settled_at)
  return (
    <li>
      <Badge word={fate} tone={fateTones[fate]} />
      <code>{entry.tool_name}</code>
      <Badge word={entry.replay_class} tone="plain" />
      <Bar stop={stop} from={from} until={until} tone={fateTones[fate]} />
      <span class="dim">
        {duration(until - from)}
        {entry.attempt_count > 1 ? `, ${plural(entry.attempt_count, 'attempt')}` : ''}
        {hits > 0 ? `, answered again ${times(hits)}` : ''}
        {entry.external_id === null ? '' : `, ${entry.external_id}`}
      </span>
      {marks.length === 0 ? null : <Marks marks={marks} />}
    </li>
  )
}

function Marks({ marks }: { marks: readonly Mark[] }) {
  return (
    <ul class="timeline marks">
      {marks.map(({ at, words, tone }) => (
        <li key={`${at}${words}`} class={tone}>
          {words}{' '}
          <span class="dim">
            <Time at={at} />
          </span>
        </li>
      ))}
    </ul>
  )
}

function times(count: number): string {
  return count === 1 ? 'once' : plural(count, 'time')
}

/** When in its visit the call was under way. */
function Bar(props: { stop: Stop; from: number; until: number; tone: Tone }) {
  const begins = props.stop.entries.map((entry) => parseMs(entry.created_at))
  const ends = props.stop.entries.map((entry) =>
    entry.settled_at === null ? now.value : parseMs(entry.settled_at),
  )
  const start = Math.min(...begins)
  const span = Math.max(1, Math.max(...ends) - start)
  const x = ((props.from - start) / span) * 100
  const width = Math.max(2, ((props.until - props.from) / span) * 100)
  return (
    <svg
      class={`bar ${props.tone}`}
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect class="track" width="100" height="8" />
      <rect x={Math.min(x, 98)} width={Math.min(width, 100 - Math.min(x, 98))} height="8" />
    </svg>
  )
}
