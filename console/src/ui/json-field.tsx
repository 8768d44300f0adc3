// JSON that a person types: kept as text until it can be read.
import { useId, useState } from 'preact/hooks'
import { json } from '../words.ts'

interface Props {
  readonly label: string
  readonly value: unknown
  /** undefined while the text is no JSON. */
  readonly onValue: (value: unknown) => void
  readonly rows?: number
  readonly hint?: string
}

export function JsonField({ label, value, onValue, rows = 6, hint }: Props) {
  const [text, setText] = useState(value === undefined ? '' : json(value))
  const [fault, setFault] = useState<string | null>(null)
  const id = useId()
  const read = (next: string) => {
    setText(next)
    try {
      onValue(JSON.parse(next))
      setFault(null)
    } catch (error) {
      onValue(undefined)
      setFault(next.trim() === '' ? null : (error as Error).message)
    }
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class="code"
        rows={rows}
        spellcheck={false}
        value={text}
        aria-invalid={fault !== null}
        aria-describedby={`${id}-hint`}
        onInput={(event) => read(event.currentTarget.value)}
      />
      <span id={`${id}-hint`} class={fault === null ? 'hint' : 'hint bad'}>
        {fault ?? hint ?? 'JSON: text goes in "quotes"'}
      </span>
    </div>
  )
}
