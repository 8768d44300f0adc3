// After a decision: what was decided, by whom, what the run does next, and what waits next.
import { useResource } from '../resource.ts'
import { Link } from '../route.tsx'
import { Badge } from '../ui/parts.tsx'
import { Time } from '../ui/time.tsx'
import type { ItemPageData, ItemRow, Page } from '../wire.ts'
import { spaced } from '../words.ts'

export function Decided({ item }: { item: ItemPageData }) {
  const { decision, choices, run } = item
  const label = choices.find(({ outcome }) => outcome === decision?.outcome)?.label
  return (
    <div class="pad decided">
      {decision === null ? null : (
        <p>
          <span class="strong">{label ?? spaced(decision.outcome)}</span>
          {`, by ${decision.by} `}
          <Time at={decision.at} />
          <span class="under">{decision.reason}</span>
          {decision.made_sure ? (
            <span class="under dim">They stated that they had made sure.</span>
          ) : null}
        </p>
      )}
      <p>
        <Badge word={run.state} /> {nextOf(item)}{' '}
        <Link to={`/runs/${encodeURIComponent(item.run_id)}`}>{item.run_id}</Link>
      </p>
      <Next id={item.item_id} />
    </div>
  )
}

/** What the run does now, in words. */
function nextOf({ run }: ItemPageData): string {
  const words: Partial<Record<typeof run.state, string>> = {
    pending: `The next free worker goes on with it, at node ${run.node}:`,
    running: `A worker goes on with it, at node ${run.node}:`,
    waiting_human: 'The run waits for a person again:',
    paused: 'The run is paused: the decision counts when it is resumed:',
    completed: 'The run has completed:',
    failed: 'The run has failed:',
    cancelled: 'The run was cancelled:',
  }
  return words[run.state] ?? 'The run:'
}

function Next({ id }: { id: string }) {
  const list = useResource<Page<ItemRow>>('/v1/inbox?state=open&limit=2')
  const next = list.data?.items.find(({ item_id }) => item_id !== id)
  if (list.data === null) return null
  if (next === undefined) return <p class="dim">Nothing else waits for you.</p>
  return (
    <p>
      {'Next: '}
      <Link to={`/inbox/${encodeURIComponent(next.item_id)}`} class="title">
        {next.title}
      </Link>
    </p>
  )
}
