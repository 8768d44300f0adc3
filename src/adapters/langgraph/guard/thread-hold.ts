// Owns: which threads this process holds as a whole, for invocations that come one after the other,
// and who waits for them here. Other processes are kept out by the hold on the thread's workflow.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Counterfoil } from '../../../index.ts'
import { type CounterfoilError, errorFor, isCounterfoilError } from '../../../model/errors.ts'
import { pause } from '../line/heard.ts'

const retryMs = 20
const retryMaxMs = 1_000

type Lines = Map<string, Promise<void>>
const lines = new WeakMap<Counterfoil, Lines>()

/** A turn at a thread: what is done in it may take the same thread again. */
export interface Turn {
  run<T>(work: () => Promise<T>): Promise<T>
  end(): Promise<void>
}

const inside = new AsyncLocalStorage<ReadonlySet<string>>()

/** Waits for the thread; whoever is inside of a turn at it need not. */
export async function holdThread(
  cf: Counterfoil,
  threadId: string,
  waitMs: number,
  signal?: AbortSignal,
): Promise<Turn> {
  const outer = inside.getStore() ?? new Set<string>()
  if (outer.has(threadId)) return { run: (work) => work(), end: async () => {} }
  const until = cf.store.clock.mono() + waitMs
  const leave = await stand(cf, threadId, until, signal)
  try {
    const scope = await take(cf, threadId, until, signal)
    const within = new Set([...outer, threadId])
    return { run: (work) => inside.run(within, work), end: () => scope.close().finally(leave) }
  } catch (error) {
    leave()
    throw error
  }
}

/** In line behind all that came before, in this process. */
async function stand(
  cf: Counterfoil,
  threadId: string,
  until: number,
  signal: AbortSignal | undefined,
): Promise<() => void> {
  const own: Lines = lines.get(cf) ?? new Map()
  lines.set(cf, own)
  const before = own.get(threadId)
  let over = () => {}
  const turn = new Promise<void>((resolve) => {
    over = resolve
  })
  // Whoever leaves the line early leaves no gap in it.
  const place = Promise.all([before, turn]).then(() => {
    if (own.get(threadId) === place) own.delete(threadId)
  })
  own.set(threadId, place)
  try {
    if (before) await within(cf, before, until, threadId, signal)
  } catch (error) {
    over()
    throw error
  }
  return over
}

async function within(
  cf: Counterfoil,
  before: Promise<void>,
  until: number,
  threadId: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { clock } = cf.store
  let forget = () => {}
  const late = new Promise<never>((_, reject) => {
    const cancel = clock.after(Math.max(0, until - clock.mono()), () => reject(busy(threadId)))
    const gone = () => reject(signal?.reason)
    if (signal?.aborted) gone()
    signal?.addEventListener('abort', gone, { once: true })
    forget = () => {
      cancel()
      signal?.removeEventListener('abort', gone)
    }
  })
  await Promise.race([before, late]).finally(() => forget())
}

async function take(
  cf: Counterfoil,
  threadId: string,
  until: number,
  signal: AbortSignal | undefined,
) {
  const { clock } = cf.store
  const ids = { workflowId: threadId, nodeId: 'invocation', checkpointId: 'invocation' }
  for (let waitMs = retryMs; ; waitMs = Math.min(waitMs * 2, retryMaxMs)) {
    signal?.throwIfAborted()
    try {
      return await cf.scope(ids)
    } catch (error) {
      if (!isCounterfoilError(error, 'SCOPE_HELD')) throw error
      if (clock.mono() + waitMs > until) throw busy(threadId)
      await pause(cf, waitMs)
    }
  }
}

function busy(threadId: string): CounterfoilError {
  const what =
    `another invocation of thread ${threadId} is under way, and has not ended in time. Nothing ` +
    'was done, and the state of the thread may be another by now'
  return errorFor('THREAD_BUSY', what, { threadId })
}
