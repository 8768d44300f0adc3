// The inbox: what waits for a person, how long, until when, and for whom.
import { mayWrite } from '../api.ts'
import { now } from '../clock.ts'
import { useResource } from '../resource.ts'
import { go, Link, param, query, withQuery } from '../route.tsx'
import { Badge, Empty, Filter, Loaded, Pager, Search } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Since, Time } from '../ui/time.tsx'
import type { ItemRow, Page } from '../wire.ts'
import { parseMs } from '../words.ts'
import { Bulk } from './bulk.tsx'
import { chosen, toggle } from './chosen.ts'

const pageSize = 50

export function InboxPage() {
  const list = useResource<Page<ItemRow>>(listPath())
  return (
    <>
      <h1>Inbox</h1>
      <Filters />
      <Loaded from={list}>
        {(page) => (
          <>
            {page.items.length === 0 ? <Nothing /> : <Items page={page} />}
            <Pager next={page.next} count={page.items.length} />
          </>
        )}
      </Loaded>
    </>
  )
}

function listPath(): string {
  const wanted = new URLSearchParams({ state: param('state') ?? 'open', limit: `${pageSize}` })
  for (const name of ['kind', 'queue', 'run', 'overdue', 'cursor']) {
    const value = query.value.get(name)
    if (value !== null) wanted.set(name, value)
  }
  return `/v1/inbox?${wanted}`
}

function Filters() {
  const overdue = param('overdue') !== null
  return (
    <div class="filters">
      <Filter label="Kind" name="kind" options={['doubt', 'approval', 'question']} />
      <Filter label="State" name="state" all="open" options={['decided', 'closed']} />
      <Search label="Queue" name="queue" />
      <Search label="Run" name="run" />
      <label class="filter check">
        <input
          type="checkbox"
          checked={overdue}
          onChange={() => go(withQuery({ overdue: overdue ? null : 'true' }))}
        />
        <span>Overdue only</span>
      </label>
    </div>
  )
}

function Nothing() {
  const filtered = ['kind', 'state', 'queue', 'run', 'overdue'].some((name) => param(name) !== null)
  if (filtered) {
    return (
      <Empty title="No item is like that.">
        <p>
          <Link to="/">Show all that waits</Link>
        </p>
      </Empty>
    )
  }
  return (
    <Empty title="Nothing waits for you." command="counterfoil inbox">
      <p>
        Items come here when a node asks for an approval, or when a worker died and nobody can know
        whether a call happened. From a terminal:
      </p>
    </Empty>
  )
}

function Items({ page }: { page: Page<ItemRow> }) {
  const open = (param('state') ?? 'open') === 'open'
  const chooses = open && mayWrite()
  return (
    <>
      {chooses ? <Bulk items={page.items} /> : null}
      <Table
        label="Items, those that wait longest first"
        columns={chooses ? [choose, ...columns] : columns}
        rows={page.items}
        id={(item) => item.item_id}
      />
    </>
  )
}

const choose: Column<ItemRow> = {
  head: '',
  class: 'choose',
  cell: ({ item_id, title }) => (
    <input
      type="checkbox"
      aria-label={`Choose: ${title}`}
      checked={chosen.value.has(item_id)}
      onChange={() => toggle(item_id)}
    />
  ),
}

const columns: readonly Column<ItemRow>[] = [
  {
    head: 'What',
    class: 'main',
    cell: (item) => (
      <>
        <Link to={`/inbox/${encodeURIComponent(item.item_id)}`} class="title">
          {item.title}
        </Link>
        <span class="under">
          <Badge word={item.kind} />
          <Reason item={item} />
          {item.state === 'open' ? null : <Badge word={item.state} />}
        </span>
      </>
    ),
  },
  { head: 'Waits', cell: (item) => <Waits item={item} /> },
  { head: 'Due', cell: (item) => <Due item={item} /> },
  { head: 'For', cell: (item) => <For item={item} /> },
  {
    head: 'Run',
    cell: ({ run_id }) => <Link to={`/runs/${encodeURIComponent(run_id)}`}>{run_id}</Link>,
  },
]

/** Why it is a doubt. */
export function Reason({ item: { reason } }: { item: Pick<ItemRow, 'reason'> }) {
  if (reason === null) return null
  return <Badge word={reason === 'unknown' ? 'outcome unknown' : reason} tone="plain" />
}

function Waits({ item }: { item: ItemRow }) {
  return item.state === 'open' ? <Since at={item.created_at} /> : <Time at={item.closed_at} />
}

export function Due({ item }: { item: Pick<ItemRow, 'due_at' | 'state'> }) {
  if (item.due_at === null) return <span class="dim">no SLA</span>
  const late = item.state === 'open' && parseMs(item.due_at) < now.value
  return (
    <>
      <Time at={item.due_at} /> {late ? <Badge word="overdue" /> : null}
    </>
  )
}

export function For({ item }: { item: Pick<ItemRow, 'queue' | 'deciders'> }) {
  const who = item.deciders === null ? 'any operator' : item.deciders.join(', ')
  return (
    <>
      {item.queue}
      <span class="under dim">{who}</span>
    </>
  )
}
