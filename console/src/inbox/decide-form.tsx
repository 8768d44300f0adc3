// What one decision needs besides itself: a result, a record, a reason, a statement.
import { useState } from 'preact/hooks'
import { faults, type Schema } from '../../../src/model/schema-faults.ts'
import { api, type Problem } from '../api.ts'
import { now, randomId } from '../clock.ts'
import { asProblem } from '../resource.ts'
import { say } from '../say.tsx'
import { isForm } from '../schema.ts'
import { JsonField } from '../ui/json-field.tsx'
import { Failure } from '../ui/parts.tsx'
import { SchemaForm } from '../ui/schema-form.tsx'
import type { Choice, ItemPageData, Outcome } from '../wire.ts'
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
  const { outcome, label } = choice
  const [said, setSaid] = useState<Said>(() => firstSaid(item, outcome))
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
      <Sure item={item} choice={choice} said={said} change={change} />
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

function firstSaid(item: ItemPageData, outcome: Outcome): Said {
  const said = { unknown: false, record: 0, visit: null, reason: '', evidence: '', sure: null }
  if (outcome === 'edit') return { ...said, result: editable(item) }
  const { result_schema: schema } = item
  return outcome === 'happened' && isForm(schema) ? { ...said, result: blankOf(schema) } : said
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
  const { outcome, result } = choice
  if (outcome === 'edit') return false
  if (result !== 'if_pending') return result !== 'none'
  return recordsOf(item, choice)[said.record]?.status !== 'committed'
}

/** A yes needs no more words. */
function unsaidReason({ reason, outcome }: Choice): string | null {
  if (reason === 'required') return null
  return outcome === 'approve' ? 'approved in the console' : 'answered in the console'
}

function isComplete(item: ItemPageData, choice: Choice, said: Said): boolean {
  const { outcome } = choice
  if (said.reason.trim() === '' && choice.reason === 'required') return false
  const statement = needsSure(item, choice)
  if (statement !== null && said.sure !== statement) return false
  if (outcome === 'pin') return said.visit !== null
  if (outcome === 'edit') {
    const schema = item.approval?.schema as Schema | null
    return said.result !== undefined && (!schema || faults(schema, said.result).length === 0)
  }
  if (said.unknown) return true
  if (outcome === 'happened' && isForm(item.result_schema)) {
    return faults(item.result_schema, said.result).length === 0
  }
  return !takesResult(item, choice, said) || said.result !== undefined
}

function needsSure(item: ItemPageData, choice: Choice): string | null {
  const { outcome } = choice
  if (lockOf(choice) !== null) {
    return (
      'I made sure that every attempt is over and nothing can still arrive. This is kept on ' +
      'record under my name.'
    )
  }
  const from = item.did_not_happen?.from ?? null
  if (outcome !== 'did_not_happen' || from === null || parseMs(from) > now.value) return null
  return `I looked at the upstream after ${clockTime(parseMs(from))}, and it is not there.`
}

async function send(item: ItemPageData, choice: Choice, said: Said, key: string): Promise<void> {
  const { outcome } = choice
  const { evidence } = said
  const result = said.unknown ? undefined : said.result
  const reason = said.reason.trim() === '' ? (unsaidReason(choice) ?? '') : said.reason
  if (outcome === 'pin') {
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
  const { outcome } = choice
  return (
    <>
      {choice.records.length > 0 ? (
        <Record item={item} choice={choice} said={said} change={change} />
      ) : null}
      {takesResult(item, choice, said) ? (
        <Result item={item} choice={choice} said={said} change={change} />
      ) : null}
      {outcome === 'edit' ? (
        <SchemaForm
          legend="Your edit"
          schema={item.approval?.schema ?? null}
          value={said.result}
          onValue={(result) => change({ result })}
        />
      ) : null}
      {outcome === 'pin' ? (
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
  const { outcome } = choice
  const { result_schema: schema, answer } = item
  const onValue = (result: unknown) => change({ result })
  if (outcome === 'respond') {
    return <JsonField label="The answer" value={said.result} onValue={onValue} />
  }
  const example = answer?.example ?? null
  const form = outcome === 'happened' && isForm(schema)
  return (
    <>
      {said.unknown ? null : form ? (
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
      {outcome === 'happened' && choice.result === 'optional' ? (
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
  const { outcome } = choice
  const proves = ['happened', 'did_not_happen', 'use_record', 'send', 'fail'].includes(outcome)
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
      {proves ? (
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

function Sure({ item, choice, said, change }: PartProps) {
  const text = needsSure(item, choice)
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
