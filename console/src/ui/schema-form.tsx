// A form made of a JSON schema: a field for each simple property, JSON for the others.
import { useId } from 'preact/hooks'
import { faults, isForm, kindOf, type Schema } from '../schema.ts'
import { spaced } from '../words.ts'
import { JsonField } from './json-field.tsx'

interface Props {
  readonly legend: string
  readonly schema: unknown
  readonly value: unknown
  readonly onValue: (value: unknown) => void
}

type Fields = Readonly<Record<string, unknown>>

export function SchemaForm({ legend, schema, value, onValue }: Props) {
  const fields = typeof value === 'object' && value !== null && !Array.isArray(value)
  const wrong = schema && value !== undefined ? faults(schema as Schema, value) : []
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
            onValue={(next) => onValue(changed(value as Fields, name, next))}
          />
        ))
      ) : (
        <JsonField label="In place of what is shown" value={value} onValue={onValue} rows={10} />
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
  readonly onValue: (value: unknown) => void
}

function SchemaField(props: FieldProps) {
  const { name, schema, value, onValue } = props
  const kind = kindOf(schema)
  const label = `${schema.title ?? spaced(name)}${props.required ? '' : ' (may be left out)'}`
  const id = useId()
  if (kind === 'json') return <JsonField label={label} value={value} onValue={onValue} rows={5} />
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
          {(schema.enum ?? []).map((one) => (
            <option key={String(one)}>{String(one)}</option>
          ))}
        </select>
      ) : (
        <Entry id={id} {...props} />
      )}
      {schema.description === undefined ? null : <span class="hint">{schema.description}</span>}
    </div>
  )
}

const longText = 60

function Entry({ id, schema, value, onValue }: FieldProps & { id: string }) {
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
  const onInput = (event: { currentTarget: { value: string } }) =>
    onValue(event.currentTarget.value)
  return text.length > longText || text.includes('\n') ? (
    <textarea id={id} rows={4} value={text} onInput={onInput} />
  ) : (
    <input id={id} value={text} onInput={onInput} />
  )
}
