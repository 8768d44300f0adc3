// A UI message stream as server-sent events. It is read to its end whoever listens: what the agent
// has begun is finished and on record before the hold is given back.
import { Tube } from '../tube.ts'

/** A part of a UI message stream; only what is looked at here. */
export interface Chunk {
  readonly type: string
  readonly toolCallId?: unknown
  readonly [key: string]: unknown
}

export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-vercel-ai-ui-message-stream': 'v1',
  'x-accel-buffering': 'no',
}

export interface ChatStream {
  /** Whether a part is left out. */
  readonly hides: (chunk: Chunk) => boolean
  /** What the client is told first. */
  readonly first: readonly Chunk[]
  /** What a person has to decide, if the agent was stopped by it. */
  readonly doubt: () => Chunk | null
  /** When all is over. */
  readonly end: () => Promise<void>
  /** The client has gone. */
  readonly leave: () => void
  readonly onError: (error: unknown) => void
}

export function chunksOf(streams: unknown): ReadableStream<Chunk> {
  if (streams instanceof ReadableStream) return streams
  const { toUIMessageStream } = (streams ?? {}) as { toUIMessageStream?: unknown }
  if (typeof toUIMessageStream === 'function') return toUIMessageStream.call(streams)
  throw new TypeError(
    'chatRoute: `reply` must return what streamText gives, or a UI message stream',
  )
}

export function streamChat(chunks: ReadableStream<Chunk>, options: ChatStream) {
  const { leave } = options
  const tube = new Tube<Uint8Array>(leave)
  void pump(chunks, tube, options)
  return tube.readable
}

async function pump(chunks: ReadableStream<Chunk>, tube: Tube<Uint8Array>, options: ChatStream) {
  const { first, hides, doubt, end, onError } = options
  const encoder = new TextEncoder()
  const send = (data: string) => tube.push(encoder.encode(`data: ${data}\n\n`))
  let last: Chunk | null = null
  // Behind the first part, which opens the message.
  let due = first
  const tell = () => {
    for (const chunk of due) send(JSON.stringify(chunk))
    due = []
  }
  try {
    for await (const chunk of chunks) {
      // What the SDK says last comes behind the doubt.
      if (chunk.type === 'finish') last = chunk
      else if (!hides(chunk)) {
        send(JSON.stringify(chunk))
        tell()
      }
    }
  } catch (error) {
    onError(error)
    if (!doubt()) send(JSON.stringify({ type: 'error', errorText: 'An error occurred.' }))
  }
  tell()
  // Whoever reads the end may come back at once: by then the hold is given back.
  await end().catch(onError)
  const asked = doubt()
  if (asked) send(JSON.stringify(asked))
  if (last ?? asked) send(JSON.stringify(last ?? { type: 'finish' }))
  send('[DONE]')
  tube.end()
}
