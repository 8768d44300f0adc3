// One decision about many items, where they are alike.
import { useState } from 'preact/hooks'
import { api, type Problem } from '../api.ts'
import { asProblem } from '../resource.ts'
import { say } from '../say.tsx'
import { Failure } from '../ui/parts.tsx'
import type { ItemRow, Outcome } from '../wire.ts'
import { plural } from '../words.ts'
import { chosen } from './chosen.ts'
import { labels } from './outcomes.ts'

/** What can be said of many without looking into each: nothing that needs a result. */
function outcomesFor({ kind, reason }: ItemRow): readonly Outcome[] {
  if (kind === 'approval') return ['approve', 'reject']
  if (kind === 'question') return ['fail', 'abandon']
  return reason === 'unknown' ? ['did_not_happen', 'fail', 'abandon'] : ['abandon']
}

function likeness(item: ItemRow): string {
  const { kind, reason, queue, title, quorum, call } = item
  return JSON.stringify([kind, reason, queue, title, quorum, call?.tool_name ?? null])
}

export function Bulk({ items }: { items: readonly ItemRow[] }) {
  const picked = items.filter((item) => chosen.value.has(item.item_id))
  const [first] = picked
  if (first === undefined) return null
  const alike = picked.every((item) => likeness(item) === likeness(first))
  return (
    <section class="bulk" aria-label="Decide the chosen items">
      <p class="strong">{`${plural(picked.length, 'item')} chosen`}</p>
      {alike ? (
        <BulkForm items={picked} outcomes={outcomesFor(first)} />
      ) : (
        <p>
          They are not alike (kind, queue, title or tool), so one decision cannot be about all of
          them.
        </p>
      )}
      <button
        type="button"
        class="small"
        onClick={() => {
          chosen.value = new Set()
        }}
      >
        Choose none
      </button>
    </section>
  )
}

interface Answer {
  readonly items: readonly {
    readonly item_id: string
    readonly error?: { readonly code: string; readonly message: string }
  }[]
}

function BulkForm(props: { items: readonly ItemRow[]; outcomes: readonly Outcome[] }) {
  const [reason, setReason] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const decide = async (outcome: Outcome) => {
    setProblem(null)
    const items = props.items.map(({ item_id, version }) => ({ item_id, version }))
    try {
      const body = { items, outcome, reason }
      const answer = await api<Answer>('/v1/inbox/decisions', { method: 'POST', body })
      const refused = answer.items.filter((one) => one.error !== undefined)
      // Those that were refused stay chosen: somebody has to look at each.
      chosen.value = new Set(refused.map((one) => one.item_id))
      const done = items.length - refused.length
      const why = refused[0]?.error?.message
      const rest = why === undefined ? '' : `; ${refused.length} not: ${why}`
      say(`${plural(done, 'item')} decided: ${labels[outcome]}${rest}`)
    } catch (error) {
      setProblem(asProblem(error))
    }
  }
  return (
    <>
      <label class="field">
        <span>Reason, kept on record with each</span>
        <input
          value={reason}
          maxLength={4_000}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      {problem === null ? null : <Failure problem={problem} />}
      <p class="buttons">
        {props.outcomes.map((outcome) => (
          <button
            key={outcome}
            type="button"
            disabled={reason.trim() === ''}
            onClick={() => decide(outcome)}
          >
            {`${labels[outcome]} (all ${props.items.length})`}
          </button>
        ))}
      </p>
    </>
  )
}
