// Runs, newest first: found by id, state, graph and version, a page at a time.
import { runStates } from '../../../src/model/run/states.ts'
import { useResource } from '../resource.ts'
import { Link, param, query } from '../route.tsx'
import { Badge, Empty, Filter, Loaded, Pager, Search } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Since, Time } from '../ui/time.tsx'
import type { Page, Run } from '../wire.ts'
import { spaced } from '../words.ts'

const pageSize = 50
const filters = ['state', 'graph', 'q', 'parent'] as const

export function RunsPage() {
  const list = useResource<Page<Run>>(listPath())
  return (
    <>
      <h1>Runs</h1>
      <div class="filters">
        <Search label="Search by id" name="q" />
        <Filter label="State" name="state" options={runStates} />
        <Search label="Graph" name="graph" />
        <Search label="Children of" name="parent" />
        <Filter
          label="Order"
          name="order"
          all="newest first"
          options={[['oldest', 'oldest first']]}
        />
      </div>
      <Loaded from={list}>
        {(page) => (
          <>
            {page.items.length === 0 ? <Nothing /> : <RunTable runs={page.items} />}
            <Pager next={page.next} count={page.items.length} />
          </>
        )}
      </Loaded>
    </>
  )
}

function listPath(): string {
  const wanted = new URLSearchParams({ limit: `${pageSize}`, order: param('order') ?? 'newest' })
  for (const name of [...filters, 'cursor']) {
    const value = query.value.get(name)
    if (value !== null) wanted.set(name, value)
  }
  return `/v1/runs?${wanted}`
}

function Nothing() {
  if (filters.some((name) => param(name) !== null)) {
    return (
      <Empty title="No run is like that.">
        <p>
          <Link to="/runs">Show all</Link>
        </p>
      </Empty>
    )
  }
  return (
    <Empty title="No runs yet." command="counterfoil dev agent.mjs">
      <p>A run begins with cf.start(graph, input) in your program. To try one:</p>
    </Empty>
  )
}

export function RunTable({ runs }: { runs: readonly Run[] }) {
  return <Table label="Runs" columns={columns} rows={runs} id={(run) => run.run_id} />
}

const columns: readonly Column<Run>[] = [
  {
    head: 'Run',
    class: 'main',
    cell: ({ run_id }) => (
      <Link to={`/runs/${encodeURIComponent(run_id)}`} class="title">
        {run_id}
      </Link>
    ),
  },
  { head: 'State', cell: ({ state }) => <Badge word={state} /> },
  { head: 'Graph', cell: ({ graph, version }) => `${graph}@${version}` },
  { head: 'Node', cell: ({ node, visit }) => `${node} · visit ${visit}` },
  { head: 'Waits for', cell: (run) => <WaitsFor run={run} /> },
  { head: 'Changed', cell: ({ updated_at }) => <Time at={updated_at} /> },
  { head: 'Started', cell: ({ created_at }) => <Time at={created_at} /> },
]

export function WaitsFor({ run }: { run: Run }) {
  const { waiting_for: wait } = run
  if (wait === null) return <span class="dim">–</span>
  const names = wait.names?.join(', ') ?? ''
  return (
    <>
      {spaced(wait.kind)} {names} <span class="dim">{'for '}</span>
      <Since at={wait.since} />
    </>
  )
}
