// One run: where it stands, how it got there, and what can be done about it.
import { useEffect } from 'preact/hooks'
import { mayWrite } from '../api.ts'
import { listenTo } from '../live.ts'
import { useResource } from '../resource.ts'
import { Link, param, withQuery } from '../route.tsx'
import { Badge, Fields, Loaded, Section } from '../ui/parts.tsx'
import { Time } from '../ui/time.tsx'
import { Data } from '../ui/value.tsx'
import type { Page, Run, RunView } from '../wire.ts'
import { Actions } from './actions.tsx'
import { Checkpoints } from './checkpoints.tsx'
import { Events } from './events.tsx'
import { GraphPanel } from './graph.tsx'
import { Ledger } from './ledger.tsx'
import { RunTable, WaitsFor } from './list.tsx'
import { pathOf } from './paths.ts'
import { PreviewPanel } from './preview.tsx'
import { StatePanel } from './state.tsx'
import { Timeline } from './timeline.tsx'

const tabs: readonly (readonly [id: string, name: string])[] = [
  ['', 'Overview'],
  ['ledger', 'Ledger'],
  ['checkpoints', 'Checkpoints'],
  ['state', 'State'],
  ['events', 'Events'],
  ['children', 'Children'],
  ['preview', 'If the worker died now'],
]

export function RunPage({ id }: { id: string }) {
  const run = useResource<RunView>(pathOf(id))
  useEffect(() => listenTo(pathOf(id, '/stream')), [id])
  return (
    <>
      <p class="crumbs">
        <Link to="/runs">Runs</Link>
      </p>
      <Loaded from={run}>{(data) => <Shown run={data} reload={run.reload} />}</Loaded>
    </>
  )
}

function Shown({ run, reload }: { run: RunView; reload: () => void }) {
  const tab = param('tab') ?? ''
  return (
    <article class="run">
      <header>
        <h1>{run.run_id}</h1>
        <p class="under">
          <span role="status">
            <Badge word={run.state} />
          </span>
          <span>{`${run.graph}@${run.version}`}</span>
          <span class="dim">{`at ${run.node}, visit ${run.visit}`}</span>
        </p>
        {mayWrite() ? <Actions run={run} reload={reload} /> : null}
      </header>
      <nav class="tabs" aria-label="Parts of the run">
        {tabs.map(([to, name]) => (
          <Link
            key={to}
            to={withQuery({ tab: to, visit: null, from: null, to: null })}
            current={to === tab}
          >
            {name}
            {to === 'children' && run.children_count > 0 ? ` (${run.children_count})` : ''}
          </Link>
        ))}
      </nav>
      <Tab run={run} tab={tab} />
    </article>
  )
}

function Tab({ run, tab }: { run: RunView; tab: string }) {
  const id = run.run_id
  if (tab === 'ledger') return <Ledger id={id} />
  if (tab === 'checkpoints') return <Checkpoints id={id} />
  if (tab === 'state') return <StatePanel run={run} />
  if (tab === 'events') return <Events id={id} />
  if (tab === 'children') return <Children id={id} />
  if (tab === 'preview') return <PreviewPanel id={id} />
  return (
    <>
      <Overview run={run} />
      <GraphPanel run={run} />
      <Timeline run={run} />
    </>
  )
}

function Overview({ run }: { run: RunView }) {
  return (
    <Section title="Now">
      <Fields
        rows={[
          ['Waits for', run.waiting_for === null ? null : <WaitsFor run={run} />],
          ['Items', run.waiting_for?.items.length ? <Items run={run} /> : null],
          ['Asked to stop', run.stop && `${run.stop.to} by ${run.stop.by}: ${run.stop.reason}`],
          ['Worker', run.worker_id],
          ['Started', <Time key="s" at={run.created_at} />],
          ['Started by', run.started_by],
          ['Changed', <Time key="c" at={run.updated_at} />],
          ['Trace', <code key="t">{run.trace_id}</code>],
        ]}
      />
      {run.output === null ? null : (
        <>
          <h3>Output</h3>
          <Data value={run.output} label="output" />
        </>
      )}
      {run.error === null ? null : (
        <>
          <h3>Error</h3>
          <Data value={run.error} label="error" />
        </>
      )}
    </Section>
  )
}

function Items({ run }: { run: RunView }) {
  return (
    <>
      {(run.waiting_for?.items ?? []).map((item) => (
        <span key={item}>
          <Link to={`/inbox/${encodeURIComponent(item)}`}>{item}</Link>{' '}
        </span>
      ))}
    </>
  )
}

function Children({ id }: { id: string }) {
  const children = useResource<Page<Run>>(pathOf(id, '/children'))
  return (
    <Section title="Children">
      <Loaded from={children}>
        {(page) =>
          page.items.length === 0 ? (
            <p class="dim pad">It has started no runs (ctx.spawn).</p>
          ) : (
            <RunTable runs={page.items} />
          )
        }
      </Loaded>
    </Section>
  )
}
