// What one decision needs besides itself: a result, a record, a reason, a statement.
import { useState } from 'preact/hooks'
import { faults, type Schema } from '../../../src/model/tool/schema-faults.ts'
import { api, type Problem } from '../api.ts'
import { now, randomId } from '../clock.ts'
import { asProblem } from '../resource.ts'
import { say } from '../say.tsx'
import { isForm } from '../schema.ts'
import { JsonField } from '../ui/json-field.tsx'
import { Failure } from '../ui/parts.tsx'
import { SchemaForm } from '../ui/schema-form.tsx'
import type { Choice, ItemPageData } from '../wire.ts'
import { clockTime, parseMs } from '../words.ts'
import { recordTitle } from './drift.tsx'
import { lockOf } from './lock.ts'

interface Props {
  readonly item: ItemPageData
  readonly choice: Choice
  /** It cannot be sent: what was written stays there to be read. */
  readonly blocked: boolean
  /** True if it is on record. */
  readonly done: (said: boolean) => void
}

interface Said {
  readonly result?: unknown
  /** "It happened", and nobody knows with what result. */
  readonly unknown: boolean
  /** The place of a record among the unmatched ones. */
  readonly record: number
  readonly visit: number | null
  readonly reason: string
  readonly evidence: string
  /** The statement that was ticked. Another one, once the quiet time is over, is not ticked. */
  readonly sure: string | null
}

export function DecideForm({ item, choice, blocked, done }: Props) {
  const { label } = choice
  const [said, setSaid] = useState<Said>(() => firstSaid(item, choice))
  const [problem, setProblem] = useState<Problem | null>(null)
  const [busy, setBusy] = useState(false)
  const [key, setKey] = useState(randomId)
  const change = (next: Partial<Said>) => setSaid({ ...said, ...next })
  const submit = async () => {
    setBusy(true)
    setProblem(null)
    let onRecord = false
    try {
      await send(item, choice, said, key)
      onRecord = true
      say(`On record: ${label}`)
    } catch (error) {
      const found = asProblem(error)
      setProblem(found)
      // Answered with no: what is sent next is another wish. Without an answer it is the same one.
      if (found.status > 0) setKey(randomId())
    }
    setBusy(false)
    done(onRecord)
  }
  return (
    <form
      class="decide"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Parts item={item} choice={choice} said={said} change={change} />
      <Words choice={choice} said={said} change={change} />
      <Sure choice={choice} said={said} change={change} />
      {problem === null ? null : <Failure problem={problem} />}
      <button
        type="submit"
        class={choice.grave ? 'primary grave' : 'primary'}
        disabled={busy || blocked || !isComplete(item, choice, said)}
      >
        {busy ? 'Writing it down…' : label}
      </button>
    </form>
  )
}

function firstSaid(item: ItemPageData, choice: Choice): Said {
  const said = { unknown: false, record: 0, visit: null, reason: '', evidence: '', sure: null }
  if (choice.fits === 'input') return { ...said, result: editable(item) }
  const schema = schemaOf(item, choice)
  return isForm(schema) ? { ...said, result: blankOf(schema) } : said
}

/** What the result must fit, if the server knows: what is edited, or what the tool returns. */
function schemaOf(item: ItemPageData, { fits, result }: Choice): unknown {
  if (fits === 'input') return item.approval?.schema ?? null
  // Where a record may answer by itself, its result is given as JSON.
  return fits === 'output' && result !== 'if_pending' ? item.result_schema : null
}

/** A box that is not ticked says no. */
function blankOf({ properties = {}, required = [] }: Schema): Record<string, boolean> {
  const boxes = required.filter((name) => properties[name]?.type === 'boolean')
  return Object.fromEntries(boxes.map((name) => [name, false]))
}

/** A held call's input; else all that was shown. */
function editable(item: ItemPageData): unknown {
  const tool = item.call.subject?.tool_name ?? ''
  return tool === '' || tool.startsWith('counterfoil.') ? item.data : item.call.input
}

type Unmatched = ItemPageData['unmatched'][number]

/** The records that the outcome may name, as the item shows them. */
function recordsOf(item: ItemPageData, { records }: Choice): Unmatched[] {
  const names = new Set(records.map((one) => one && keyOf(one)))
  return item.unmatched.filter((one) => names.has(keyOf(one)))
}

function keyOf(one: Pick<Unmatched, 'tool_name' | 'input_hash' | 'occurrence'>): string {
  return `${one.tool_name}/${one.input_hash}/${one.occurrence}`
}

/** use_record of a record without a receipt states that it happened, and with what result. */
function takesResult(item: ItemPageData, choice: Choice, said: Said): boolean {
  const { fits, result } = choice
  if (fits === 'input') return false
  if (result !== 'if_pending') return result !== 'none'
  return recordsOf(item, choice)[said.record]?.status !== 'committed'
}

/** A yes needs no more words. */
function unsaidReason({ reason, label }: Choice): string | null {
  return reason === 'required' ? null : `${label}, in the console`
}

function isComplete(item: ItemPageData, choice: Choice, said: Said): boolean {
  if (said.reason.trim() === '' && choice.reason === 'required') return false
  const statement = needsSure(choice)
  if (statement !== null && said.sure !== statement) return false
  if (choice.pins) return said.visit !== null
  const schema = schemaOf(item, choice)
  if (choice.fits === 'input') {
    const given = said.result !== undefined
    return given && (!schema || faults(schema as Schema, said.result).length === 0)
  }
  if (said.unknown) return true
  if (isForm(schema)) return faults(schema, said.result).length === 0
  return !takesResult(item, choice, said) || said.result !== undefined
}

function needsSure(choice: Choice): string | null {
  if (lockOf(choice) !== null) {
    return (
      'I made sure that every attempt is over and nothing can still arrive. This is kept on ' +
      'record under my name.'
    )
  }
  const { looked_after: from, grants } = choice
  if (!grants || from === null || parseMs(from) > now.value) return null
  return `I looked at the upstream after ${clockTime(parseMs(from))}, and it is not there.`
}

async function send(item: ItemPageData, choice: Choice, said: Said, key: string): Promise<void> {
  const { outcome } = choice
  const { evidence } = said
  const result = said.unknown ? undefined : said.result
  const reason = said.reason.trim() === '' ? (unsaidReason(choice) ?? '') : said.reason
  if (choice.pins) {
    const path = `/v1/runs/${encodeURIComponent(item.run_id)}/pin`
    await api(path, { method: 'POST', key, body: { visit: said.visit, reason } })
    return
  }
  const record = recordsOf(item, choice)[said.record]
  const named = record && {
    tool_name: record.tool_name,
    input_hash: record.input_hash,
    occurrence: record.occurrence,
  }
  const made = lockOf(choice) !== null && said.sure !== null
  const body = {
    ...{ outcome, reason, version: item.version },
    ...(result === undefined ? {} : { result }),
    ...(named === undefined ? {} : { record: named }),
    ...(evidence.trim() === '' ? {} : { evidence }),
    ...(made ? { made_sure: true } : {}),
  }
  const path = `/v1/inbox/${encodeURIComponent(item.item_id)}/decision`
  await api(path, { method: 'POST', key, body })
}

interface PartProps {
  readonly item: ItemPageData
  readonly choice: Choice
  readonly said: Said
  readonly change: (next: Partial<Said>) => void
}

function Parts({ item, choice, said, change }: PartProps) {
  return (
    <>
      {choice.records.length > 0 ? (
        <Record item={item} choice={choice} said={said} change={change} />
      ) : null}
      {takesResult(item, choice, said) ? (
        <Result item={item} choice={choice} said={said} change={change} />
      ) : null}
      {choice.fits === 'input' ? (
        <SchemaForm
          legend="Your edit"
          schema={item.approval?.schema ?? null}
          value={said.result}
          onValue={(result) => change({ result })}
        />
      ) : null}
      {choice.pins ? (
        <label class="field">
          <span>Visit to go on from</span>
          <select
            value={said.visit ?? ''}
            onChange={(event) => change({ visit: Number(event.currentTarget.value) })}
          >
            <option value="" disabled>
              choose one
            </option>
            {(item.damage?.good_visits ?? []).map((visit) => (
              <option key={visit} value={visit}>
                {visit}
              </option>
            ))}
          </select>
        </label>
      ) : null}
    </>
  )
}

/** Fields where the tool says what its result looks like; JSON where it does not. */
function Result({ item, choice, said, change }: PartProps) {
  const { answer } = item
  const schema = schemaOf(item, choice)
  const onValue = (result: unknown) => change({ result })
  if (choice.fits === 'free') {
    return <JsonField label="The answer" value={said.result} onValue={onValue} />
  }
  const example = answer?.example ?? null
  return (
    <>
      {said.unknown ? null : isForm(schema) ? (
        <SchemaForm
          legend="Its result"
          schema={schema}
          example={example}
          value={said.result}
          onValue={onValue}
        />
      ) : (
        <JsonField
          label="Its result"
          value={said.result}
          onValue={onValue}
          rows={3}
          {...(example === null ? {} : { hint: `JSON, for example ${JSON.stringify(example)}` })}
        />
      )}
      {choice.result === 'optional' ? (
        <label class="check">
          <input
            type="checkbox"
            checked={said.unknown}
            onChange={(event) => change({ unknown: event.currentTarget.checked })}
          />
          <span>The result is not known. The run goes on without one.</span>
        </label>
      ) : null}
    </>
  )
}

function Record({ item, choice, said, change }: PartProps) {
  return (
    <label class="field">
      <span>Which record</span>
      <select
        value={said.record}
        onChange={(event) => change({ record: Number(event.currentTarget.value) })}
      >
        {recordsOf(item, choice).map((record, index) => (
          <option key={index} value={index}>
            {recordTitle(item, record)}
          </option>
        ))}
      </select>
    </label>
  )
}

function Words({ choice, said, change }: Omit<PartProps, 'item'>) {
  const may = choice.reason === 'optional'
  return (
    <>
      <label class="field">
        <span>{`Reason, kept on record${may ? ' (may be left out)' : ''}`}</span>
        <textarea
          rows={2}
          required={!may}
          maxLength={4_000}
          value={said.reason}
          onInput={(event) => change({ reason: event.currentTarget.value })}
        />
      </label>
      {choice.evidence === 'optional' ? (
        <label class="field">
          <span>Evidence: a link, a log line (may be left out)</span>
          <input
            value={said.evidence}
            maxLength={4_000}
            onInput={(event) => change({ evidence: event.currentTarget.value })}
          />
        </label>
      ) : null}
    </>
  )
}

function Sure({ choice, said, change }: Omit<PartProps, 'item'>) {
  const text = needsSure(choice)
  if (text === null) return null
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={said.sure === text}
        onChange={(event) => change({ sure: event.currentTarget.checked ? text : null })}
      />
      <span>{text}</span>
    </label>
  )
}
