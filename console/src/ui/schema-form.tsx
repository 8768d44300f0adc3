// A form made of a JSON schema: a field for each simple property, JSON for the others.
import { useId, useState } from 'preact/hooks'
import { faults, type Schema } from '../../../src/model/tool/schema-faults.ts'
import { isForm, kindOf } from '../schema.ts'
import { spaced } from '../words.ts'
import { JsonField } from './json-field.tsx'

interface Props {
  readonly legend: string
  readonly schema: unknown
  /** A value as it may look, told field by field. */
  readonly example?: unknown
  readonly value: unknown
  readonly onValue: (value: unknown) => void
}

type Fields = Readonly<Record<string, unknown>>

export function SchemaForm({ legend, schema, example, value, onValue }: Props) {
  const [touched, setTouched] = useState(false)
  const fields = typeof value === 'object' && value !== null && !Array.isArray(value)
  // Nobody is told what is wrong before they have begun.
  const wrong = touched && schema && value !== undefined ? faults(schema as Schema, value) : []
  const say = (next: unknown) => {
    setTouched(true)
    onValue(next)
  }
  return (
    <fieldset class="edit">
      <legend>{legend}</legend>
      {isForm(schema) && fields ? (
        Object.entries(schema.properties).map(([name, inner]) => (
          <SchemaField
            key={name}
            name={name}
            schema={inner}
            required={schema.required?.includes(name) ?? false}
            value={(value as Fields)[name]}
            example={(example as Fields | null | undefined)?.[name]}
            onValue={(next) => say(changed(value as Fields, name, next))}
          />
        ))
      ) : (
        <JsonField label="In place of what is shown" value={value} onValue={say} rows={10} />
      )}
      <div role="status">
        {wrong.length === 0 ? null : (
          <ul class="faults">
            {wrong.map((fault) => (
              <li key={fault}>{fault}</li>
            ))}
          </ul>
        )}
      </div>
    </fieldset>
  )
}

function changed(fields: Fields, name: string, value: unknown): Fields {
  const { [name]: _, ...rest } = fields
  return value === undefined ? rest : { ...fields, [name]: value }
}

interface FieldProps {
  readonly name: string
  readonly schema: Schema
  readonly required: boolean
  readonly value: unknown
  readonly example: unknown
  readonly onValue: (value: unknown) => void
}

function SchemaField(props: FieldProps) {
  const { name, schema, value, onValue } = props
  const kind = kindOf(schema)
  const label = `${schema.title ?? spaced(name)}${props.required ? '' : ' (may be left out)'}`
  const id = useId()
  const hint = hintOf(props)
  if (kind === 'json') {
    const more = hint === null ? {} : { hint: `JSON; ${hint}` }
    return <JsonField label={label} value={value} onValue={onValue} rows={5} {...more} />
  }
  if (kind === 'boolean') {
    return (
      <label class="check">
        <input
          type="checkbox"
          checked={value === true}
          onChange={(event) => onValue(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
    )
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {kind === 'choice' ? (
        <select
          id={id}
          value={String(value ?? '')}
          onChange={(e) => onValue(e.currentTarget.value)}
        >
          {value === undefined ? (
            <option value="" disabled>
              choose one
            </option>
          ) : null}
          {(schema.enum ?? []).map((one) => (
            <option key={String(one)}>{String(one)}</option>
          ))}
        </select>
      ) : (
        <Entry id={id} {...props} />
      )}
      {hint === null ? null : <span class="hint">{hint}</span>}
    </div>
  )
}

function hintOf({ schema, example }: FieldProps): string | null {
  const text = typeof example === 'string' ? example : JSON.stringify(example)
  const like = example === undefined ? '' : `for example ${text}`
  return [schema.description ?? '', like].filter(Boolean).join('; ') || null
}

const longText = 60

function Entry({ id, schema, value, required, onValue }: FieldProps & { id: string }) {
  if (schema.type !== 'string') {
    return (
      <input
        id={id}
        type="number"
        step={schema.type === 'integer' ? 1 : 'any'}
        value={typeof value === 'number' ? value : ''}
        onInput={(event) => {
          const { value: text, valueAsNumber } = event.currentTarget
          onValue(text === '' ? undefined : valueAsNumber)
        }}
      />
    )
  }
  const text = String(value ?? '')
  const onInput = (event: { currentTarget: { value: string } }) => {
    const next = event.currentTarget.value
    onValue(next === '' && !required ? undefined : next)
  }
  return text.length > longText || text.includes('\n') ? (
    <textarea id={id} rows={4} value={text} onInput={onInput} />
  ) : (
    <input id={id} value={text} onInput={onInput} />
  )
}
