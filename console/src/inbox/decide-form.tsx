// What one decision needs besides itself: a result, a record, a reason, a statement.
import { useState } from 'preact/hooks'
import { api, type Problem } from '../api.ts'
import { now, randomId } from '../clock.ts'
import { asProblem } from '../resource.ts'
import { say } from '../say.tsx'
import { faults, isForm, type Schema } from '../schema.ts'
import { JsonField } from '../ui/json-field.tsx'
import { Failure } from '../ui/parts.tsx'
import { SchemaForm } from '../ui/schema-form.tsx'
import type { ItemPageData, Outcome } from '../wire.ts'
import { clockTime, parseMs } from '../words.ts'
import { recordName } from './drift.tsx'
import { lockOf } from './lock.ts'
import { grave, labelOf } from './outcomes.ts'

interface Props {
  readonly item: ItemPageData
  readonly outcome: Outcome
  readonly reload: () => void
}

interface Said {
  readonly result?: unknown
  /** The place of a record among the unmatched ones. */
  readonly record: number
  readonly visit: number | null
  readonly reason: string
  readonly evidence: string
  /** The statement that was ticked. Another one, once the quiet time is over, is not ticked. */
  readonly sure: string | null
}

export function DecideForm({ item, outcome, reload }: Props) {
  const [said, setSaid] = useState<Said>(() => firstSaid(item, outcome))
  const [problem, setProblem] = useState<Problem | null>(null)
  const [busy, setBusy] = useState(false)
  const [key, setKey] = useState(randomId)
  const change = (next: Partial<Said>) => setSaid({ ...said, ...next })
  const submit = async () => {
    setBusy(true)
    setProblem(null)
    try {
      await send(item, outcome, said, key)
      say(`On record: ${labelOf(item, outcome)}`)
    } catch (error) {
      const found = asProblem(error)
      setProblem(found)
      // Answered with no: what is sent next is another wish. Without an answer it is the same one.
      if (found.status > 0) setKey(randomId())
    }
    setBusy(false)
    reload()
  }
  return (
    <form
      class="decide"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Parts item={item} outcome={outcome} said={said} change={change} />
      <Words outcome={outcome} said={said} change={change} />
      <Sure item={item} outcome={outcome} said={said} change={change} />
      {problem === null ? null : <Failure problem={problem} />}
      <button
        type="submit"
        class={grave.includes(outcome) ? 'primary grave' : 'primary'}
        disabled={busy || !isComplete(item, outcome, said)}
      >
        {busy ? 'Writing it down…' : labelOf(item, outcome)}
      </button>
    </form>
  )
}

function firstSaid(item: ItemPageData, outcome: Outcome): Said {
  const said = { record: 0, visit: null, reason: '', evidence: '', sure: null }
  if (outcome === 'edit') return { ...said, result: editable(item) }
  return outcome === 'happened' && isForm(item.result_schema) ? { ...said, result: {} } : said
}

/** A held call's input; else all that was shown. */
function editable(item: ItemPageData): unknown {
  const tool = item.call.subject?.tool_name ?? ''
  return tool === '' || tool.startsWith('counterfoil.') ? item.data : item.call.input
}

/** use_record of a record without a receipt states that it happened, and with what result. */
function takesResult(item: ItemPageData, outcome: Outcome, said: Said): boolean {
  if (outcome === 'happened' || outcome === 'respond') return true
  return outcome === 'use_record' && item.unmatched[said.record]?.status !== 'committed'
}

/** A yes needs no more words. */
const unsaid: Readonly<Partial<Record<Outcome, string>>> = {
  approve: 'approved in the console',
  respond: 'answered in the console',
}

const takesRecord: readonly Outcome[] = ['use_record', 'retire_record']

function isComplete(item: ItemPageData, outcome: Outcome, said: Said): boolean {
  if (said.reason.trim() === '' && unsaid[outcome] === undefined) return false
  const statement = needsSure(item, outcome)
  if (statement !== null && said.sure !== statement) return false
  if (outcome === 'pin') return said.visit !== null
  if (outcome === 'edit') {
    const schema = item.approval?.schema as Schema | null
    return said.result !== undefined && (!schema || faults(schema, said.result).length === 0)
  }
  if (outcome === 'happened' && isForm(item.result_schema)) {
    return faults(item.result_schema, said.result).length === 0
  }
  return !takesResult(item, outcome, said) || said.result !== undefined
}

function needsSure(item: ItemPageData, outcome: Outcome): string | null {
  if (lockOf(item, outcome) !== null) {
    return (
      'I made sure that every attempt is over and nothing can still arrive. This is kept on ' +
      'record under my name.'
    )
  }
  const from = item.did_not_happen?.from ?? null
  if (outcome !== 'did_not_happen' || from === null || parseMs(from) > now.value) return null
  return `I looked at the upstream after ${clockTime(parseMs(from))}, and it is not there.`
}

async function send(item: ItemPageData, outcome: Outcome, said: Said, key: string): Promise<void> {
  const { evidence, result } = said
  const reason = said.reason.trim() === '' ? (unsaid[outcome] ?? '') : said.reason
  if (outcome === 'pin') {
    const path = `/v1/runs/${encodeURIComponent(item.run_id)}/pin`
    await api(path, { method: 'POST', key, body: { visit: said.visit, reason } })
    return
  }
  const record = takesRecord.includes(outcome) ? item.unmatched[said.record] : undefined
  const named = record && {
    tool_name: record.tool_name,
    input_hash: record.input_hash,
    occurrence: record.occurrence,
  }
  const made = lockOf(item, outcome) !== null && said.sure !== null
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
  readonly outcome: Outcome
  readonly said: Said
  readonly change: (next: Partial<Said>) => void
}

function Parts({ item, outcome, said, change }: PartProps) {
  return (
    <>
      {takesRecord.includes(outcome) ? <Record item={item} said={said} change={change} /> : null}
      {takesResult(item, outcome, said) ? (
        <Result item={item} outcome={outcome} said={said} change={change} />
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
function Result({ item, outcome, said, change }: PartProps) {
  const { result_schema: schema } = item
  const onValue = (result: unknown) => change({ result })
  if (outcome === 'happened' && isForm(schema)) {
    return <SchemaForm legend="Its result" schema={schema} value={said.result} onValue={onValue} />
  }
  const label = outcome === 'respond' ? 'The answer' : 'Its result'
  return <JsonField label={label} value={said.result} onValue={onValue} />
}

function Record({ item, said, change }: Omit<PartProps, 'outcome'>) {
  return (
    <label class="field">
      <span>Which record</span>
      <select
        value={said.record}
        onChange={(event) => change({ record: Number(event.currentTarget.value) })}
      >
        {item.unmatched.map((record, index) => (
          <option key={recordName(record)} value={index}>
            {`${recordName(record)} (${record.status})`}
          </option>
        ))}
      </select>
    </label>
  )
}

function Words({ outcome, said, change }: Omit<PartProps, 'item'>) {
  const proves = ['happened', 'did_not_happen', 'use_record', 'send', 'fail'].includes(outcome)
  const may = unsaid[outcome] !== undefined
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

function Sure({ item, outcome, said, change }: PartProps) {
  const text = needsSure(item, outcome)
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
