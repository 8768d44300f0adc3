// Versions of graphs, and what is left on each.
import { useResource } from '../resource.ts'
import { Link } from '../route.tsx'
import { Empty, Loaded } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import type { Page, Version } from '../wire.ts'
import { spaced } from '../words.ts'

export function VersionsPage() {
  const versions = useResource<Page<Version>>('/v1/versions')
  return (
    <>
      <h1>Versions</h1>
      <p class="lead">
        A run stays on the version it began with, and workers take only versions that they carry. A
        version may go when nothing live is left on it.
      </p>
      <Loaded from={versions}>
        {(page) =>
          page.items.length === 0 ? (
            <Empty title="No graphs yet." command="counterfoil dev agent.mjs">
              <p>A graph is registered when a program opens the store with it:</p>
            </Empty>
          ) : (
            <Table
              label="Versions"
              columns={columns}
              rows={page.items}
              id={(row) => `${row.graph}@${row.version}`}
            />
          )
        }
      </Loaded>
    </>
  )
}

const columns: readonly Column<Version>[] = [
  {
    head: 'Graph',
    class: 'main',
    cell: ({ graph, version }) => (
      <Link to={`/runs?graph=${encodeURIComponent(graph)}`} class="title">
        {`${graph}@${version}`}
      </Link>
    ),
  },
  { head: 'Live', cell: ({ live }) => live.toLocaleString() },
  { head: 'Ended', cell: ({ ended }) => ended.toLocaleString() },
  {
    head: 'Where',
    cell: ({ states }) =>
      Object.entries(states)
        .filter(([, count]) => count > 0)
        .map(([state, count]) => `${count.toLocaleString()} ${spaced(state)}`)
        .join(', '),
  },
  { head: 'Registered', cell: (row) => <Time at={row.registered_at} /> },
]
