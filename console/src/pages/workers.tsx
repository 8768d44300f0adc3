// Workers: who is at work, on what, and who is dead, by which proof.
import { useState } from 'preact/hooks'
import { api, isAdmin, type Problem } from '../api.ts'
import { asProblem, useResource } from '../resource.ts'
import { Link, param } from '../route.tsx'
import { say } from '../say.tsx'
import { Badge, Empty, Failure, Filter, Loaded } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import type { Page, Worker } from '../wire.ts'

const runsMax = 5

export function WorkersPage() {
  const workers = useResource<Page<Worker>>(
    param('all') === 'true' ? '/v1/workers?all=true' : '/v1/workers',
  )
  return (
    <>
      <h1>Workers</h1>
      <div class="filters">
        <Filter label="Show" name="all" all="at work" options={[['true', 'ended ones too']]} />
      </div>
      <Loaded from={workers}>
        {(page) =>
          page.items.length === 0 ? (
            <Empty title="No worker is at work." command="counterfoil worker agent.mjs">
              <p>Runs wait until a worker that carries their version takes them. Start one:</p>
            </Empty>
          ) : (
            <Table
              label="Workers"
              columns={isAdmin() ? [...columns, declare] : columns}
              rows={page.items}
              id={(row) => row.worker_id}
            />
          )
        }
      </Loaded>
    </>
  )
}

const columns: readonly Column<Worker>[] = [
  { head: 'Worker', class: 'main', cell: (row) => <code class="title">{row.worker_id}</code> },
  {
    head: 'State',
    cell: (row) => (
      <>
        <Badge word={row.state} />
        {row.death_proof === null ? null : <span class="under dim">{row.death_proof}</span>}
      </>
    ),
  },
  { head: 'Where', cell: (row) => `pid ${row.pid} on ${row.host}` },
  { head: 'Started', cell: (row) => <Time at={row.started_at} /> },
  { head: 'Ended', cell: (row) => <Time at={row.died_at ?? row.stopped_at} /> },
  { head: 'Holds', cell: (row) => <Holds row={row} /> },
]

function Holds({ row }: { row: Worker }) {
  if (row.runs.length === 0) return <span class="dim">nothing</span>
  const more = row.runs.length - runsMax
  return (
    <>
      {row.runs.slice(0, runsMax).map((run) => (
        <span key={run} class="under">
          <Link to={`/runs/${encodeURIComponent(run)}`}>{run}</Link>
        </span>
      ))}
      {more > 0 ? <span class="under dim">{`and ${more} more`}</span> : null}
    </>
  )
}

const declare: Column<Worker> = {
  head: 'Assert',
  cell: (row) => (row.died_at === null && row.stopped_at === null ? <Dead row={row} /> : null),
}

/** A death on another machine is never proven: an admin asserts it, on record. */
function Dead({ row }: { row: Worker }) {
  const [proof, setProof] = useState<string | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  if (proof === null) {
    return (
      <button type="button" class="small" onClick={() => setProof('')}>
        It is dead…
      </button>
    )
  }
  const send = async () => {
    try {
      const path = `/v1/workers/${encodeURIComponent(row.worker_id)}/dead`
      await api(path, { method: 'POST', body: { proof } })
      say(`On record: ${row.worker_id} is dead`)
    } catch (error) {
      setProblem(asProblem(error))
    }
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <label class="field">
        <span>How do you know?</span>
        <input value={proof} required onInput={(event) => setProof(event.currentTarget.value)} />
      </label>
      {problem === null ? null : <Failure problem={problem} />}
      <button type="submit" class="small" disabled={proof.trim() === ''}>
        Put it on record
      </button>
    </form>
  )
}
