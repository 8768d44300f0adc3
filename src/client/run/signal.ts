// Sends a signal to a run. The id is the sender's own: a queue that delivers twice sends one
// signal. It raises the run's arrivals under its lock, so that no park overlooks it (I10).
import { type Clock, timeId } from '../../clock.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { keptText, wellFormed } from '../../model/json/canonical.ts'
import * as limits from '../../model/limits.ts'
import { isName, shown } from '../../model/name.ts'
import { eventOf, type Run, type RunRef, type Signal } from '../../model/run/records.ts'
import { isEnded } from '../../model/run/states.ts'
import { arrival } from '../../store/rules/policy.ts'
import type { Changes, LedgerPort, Loaded } from '../../store/store.ts'

export interface SignalOptions {
  /** The sender's own id for it; made up unless given. */
  id?: string
}

export interface SentSignal {
  readonly id: string
  /** False if this very signal was sent before. */
  readonly created: boolean
}

export async function sendSignal(
  { store, clock }: { store: LedgerPort; clock: Clock },
  ref: RunRef,
  name: string,
  data: unknown,
  { id = timeId(clock, 'sig') }: SignalOptions = {},
): Promise<SentSignal> {
  const signal = signalOf(ref, name, data, id, clock.now())
  const old = await store.getSignal(ref, id)
  if (old) return repeated(old, signal)
  try {
    await store.amend(ref, 'client', (now) => ({ changes: sent(now, signal), value: null }))
    return { id, created: true }
  } catch (error) {
    // Somebody may have sent it at this very moment: the row is there then, and final.
    const meanwhile = await store.getSignal(ref, id)
    if (meanwhile) return repeated(meanwhile, signal)
    throw error
  }
}

function signalOf(ref: RunRef, name: string, data: unknown, id: unknown, at: number): Signal {
  if (!isName(name))
    throw invalid(`${shown(name)} is not a name for a signal: letters, digits, _ . : -`)
  const usable = typeof id === 'string' && id !== '' && id.length <= limits.runIdLengthMax
  if (!usable || /\p{Cc}|\p{Cs}/u.test(id)) {
    throw invalid(`its id ${shown(id)} must be 1 to ${limits.runIdLengthMax} plain characters`)
  }
  const dataJson = data === undefined ? null : keptText(data)
  const bytes = Buffer.byteLength(dataJson ?? '')
  if (bytes > limits.signalBytesMax) {
    throw invalid(
      `its data have ${bytes} bytes, at most ${limits.signalBytesMax} are taken; ` +
        'put them somewhere and send where they are',
    )
  }
  const { namespace, runId } = ref
  return { namespace, runId, signalId: wellFormed(id), name, dataJson, at, usedBy: null }
}

function sent({ run, signals }: Loaded, signal: Signal): Changes {
  if (isEnded(run.state)) {
    throw errorFor('RUN_ENDED', run, 'it takes no more signals')
  }
  if (signals.length >= limits.signalsMax) {
    throw invalid(`run ${run.runId} has ${signals.length} signals that it did not take; no more`)
  }
  const change = arrival(run)
  const { name, signalId, at } = signal
  const events = [eventOf(run, at, 'signalled', { name, id: signalId })]
  if (change.state) events.push(eventOf(run, at, 'state', woken(run, `signal ${name}`)))
  return { signals: [signal], run: change, events }
}

function woken({ state: from }: Run, cause: string) {
  return { from, to: 'pending', cause }
}

/** The same again is no second signal; another under the same id is a mistake somewhere. */
function repeated(old: Signal, now: Signal): SentSignal {
  if (old.name === now.name && old.dataJson === now.dataJson) {
    return { id: old.signalId, created: false }
  }
  throw errorFor('SIGNAL_EXISTS', old.runId, old.signalId)
}

function invalid(what: string): CounterfoilError {
  return errorFor('SIGNAL_INVALID', what)
}
