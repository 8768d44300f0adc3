// What has changed, told by the server (SSE). The stream carries hints, not data: whoever shows
// something fetches it again. Without a stream everything is looked at again now and then.
import { signal } from '@preact/signals'
import { inNamespace } from './api.ts'
import { later } from './clock.ts'

/** Grows with every hint: what shows rows reads it. */
export const changes = signal(0)
export const connection = signal<'connecting' | 'live' | 'lost'>('connecting')

const retryMs = 3_000
const lookMs = 10_000
/** Hints that come together are one. */
const gatherMs = 250

let gathering = false

function changed(): void {
  if (gathering) return
  gathering = true
  later(gatherMs, () => {
    gathering = false
    changes.value++
  })
}

/** Listens until the returned function is called. */
export function listen(): () => void {
  let source: EventSource | null = null
  let stopped = false
  let cancel = () => {}
  const look = () => {
    if (connection.value !== 'live') changed()
    cancelLook = later(lookMs, look)
  }
  let cancelLook = later(lookMs, look)
  const connect = () => {
    if (stopped) return
    source = new EventSource(inNamespace('/v1/stream'))
    source.onopen = () => {
      // What happened while nobody listened is fetched once.
      if (connection.value === 'lost') changed()
      connection.value = 'live'
    }
    source.addEventListener('changed', changed)
    source.onerror = () => {
      source?.close()
      connection.value = 'lost'
      cancel = later(retryMs, connect)
    }
  }
  connect()
  return () => {
    stopped = true
    cancel()
    cancelLook()
    source?.close()
    connection.value = 'connecting'
  }
}

/** Every event of one run is a hint too, while its page is open. */
export function listenTo(path: string): () => void {
  const source = new EventSource(inNamespace(path))
  source.addEventListener('event', changed)
  source.onmessage = changed
  return () => source.close()
}
