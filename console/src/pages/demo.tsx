// The live demo: a worker to kill, and what its upstreams have really done.
import { useEffect, useState } from 'preact/hooks'
import { api, isAdmin, type Problem } from '../api.ts'
import { now } from '../clock.ts'
import { asProblem, useResource } from '../resource.ts'
import { Link } from '../route.tsx'
import { say } from '../say.tsx'
import { Badge, Failure, Loaded, Section } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Since, Time } from '../ui/time.tsx'
import type { Item, Page } from '../wire.ts'
import { plural } from '../words.ts'
import { type Plug, PullThePlug } from './plug.tsx'

interface Demo {
  readonly worker: {
    readonly pid: number
    readonly started_at: string
    readonly alive: boolean
    readonly armed: boolean
  }
  readonly kills: readonly Kill[]
  readonly kill_count: number
  readonly effects: readonly Effect[]
  readonly total: { readonly effects: number; readonly twice: number }
  readonly plug: Plug
}

interface Kill {
  readonly at: string
  readonly pid: number
  readonly signal: string | null
  readonly after: {
    readonly agent: string
    readonly result: unknown
    readonly service: string
    readonly run_id: string
  } | null
}

interface Effect {
  readonly agent: string
  readonly service: string
  readonly effects: number
  readonly twice: number
}

export function DemoPage() {
  const demo = useResource<Demo>('/v1/demo')
  const second = Math.floor(now.value / 1_000)
  // The upstreams and the worker are no rows of the store: nobody gives a hint of them.
  useEffect(demo.reload, [second])
  return (
    <>
      <h1>Demo</h1>
      <p class="lead">
        Vendors are taken on, trips are booked, customers are written to. Kill their worker in the
        middle of a call, and watch: what was done is read back, what was not is done, and what
        nobody can know is put before you.
      </p>
      <Loaded from={demo}>{(known) => <Known demo={known} reload={demo.reload} />}</Loaded>
    </>
  )
}

function Known({ demo, reload }: { demo: Demo; reload: () => void }) {
  return (
    <>
      <Section title="The worker">
        <WorkerLine demo={demo} />
        {isAdmin() ? <Buttons demo={demo} reload={reload} /> : null}
        <Doubts />
      </Section>
      <Section title="What the upstreams have done">
        <p>
          <strong>{`${demo.total.effects} effects, ${demo.total.twice} done twice`}</strong>{' '}
          <span class="dim">
            {`after ${plural(demo.kill_count, 'kill')}, counted by the upstreams themselves`}
          </span>
        </p>
        <Table
          label="Effects"
          columns={effectColumns}
          rows={demo.effects}
          id={(row) => `${row.agent}/${row.service}`}
        />
      </Section>
      <PullThePlug plug={demo.plug} reload={reload} />
      {demo.kills.length === 0 ? null : (
        <Section title="Kills">
          <Table label="Kills" columns={killColumns} rows={demo.kills} id={(row) => row.at} />
        </Section>
      )}
    </>
  )
}

function WorkerLine({ demo: { worker } }: { demo: Demo }) {
  if (!worker.alive) {
    return (
      <p role="status">
        <Badge word="dead" /> {`pid ${worker.pid} was killed; its supervisor starts another.`}
      </p>
    )
  }
  return (
    <p role="status">
      <Badge word="alive" /> {`pid ${worker.pid}, at work for `}
      <Since at={worker.started_at} />
      {worker.armed ? '; it dies as soon as an upstream has done something' : ''}
    </p>
  )
}

type When = 'now' | 'next_effect' | 'next_mail'

const told: Readonly<Record<When, string>> = {
  now: 'The worker was killed',
  next_effect: 'The worker dies after the next effect',
  next_mail: 'The worker dies after the next mail',
}

function Buttons({ demo, reload }: { demo: Demo; reload: () => void }) {
  const [problem, setProblem] = useState<Problem | null>(null)
  const kill = async (when: When) => {
    try {
      await api('/v1/demo/kill', { method: 'POST', body: { when } })
      setProblem(null)
      say(told[when])
    } catch (error) {
      setProblem(asProblem(error))
    }
    reload()
  }
  const idle = !demo.worker.alive
  return (
    <>
      <p class="buttons">
        <button
          type="button"
          class="primary grave"
          disabled={idle || demo.worker.armed}
          onClick={() => kill('next_mail')}
        >
          Kill it after the next mail, before the answer
        </button>
        <button
          type="button"
          disabled={idle || demo.worker.armed}
          onClick={() => kill('next_effect')}
        >
          Kill it after the next effect
        </button>
        <button type="button" disabled={idle} onClick={() => kill('now')}>
          Kill it now
        </button>
      </p>
      {problem === null ? null : <Failure problem={problem} />}
    </>
  )
}

/** What the kills have left behind for a person. */
function Doubts() {
  const doubts = useResource<Page<Item>>('/v1/inbox?kind=doubt')
  const items = doubts.data?.items ?? []
  if (items.length === 0) return null
  return (
    <>
      <p class="strong">Nobody but you can know what became of these:</p>
      <ul>
        {items.map((item) => (
          <li key={item.item_id}>
            <Link to={`/inbox/${encodeURIComponent(item.item_id)}`}>{item.title}</Link>{' '}
            <span class="dim">{`of ${item.run_id}`}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

const effectColumns: readonly Column<Effect>[] = [
  { head: 'Agent', class: 'main', cell: (row) => <span class="title">{row.agent}</span> },
  { head: 'Service', cell: (row) => row.service },
  { head: 'Done', cell: (row) => row.effects },
  {
    head: 'Twice',
    cell: (row) => <Badge word={String(row.twice)} tone={row.twice === 0 ? 'good' : 'bad'} />,
  },
]

const killColumns: readonly Column<Kill>[] = [
  { head: 'When', class: 'main', cell: (row) => <Time at={row.at} /> },
  { head: 'Process', cell: (row) => `pid ${row.pid}, ended by ${row.signal ?? 'itself'}` },
  {
    head: 'In the middle of',
    cell: ({ after }) =>
      after === null ? (
        <span class="dim">whatever it did</span>
      ) : (
        <>
          {`${after.agent} ${after.service} for ${after.run_id}: done, and not yet answered`}
          <span class="under dim">
            The upstream's own log has its result: <code>{JSON.stringify(after.result)}</code>
          </span>
        </>
      ),
  },
]
