// Server-sent events. A stream looks for what is new when this process has written something, and
// now and then for what others have. It ends with its client or with the server.
import { errorFor } from '../../model/errors.ts'
import type { ServerParts } from '../parts.ts'
import * as limits from './limits.ts'

export interface Sent {
  readonly id?: string
  readonly event?: string
  readonly data: unknown
}

/** What a stream lives on. */
export interface Ground extends Pick<ServerParts, 'store' | 'clock'> {
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
}

/** What is new since the last look. */
export type Look = () => Promise<readonly Sent[]>

const text = new TextEncoder()

/** Line breaks would end a field: JSON has none outside of strings, and escapes those inside. */
export function format({ id, event, data }: Sent): string {
  const fields = { id, event, data: JSON.stringify(data) }
  const lines = Object.entries(fields).map(([name, value]) =>
    value === undefined ? '' : `${name}: ${value}\n`,
  )
  return `${lines.join('')}\n`
}

export class Streams {
  private open = 0

  get count(): number {
    return this.open
  }

  respond(ground: Ground, request: Request, look: Look, pollMs: number): Response {
    if (this.open >= limits.streamsMax) {
      throw errorFor('STREAMS_FULL', limits.streamsMax)
    }
    this.open++
    const ended = () => {
      this.open--
    }
    const body = streamOf(ground, request.signal, look, pollMs, ended)
    const headers = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
    return new Response(body, { headers })
  }
}

function streamOf(
  ground: Ground,
  gone: AbortSignal,
  look: Look,
  pollMs: number,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const { store, clock, closing } = ground
  let over = false
  let wake = () => {}
  const stopListening = store.onChange(() => wake())
  const end = () => {
    if (over) return
    over = true
    for (const signal of [gone, closing]) signal.removeEventListener('abort', end)
    stopListening()
    wake()
    ended()
  }
  gone.addEventListener('abort', end)
  closing.addEventListener('abort', end)
  let beatAt = clock.mono()
  const somethingNew = () =>
    new Promise<void>((resolve) => {
      const cancel = clock.after(pollMs, resolve)
      wake = () => {
        cancel()
        resolve()
      }
    })
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    while (!over && !closing.aborted) {
      const news = await look()
      const silent = clock.mono() - beatAt >= limits.streamBeatMs
      if (news.length > 0 || silent) {
        beatAt = clock.mono()
        // A line that says nothing shows that the stream lives.
        controller.enqueue(text.encode(news.map(format).join('') || ': \n\n'))
        return
      }
      await somethingNew()
    }
    end()
    controller.close()
  }
  return new ReadableStream({
    start: (controller) => controller.enqueue(text.encode('retry: 1000\n\n')),
    pull: (controller) =>
      pull(controller).catch((error) => {
        end()
        controller.error(error)
      }),
    cancel: end,
  })
}
