// Starts the thread that renews the lease, where there can be one.
import { Worker as Thread } from 'node:worker_threads'
import type { Clock } from '../clock.ts'
import type { StoreBase } from '../store/store.ts'
import type { ThreadData } from './keeper-thread.ts'
import type { Told } from './renewing.ts'
import { within } from './within.ts'

export interface KeeperThread {
  /** Whether it is still there to renew. */
  readonly working: boolean
  stop(): Promise<void>
}

export interface ThreadHooks {
  readonly onError: (error: unknown) => void
  readonly onRefused: () => void
}

// A renewal that is under way may take this long; then the thread is ended from outside.
const endMs = 2_000

/** Null where nobody could take a run over, and where this runs from its TypeScript sources. */
export function startThread(
  store: StoreBase,
  clock: Clock,
  given: Omit<ThreadData, 'renewal'>,
  { onError, onRefused }: ThreadHooks,
): KeeperThread | null {
  const { renewal } = store
  if (renewal === null || [import.meta.url, renewal.module].some((url) => url.endsWith('.ts'))) {
    return null
  }
  const workerData: ThreadData = { ...given, renewal }
  // What a program preloads for itself is not meant for this thread.
  const { NODE_OPTIONS: _, ...env } = process.env
  const url = new URL('./keeper-thread.js', import.meta.url)
  const thread = new Thread(url, { workerData, execArgv: [], env })
  let [working, ending] = [true, false]
  const gone = new Promise<void>((resolve) => {
    thread.once('exit', () => {
      working = false
      if (!ending) onError(new Error('the thread that renews the lease has ended; this one does'))
      resolve()
    })
  })
  thread.on('error', onError)
  thread.on('message', (told: Told) => {
    if (told.kind === 'refused') onRefused()
    else onError(new Error(told.message))
  })
  thread.unref()
  return {
    get working() {
      return working
    },
    stop: async () => {
      ending = true
      if (!working) return
      thread.postMessage('stop')
      await within(clock, endMs, gone).catch(() => thread.terminate())
    },
  }
}
