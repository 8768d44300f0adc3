// A retry has to be told what becomes of every call that failed.
import { fateWords } from '../../../src/model/decisions/words.ts'
import { JsonField } from '../ui/json-field.tsx'
import type { FailedCall } from '../wire.ts'
import { brief } from '../words.ts'

export type CallFate = 'send' | 'keep' | { readonly happened: unknown }
export type FateMap = Readonly<Record<string, CallFate>>

export function isFated(entries: readonly FailedCall[], calls: FateMap): boolean {
  return entries.every((entry) => {
    const fate = calls[entry.name]
    return fate !== undefined && (typeof fate === 'string' || fate.happened !== undefined)
  })
}

interface Props {
  readonly entries: readonly FailedCall[]
  readonly calls: FateMap
  readonly onCalls: (calls: FateMap) => void
}

export function Fates({ entries, calls, onCalls }: Props) {
  return (
    <>
      {entries.map((entry) => (
        <FateField
          key={entry.name}
          entry={entry}
          fate={calls[entry.name]}
          onFate={(fate) => onCalls({ ...calls, [entry.name]: fate })}
        />
      ))}
    </>
  )
}

interface FieldProps {
  readonly entry: FailedCall
  readonly fate: CallFate | undefined
  readonly onFate: (fate: CallFate) => void
}

function FateField({ entry, fate, onFate }: FieldProps) {
  const said = typeof fate === 'object' ? 'happened' : (fate ?? '')
  const choose = (value: string) =>
    onFate(value === 'happened' ? { happened: undefined } : (value as 'send' | 'keep'))
  return (
    <>
      <label class="field">
        <span>{`What becomes of ${entry.name}? ${brief(entry.error, 120)}`}</span>
        <select value={said} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="" disabled>
            choose
          </option>
          {Object.entries(fateWords).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      {typeof fate === 'object' ? (
        <JsonField
          label={`Result of ${entry.name}`}
          value={fate.happened}
          onValue={(happened) => onFate({ happened })}
        />
      ) : null}
    </>
  )
}
