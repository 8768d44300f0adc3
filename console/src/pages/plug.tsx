// Pull the plug: one LangGraph agent twice, on its own saver and guarded.
import { useState } from 'preact/hooks'
import { api, isAdmin, type Problem } from '../api.ts'
import { asProblem } from '../resource.ts'
import { Link } from '../route.tsx'
import { say } from '../say.tsx'
import type { Tone } from '../tone.ts'
import { Badge, Failure, Section } from '../ui/parts.tsx'
import { plural } from '../words.ts'

export interface Plug {
  readonly missing: readonly string[]
  readonly running: boolean
  readonly sides: { readonly plain: Side; readonly guarded: Side } | null
}

interface Side {
  readonly state: 'working' | 'done' | 'failed'
  readonly lines: readonly string[]
  readonly orders: number
  readonly usd: number
  readonly doubts: readonly { readonly item_id: string; readonly title: string }[]
}

export function PullThePlug({ plug, reload }: { plug: Plug; reload: () => void }) {
  return (
    <Section title="Pull the plug on a LangGraph agent">
      <p>
        One graph file, two processes: LangGraph with its own saver, and with CounterfoilSaver and
        guard(). Each is killed when the vendor has taken an order of $84,000 and has not answered
        yet, and is started again.
      </p>
      {isAdmin() ? <Begin plug={plug} reload={reload} /> : null}
      {plug.sides === null ? null : (
        <div class="plots">
          <SideView head="LangGraph, its own saver" side={plug.sides.plain} />
          <SideView head="The same graph file, with Counterfoil" side={plug.sides.guarded} />
        </div>
      )}
    </Section>
  )
}

function Begin({ plug, reload }: { plug: Plug; reload: () => void }) {
  const [problem, setProblem] = useState<Problem | null>(null)
  const pull = async () => {
    try {
      await api('/v1/demo/plug', { method: 'POST', body: {} })
      setProblem(null)
      say('Both agents are at work')
    } catch (error) {
      setProblem(asProblem(error))
    }
    reload()
  }
  if (plug.missing.length > 0) {
    return (
      <p class="dim">
        It needs packages that are not installed here:{' '}
        <code>{`npm install ${plug.missing.join(' ')}`}</code>
      </p>
    )
  }
  return (
    <>
      <p class="buttons">
        <button type="button" class="primary grave" disabled={plug.running} onClick={pull}>
          Pull the plug on both
        </button>
      </p>
      {problem === null ? null : <Failure problem={problem} />}
    </>
  )
}

function SideView({ head, side }: { head: string; side: Side }) {
  const tone = toneOf(side)
  return (
    <section class="panel" aria-label={head}>
      <h3>{head}</h3>
      <ol>
        {side.lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ol>
      {side.state === 'done' ? null : <Open side={side} />}
      <p role="status">
        <span class={`big ${side.orders > 1 ? 'bad' : ''}`}>
          {`${plural(side.orders, 'order')}, $${side.usd.toLocaleString('en-US')}`}
        </span>
        <span class="dim">counted by the vendor</span> <Badge word={side.state} tone={tone} />
      </p>
    </section>
  )
}

function toneOf({ state, orders, doubts }: Side): Tone {
  if (state === 'failed' || orders > 1) return 'bad'
  if (state === 'done') return 'good'
  return doubts.length > 0 ? 'wait' : 'busy'
}

/** What the guarded one waits for: whoever watches can look into the vendor's book above. */
function Open({ side }: { side: Side }) {
  const last = side.doubts.at(-1)
  if (last === undefined) return null
  return (
    <p>
      {'Did the vendor take it? '}
      <Link to={`/inbox/${encodeURIComponent(last.item_id)}`}>{`Decide: ${last.title}`}</Link>
    </p>
  )
}
