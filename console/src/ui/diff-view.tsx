import { diff } from '../diff.ts'
import { json } from '../words.ts'
import { Scroll } from './scroll.tsx'

interface Props {
  readonly before: unknown
  readonly after: unknown
  readonly names: readonly [before: string, after: string]
}

const signs = { added: '+', removed: '−', changed: '≠' } as const

/** Two values side by side, only where they differ. */
export function DiffView({ before, after, names }: Props) {
  const changes = diff(before, after)
  if (changes.length === 0) return <p class="dim pad">Nothing differs.</p>
  return (
    <Scroll label={'What differs'}>
      <table class="diff">
        <thead>
          <tr>
            <th scope="col">where</th>
            <th scope="col">{names[0]}</th>
            <th scope="col">{names[1]}</th>
          </tr>
        </thead>
        <tbody>
          {changes.map((change) => (
            <tr key={change.path} class={change.kind}>
              <th scope="row">
                <span aria-hidden="true">{signs[change.kind]} </span>
                <span class="hidden">{change.kind} </span>
                <code>{change.path === '' ? 'all of it' : change.path}</code>
              </th>
              <td class="before">{side(change.kind !== 'added', change.before)}</td>
              <td class="after">{side(change.kind !== 'removed', change.after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

function side(there: boolean, value: unknown) {
  if (!there) return <span class="dim">not there</span>
  return typeof value === 'string' ? <span class="text">{value}</span> : <pre>{json(value)}</pre>
}
