// Plain data as a person reads it: lists of fields, tables, text. Raw JSON on demand. All of it may
// have been written by a model, and all of it is text.
import { useState } from 'preact/hooks'
import { json, spaced } from '../words.ts'
import { Scroll } from './scroll.tsx'

const depthMax = 4
const textMax = 600
const rowsMax = 50

export function Value({ value, depth = 0 }: { value: unknown; depth?: number }) {
  if (value === null || value === undefined) return <span class="dim">nothing</span>
  if (typeof value === 'string') return <Text text={value} />
  if (typeof value === 'boolean') return <span>{value ? 'yes' : 'no'}</span>
  if (typeof value !== 'object') return <span class="number">{String(value)}</span>
  if (depth >= depthMax) return <pre class="raw">{json(value)}</pre>
  if (Array.isArray(value)) return <List values={value} depth={depth} />
  return <FieldList fields={value as Readonly<Record<string, unknown>>} depth={depth} />
}

function Text({ text }: { text: string }) {
  if (text === '') return <span class="dim">empty</span>
  if (text.length <= textMax) return <span class="text">{text}</span>
  return (
    <details>
      <summary>{`${text.slice(0, 120)}… (${text.length.toLocaleString()} characters)`}</summary>
      <span class="text">{text}</span>
    </details>
  )
}

function FieldList(props: { fields: Readonly<Record<string, unknown>>; depth: number }) {
  const entries = Object.entries(props.fields)
  if (entries.length === 0) return <span class="dim">no fields</span>
  return (
    <dl class="data">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{spaced(name)}</dt>
          <dd>
            <Value value={value} depth={props.depth + 1} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

function List({ values, depth }: { values: readonly unknown[]; depth: number }) {
  const [all, setAll] = useState(false)
  if (values.length === 0) return <span class="dim">none</span>
  const shown = all ? values : values.slice(0, rowsMax)
  const names = columnsOf(values)
  return (
    <>
      {names === null ? (
        <ol class="data">
          {shown.map((value, index) => (
            <li key={index}>
              <Value value={value} depth={depth + 1} />
            </li>
          ))}
        </ol>
      ) : (
        <Grid
          names={names}
          rows={shown as readonly Readonly<Record<string, unknown>>[]}
          depth={depth}
        />
      )}
      {shown.length === values.length ? null : (
        <button type="button" class="small" onClick={() => setAll(true)}>
          {`All ${values.length}`}
        </button>
      )}
    </>
  )
}

/** The columns of a list of like objects; null if a table would not suit it. */
function columnsOf(values: readonly unknown[]): readonly string[] | null {
  const names = new Set<string>()
  for (const value of values) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    for (const name of Object.keys(value)) names.add(name)
  }
  return names.size > 0 && names.size <= 6 ? [...names] : null
}

function Grid(props: {
  names: readonly string[]
  rows: readonly Readonly<Record<string, unknown>>[]
  depth: number
}) {
  return (
    <Scroll label={'Table'}>
      <table class="data">
        <thead>
          <tr>
            {props.names.map((name) => (
              <th key={name} scope="col">
                {spaced(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row, index) => (
            <tr key={index}>
              {props.names.map((name) => (
                <td key={name}>
                  {name in row ? <Value value={row[name]} depth={props.depth + 2} /> : null}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

/** The same, with a way to see exactly what is there. */
export function Data({ value, label }: { value: unknown; label: string }) {
  const [raw, setRaw] = useState(false)
  const simple = typeof value !== 'object' || value === null
  return (
    <div class="shown">
      {raw ? <pre class="raw">{json(value)}</pre> : <Value value={value} />}
      {simple ? null : (
        <button
          type="button"
          class="small raw-toggle"
          aria-pressed={raw}
          aria-label={`Raw JSON: ${label}`}
          onClick={() => setRaw(!raw)}
        >
          {'{ }'}
        </button>
      )}
    </div>
  )
}
