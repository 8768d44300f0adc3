// Small parts that every page is made of.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Problem } from '../api.ts'
import { later } from '../clock.ts'
import type { Resource } from '../resource.ts'
import { go, Link, param, withQuery } from '../route.tsx'
import type { Tone } from '../tone.ts'
import { spaced } from '../words.ts'

const tones: Readonly<Record<string, Tone>> = {
  ...{ pending: 'plain', running: 'busy', waiting_tool: 'busy', waiting_human: 'wait' },
  ...{ paused: 'wait', completed: 'good', failed: 'bad', cancelled: 'plain' },
  ...{ committed: 'good', in_doubt: 'bad', landed: 'good', refused: 'bad', unknown: 'bad' },
  ...{ doubt: 'bad', approval: 'wait', question: 'wait', open: 'wait', decided: 'good' },
  ...{ alive: 'good', dead: 'bad', stopped: 'plain', silent: 'wait', overdue: 'bad' },
  ...{ pure: 'plain', idempotent_with_key: 'busy', unsafe_on_replay: 'wait' },
  ...{ hit: 'good', executed: 'busy', parked: 'bad', replay: 'good', rerun: 'busy', park: 'bad' },
  ...{ probe: 'wait', wait: 'wait' },
}

/** A state by its word; the colour only repeats it. */
export function Badge({ word, tone }: { word: string; tone?: Tone }) {
  return <span class={`badge ${tone ?? tones[word] ?? 'plain'}`}>{spaced(word)}</span>
}

export function Section(props: {
  title: string
  children: ComponentChildren
  aside?: ComponentChildren
}) {
  const id = `s-${props.title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.aside}
      </header>
      {props.children}
    </section>
  )
}

/** A list without rows says what would put one there. */
export function Empty(props: { title: string; children?: ComponentChildren; command?: string }) {
  return (
    <div class="empty">
      <p class="strong">{props.title}</p>
      {props.children}
      {props.command === undefined ? null : <Command text={props.command} />}
    </div>
  )
}

export function Command({ text }: { text: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard?.writeText(text)
    setCopied(true)
    later(2_000, () => setCopied(false))
  }
  return (
    <p class="command">
      <code>{text}</code>
      <button type="button" class="small" onClick={copy}>
        {copied ? 'Copied' : 'Copy'}
      </button>
    </p>
  )
}

export function Failure({ problem, retry }: { problem: Problem; retry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <p>
        <span class="strong">{problem.title}</span> {problem.message}
      </p>
      <p class="dim">
        {/^[A-Z_]+$/.test(problem.code) && problem.status > 0 ? (
          <a href={`/errors/${problem.code}`}>{problem.code}</a>
        ) : (
          problem.code
        )}
        {problem.requestId === null ? '' : ` · request ${problem.requestId}`}
      </p>
      {retry === undefined ? null : (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** What is known, or that it is being asked, or why it cannot be. */
export function Loaded<T>(props: { from: Resource<T>; children: (data: T) => ComponentChildren }) {
  const { data, problem, reload } = props.from
  return (
    <>
      {problem === null ? null : <Failure problem={problem} retry={reload} />}
      {data === null && problem === null ? <p class="dim pad">Asking the server…</p> : null}
      {data === null ? null : props.children(data)}
    </>
  )
}

/** Pages by cursor: the way back is the browser's. */
export function Pager({ next, count }: { next: string | null; count: number }) {
  const later = param('cursor') !== null
  if (next === null && !later) return null
  return (
    <nav class="pager" aria-label="Pages">
      {later ? <Link to={withQuery({ cursor: null })}>First page</Link> : null}
      <span class="dim">{count} on this page</span>
      {next === null ? (
        <span class="dim">the end</span>
      ) : (
        <Link to={withQuery({ cursor: next })}>Next page</Link>
      )}
    </nav>
  )
}

interface SelectProps {
  readonly label: string
  readonly name: string
  readonly options: readonly (string | readonly [value: string, text: string])[]
  readonly all?: string
}

/** A filter that lives in the address. */
export function Filter({ label, name, options, all = 'all' }: SelectProps) {
  return (
    <label class="filter">
      <span>{label}</span>
      <select
        value={param(name) ?? ''}
        onChange={(event) => go(withQuery({ [name]: event.currentTarget.value }))}
      >
        <option value="">{all}</option>
        {options.map((option) => {
          const [value, text] = typeof option === 'string' ? [option, spaced(option)] : option
          return (
            <option key={value} value={value}>
              {text}
            </option>
          )
        })}
      </select>
    </label>
  )
}

/** A text filter: applied on enter, so that the history is not full of letters. */
export function Search({ label, name }: { label: string; name: string }) {
  const said = param(name) ?? ''
  return (
    <form
      class="filter"
      onSubmit={(event) => {
        event.preventDefault()
        const field = event.currentTarget.elements.namedItem('text') as HTMLInputElement
        go(withQuery({ [name]: field.value.trim() }))
      }}
    >
      <label>
        <span>{label}</span>
        <input key={said} name="text" type="search" defaultValue={said} data-search />
      </label>
    </form>
  )
}

export function Fields({
  rows,
}: {
  rows: readonly (readonly [name: string, value: ComponentChildren] | null)[]
}) {
  return (
    <dl class="fields">
      {rows.map((row) =>
        row === null || row[1] === null || row[1] === undefined || row[1] === '' ? null : (
          <div key={row[0]}>
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </div>
        ),
      )}
    </dl>
  )
}
