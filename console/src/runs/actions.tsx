// What a person can do about a run; only what its state allows is offered.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Problem } from '../api.ts'
import { randomId } from '../clock.ts'
import { asProblem, useResource } from '../resource.ts'
import { say } from '../say.tsx'
import { JsonField } from '../ui/json-field.tsx'
import { Failure } from '../ui/parts.tsx'
import type { FailedCall, Page, RunState, RunView } from '../wire.ts'
import { type FateMap, Fates, isFated } from './fates.tsx'
import { pathOf } from './paths.ts'

export type Action = 'pause' | 'resume' | 'cancel' | 'retry' | 'signal'

const live: readonly RunState[] = ['pending', 'running', 'waiting_tool', 'waiting_human']

function allowed({ state, stop }: RunView): Action[] {
  if (state === 'failed') return ['retry']
  if (state === 'paused') return ['resume', 'signal', 'cancel']
  if (!live.includes(state)) return []
  return stop === null ? ['pause', 'signal', 'cancel'] : ['resume', 'signal', 'cancel']
}

const names: Readonly<Record<Action, string>> = {
  pause: 'Pause',
  resume: 'Resume',
  cancel: 'Cancel',
  retry: 'Retry',
  signal: 'Signal',
}

const explained: Readonly<Record<Action, string>> = {
  pause: 'New calls stop; calls under way finish and are recorded. Then the run waits for you.',
  resume: 'The run goes on where it stands, as soon as a worker takes it.',
  cancel: 'The run ends. What is committed stays; it cannot go on afterwards.',
  retry: 'The run is tried again from its last good checkpoint. What succeeded is not sent again.',
  signal: 'Sent to the run by name. It waits there until a ctx.signal takes it.',
}

export function Actions({ run, reload }: { run: RunView; reload: () => void }) {
  const [action, setAction] = useState<Action | null>(null)
  const actions = allowed(run)
  return (
    <>
      <fieldset class="buttons" aria-label="Actions">
        {actions.map((one) => (
          <button key={one} type="button" onClick={() => setAction(one)}>
            {names[one]}
          </button>
        ))}
      </fieldset>
      {action === null ? null : (
        <ActionDialog
          run={run}
          action={action}
          close={() => {
            setAction(null)
            reload()
          }}
        />
      )}
    </>
  )
}

interface DialogProps {
  readonly run: RunView
  readonly action: Action
  readonly close: () => void
}

function ActionDialog({ run, action, close }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} aria-labelledby="action-title" onClose={close}>
      <h2 id="action-title">{`${names[action]} ${run.run_id}`}</h2>
      <p>{explained[action]}</p>
      <ActionForm run={run} action={action} close={() => dialog.current?.close()} />
    </dialog>
  )
}

interface Wish {
  readonly reason: string
  readonly name: string
  readonly data: unknown
  readonly calls: FateMap
  readonly sure: boolean
}

function ActionForm({ run, action, close }: DialogProps) {
  const [wish, setWish] = useState<Wish>({ reason: '', name: '', data: {}, calls: {}, sure: false })
  const [problem, setProblem] = useState<Problem | null>(null)
  const [key, setKey] = useState(randomId)
  const failed = useFailed(run, action)
  const change = (next: Partial<Wish>) => setWish({ ...wish, ...next })
  const submit = async () => {
    try {
      const body = bodyOf(action, wish)
      await api(pathOf(run.run_id, `/${action}`), { method: 'POST', key, body })
      say(`${names[action]}: asked for`)
      close()
    } catch (error) {
      const found = asProblem(error)
      setProblem(found)
      // Answered with no: what is sent next is another wish. Without an answer it is the same one.
      if (found.status > 0) setKey(randomId())
    }
  }
  const ready = action === 'signal' ? wish.name.trim() !== '' : wish.reason.trim() !== ''
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {action === 'signal' ? <SignalFields wish={wish} change={change} /> : null}
      {action === 'signal' ? null : <Reason wish={wish} change={change} />}
      {action === 'retry' ? (
        <Fates entries={failed} calls={wish.calls} onCalls={(calls) => change({ calls })} />
      ) : null}
      {failed.some((call) => call.unresolved) ? <Sure wish={wish} change={change} /> : null}
      {problem === null ? null : <Failure problem={problem} />}
      <p class="buttons">
        <button
          type="submit"
          class={action === 'cancel' ? 'primary grave' : 'primary'}
          disabled={!ready || !isFated(failed, wish.calls)}
        >
          {names[action]}
        </button>
        <button type="button" onClick={close}>
          Leave it
        </button>
      </p>
    </form>
  )
}

/** Calls of the present visit whose fate a retry has to be told. */
function useFailed(run: RunView, action: Action): readonly FailedCall[] {
  const path = action === 'retry' ? pathOf(run.run_id, '/failed-calls') : null
  const { data } = useResource<Page<FailedCall>>(path, false)
  return data?.items ?? []
}

function bodyOf(action: Action, { reason, name, data, calls, sure }: Wish): unknown {
  if (action === 'signal') return data === undefined ? { name } : { name, data }
  if (action !== 'retry') return { reason }
  return sure ? { reason, calls, made_sure: true } : { reason, calls }
}

interface PartProps {
  readonly wish: Wish
  readonly change: (next: Partial<Wish>) => void
}

function Reason({ wish, change }: PartProps) {
  return (
    <label class="field">
      <span>Reason (kept on record)</span>
      <textarea
        rows={2}
        required
        maxLength={4_000}
        value={wish.reason}
        onInput={(event) => change({ reason: event.currentTarget.value })}
      />
    </label>
  )
}

function Sure({ wish, change }: PartProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={wish.sure}
        onChange={(event) => change({ sure: event.currentTarget.checked })}
      />
      <span>
        I made sure that nothing that was sent before can still arrive. This is kept on record. (Not
        needed once the quiet time is over.)
      </span>
    </label>
  )
}

function SignalFields({ wish, change }: PartProps) {
  return (
    <>
      <label class="field">
        <span>Name</span>
        <input
          required
          maxLength={128}
          value={wish.name}
          onInput={(event) => change({ name: event.currentTarget.value })}
        />
      </label>
      <JsonField label="Data" value={wish.data} onValue={(data) => change({ data })} rows={4} />
    </>
  )
}
