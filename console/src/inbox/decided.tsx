// After a decision: what was decided, by whom, what the run does next, and what waits next.
import { Link } from '../route.tsx'
import { Badge } from '../ui/parts.tsx'
import { Time } from '../ui/time.tsx'
import type { ItemPageData } from '../wire.ts'
import { spaced } from '../words.ts'

export function Decided({ item }: { item: ItemPageData }) {
  const { run, next } = item
  return (
    <div class="decided">
      <What item={item} />
      <p>
        <Badge word={run.state} /> {item.what_next}{' '}
        <Link to={`/runs/${encodeURIComponent(item.run_id)}`}>{`Open run ${item.run_id}`}</Link>
      </p>
      <p class="next">
        {next === null ? (
          'Nothing else waits for you.'
        ) : (
          <>
            <span class="under dim">
              {next.run_id === item.run_id ? 'Next, in the same run' : 'Next in the inbox'}
            </span>
            <Link to={`/inbox/${encodeURIComponent(next.item_id)}`} class="strong">
              {next.title}
            </Link>
          </>
        )}
      </p>
    </div>
  )
}

function What({ item }: { item: ItemPageData }) {
  const { decision, choices } = item
  if (decision === null) {
    return <p>{`It was closed without a decision: ${item.closed_by ?? 'no reason is known'}`}</p>
  }
  const label = choices.find(({ outcome }) => outcome === decision.outcome)?.label
  return (
    <p>
      {'It is decided. '}
      <span class="strong">{label ?? spaced(decision.outcome)}</span>
      {`, by ${decision.by}, `}
      <Time at={decision.at} />
      <span class="under quote">{decision.reason}</span>
      {decision.evidence === null ? null : (
        <span class="under">{`Evidence: ${decision.evidence}`}</span>
      )}
      {decision.made_sure ? (
        <span class="under">{`${decision.by} stated: every attempt is over.`}</span>
      ) : null}
    </p>
  )
}
