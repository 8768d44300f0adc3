// Checkpoints, and what changed between any two.
import { useResource } from '../resource.ts'
import { go, param, withQuery } from '../route.tsx'
import { DiffView } from '../ui/diff-view.tsx'
import { Badge, Empty, Loaded, Section } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import type { Checkpoint, Page } from '../wire.ts'
import { bytes } from '../words.ts'
import { pathOf } from './paths.ts'
import type { StateAt } from './state.tsx'

export function Checkpoints({ id }: { id: string }) {
  const list = useResource<Page<Checkpoint>>(pathOf(id, '/checkpoints'))
  return (
    <Loaded from={list}>
      {(page) =>
        page.items.length === 0 ? (
          <Empty title="No checkpoint yet." />
        ) : (
          <>
            <Compare id={id} rows={page.items} />
            <Section title="Checkpoints">
              <Table label="Checkpoints" columns={columns} rows={page.items} id={nameOf} />
            </Section>
          </>
        )
      }
    </Loaded>
  )
}

function nameOf(row: Checkpoint): string {
  return `${row.generation}#${row.visit}`
}

function Compare({ id, rows }: { id: string; rows: readonly Checkpoint[] }) {
  const last = rows.at(-1)?.visit ?? 0
  const from = param('from') ?? `${rows.at(-2)?.visit ?? last}`
  const to = param('to') ?? `${last}`
  const before = useResource<StateAt>(pathOf(id, `/state?visit=${from}`), false)
  const after = useResource<StateAt>(pathOf(id, `/state?visit=${to}`), false)
  return (
    <Section title="What changed between two">
      <div class="filters">
        <Pick label="From" name="from" value={from} rows={rows} />
        <Pick label="To" name="to" value={to} rows={rows} />
      </div>
      <Loaded from={before}>
        {(first) => (
          <Loaded from={after}>
            {(second) => (
              <DiffView
                before={first.state}
                after={second.state}
                names={[`visit ${first.visit}`, `visit ${second.visit}`]}
              />
            )}
          </Loaded>
        )}
      </Loaded>
    </Section>
  )
}

interface PickProps {
  readonly label: string
  readonly name: string
  readonly value: string
  readonly rows: readonly Checkpoint[]
}

function Pick({ label, name, value, rows }: PickProps) {
  return (
    <label class="filter">
      <span>{label}</span>
      <select
        value={value}
        onChange={(event) =>
          go(withQuery({ [name]: event.currentTarget.value }), { replace: true })
        }
      >
        {rows.map((row) => (
          <option key={nameOf(row)} value={row.visit}>{`${row.visit}: ${row.node}`}</option>
        ))}
      </select>
    </label>
  )
}

const columns: readonly Column<Checkpoint>[] = [
  { head: 'Visit', cell: ({ visit }) => `${visit}` },
  { head: 'Node', cell: ({ node }) => node },
  { head: 'Kind', cell: ({ kind }) => <Badge word={kind} /> },
  { head: 'Size', cell: (row) => bytes(row.bytes) },
  { head: 'Version', cell: ({ version }) => version },
  { head: 'Digest', cell: ({ digest }) => <code>{digest.slice(0, 16)}</code> },
  { head: 'Written', cell: ({ created_at }) => <Time at={created_at} /> },
]
