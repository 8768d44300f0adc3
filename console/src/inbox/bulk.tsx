// One decision about many items, where they are alike.
import { useState } from 'preact/hooks'
import { api, type Problem } from '../api.ts'
import { asProblem } from '../resource.ts'
import { say } from '../say.tsx'
import { Failure } from '../ui/parts.tsx'
import type { ItemRow } from '../wire.ts'
import { plural } from '../words.ts'
import { chosen } from './chosen.ts'

export function Bulk({ items }: { items: readonly ItemRow[] }) {
  const picked = items.filter((item) => chosen.value.has(item.item_id))
  const [first] = picked
  if (first === undefined) return null
  const alike = picked.every((item) => item.alike === first.alike)
  return (
    <section class="bulk" aria-label="Decide the chosen items">
      <p class="strong">{`${plural(picked.length, 'item')} chosen`}</p>
      {alike ? <Titles items={picked} /> : null}
      {alike ? (
        <BulkForm items={picked} choices={first.many} />
      ) : (
        <p>
          {`They differ in ${differences(picked)}, so one decision cannot be about all of them. `}
          Decide them one by one, or choose others.
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

/** What can be seen of it here; the server compares the graph, the node and the schema too. */
function differences(items: readonly ItemRow[]): string {
  const traits: readonly (readonly [string, (item: ItemRow) => string | null])[] = [
    ['kind', ({ kind, reason }) => `${kind} ${reason}`],
    ['queue', ({ queue }) => queue],
    ['tool', ({ call }) => call?.tool_name ?? null],
  ]
  const some = traits.filter(([, of]) => new Set(items.map(of)).size > 1)
  return some.map(([name]) => name).join(' and ') || 'graph, node or schema'
}

/** Alike items may have words of their own: what the one decision is about is read first. */
function Titles({ items }: { items: readonly ItemRow[] }) {
  const titles = [...new Set(items.map(({ title }) => title))]
  if (titles.length < 2) return null
  return (
    <ul class="titles">
      {titles.map((title) => (
        <li key={title}>{title}</li>
      ))}
    </ul>
  )
}

interface Answer {
  readonly items: readonly {
    readonly item_id: string
    readonly error?: { readonly code: string; readonly message: string }
  }[]
}

function BulkForm(props: { items: readonly ItemRow[]; choices: ItemRow['many'] }) {
  const [reason, setReason] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const decide = async ({ outcome, label }: ItemRow['many'][number]) => {
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
      say(`${plural(done, 'item')} decided: ${label}${rest}`)
    } catch (error) {
      setProblem(asProblem(error))
    }
  }
  return (
    <>
      <label class="field">
        <span>Reason, kept on record with each (required)</span>
        <input
          value={reason}
          maxLength={4_000}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      {problem === null ? null : <Failure problem={problem} />}
      <p class="buttons">
        {props.choices.map((choice) => (
          <button
            key={choice.outcome}
            type="button"
            disabled={reason.trim() === ''}
            onClick={() => decide(choice)}
          >
            {`${choice.label} (all ${props.items.length})`}
          </button>
        ))}
      </p>
    </>
  )
}
