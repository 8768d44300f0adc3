// A chat route: a request of `useChat` in, a stream of UI messages out, whatever the framework. It
// derives all ids, and gives its hold back on every path.
import type { Counterfoil } from '../../index.ts'
import { CounterfoilError, isCounterfoilError, ReplayUnsafeError } from '../../model/errors.ts'
import { type ChatBody, chatBodyOf, goesOnFrom } from './chat-messages.ts'
import { withEarlier } from './earlier.ts'
import type { Bound, GuardedAgent, OpenTurn } from './guard.ts'
import type { ModelLike } from './model.ts'
import type { UiMessage } from './past.ts'
import { problem } from './problem.ts'
import { type Chunk, chunksOf, sseHeaders, streamChat } from './sse.ts'

type Tools = Readonly<Record<string, object>>

/** What a person has to decide, in the stream: a data part of the type `data-counterfoil-doubt`. */
export interface DoubtData {
  itemId: string
  /** The tool whose call is in doubt; null where it is about something else. */
  tool: string | null
  /** In words, such as "send_email: did it happen?" */
  question: string
  reason: string
  workflowId: string
  /** Where a person decides it, if the route was told. */
  link: string | null
}

/** For `UIMessage<Metadata, CounterfoilData>`. */
export type CounterfoilData = { 'counterfoil-doubt': DoubtData }

/** What the route knows when the agent is to reply. */
export interface Reply<M, T> extends Bound<M, T> {
  /** For `convertToModelMessages`. */
  readonly messages: never[]
  /** Ends when nobody listens any more. Give it to `streamText` as `abortSignal`. */
  readonly signal: AbortSignal
  readonly request: Request
  readonly workflowId: string
}

/** What `streamText` gives, or its UI message stream. */
export type Streams =
  | { toUIMessageStream(options?: never): ReadableStream<unknown> }
  | ReadableStream<unknown>

export interface ChatRoute<M extends ModelLike, T extends Tools> {
  cf: Counterfoil
  agent: GuardedAgent<M, T>
  /** Calls `streamText`, with `model` and `tools` as they are given here. */
  reply: (agent: Reply<M, T>) => Promise<Streams> | Streams
  /** The ledger's workflow_id: the `id` of the chat, unless told. Also the place to say who may. */
  workflowId?: (chatId: string, request: Request) => string | Promise<string>
  /** Where a person decides an item, such as the console's page. */
  link?: (itemId: string) => string
  /** `finish` works on when the client has gone; what is under way is finished either way. */
  onDisconnect?: 'stop' | 'finish'
  /** Told of what went wrong, doubts not included; the client gets no details. */
  onError?: (error: unknown) => void
}

/** A fetch handler for `useChat`: for Next.js route handlers, Hono, or any server of `fetch`. */
export function chatRoute<M extends ModelLike, T extends Tools>(
  options: ChatRoute<M, T>,
): (request: Request) => Promise<Response> {
  const { onError = () => {} } = options
  const lines = new Map<string, Promise<unknown>>()
  return async (request) => {
    try {
      if (request.method !== 'POST') throw notAllowed(request.method)
      const body = chatBodyOf(await bodyOf(request))
      const workflowId = (await options.workflowId?.(body.id, request)) ?? body.id
      return await answer(options, { request, body, workflowId, lines })
    } catch (error) {
      if (!isCounterfoilError(error)) onError(error)
      return problem(error)
    }
  }
}

interface Asked {
  readonly request: Request
  readonly body: ChatBody
  readonly workflowId: string
  /** What each conversation is at: one turn after the other, as between processes. */
  readonly lines: Map<string, Promise<unknown>>
}

async function answer<M extends ModelLike, T extends Tools>(
  options: ChatRoute<M, T>,
  asked: Asked,
): Promise<Response> {
  const { cf, agent, onDisconnect = 'stop', onError = () => {} } = options
  const { request, body, workflowId, lines } = asked
  // Before anything is waited for: who asks twice for the same is given the same.
  const ids = await agent.turn(cf, { ...body, workflowId })
  const where = { cf, workflowId, model: agent.name }
  const known = await withEarlier(body.messages, where)
  const { messages, approved, waits, shown } = goesOnFrom(known)
  const stop = new AbortController()
  const leave = () => {
    if (onDisconnect === 'stop') stop.abort()
  }
  request.signal.addEventListener('abort', leave)
  const release = await takeTurn(lines, workflowId)
  let turn: OpenTurn<M, T> | null = null
  const end = async () => {
    request.signal.removeEventListener('abort', leave)
    try {
      await turn?.close()
    } finally {
      release()
    }
  }
  try {
    if (request.signal.aborted) leave()
    turn = await agent.open(cf, ids, { approved, signal: request.signal })
    const { model, tools, record } = turn
    const given = { model, tools, record, messages: messages as UiMessage[] as never[] }
    const streams = await options.reply({ ...given, signal: stop.signal, request, workflowId })
    const opened = turn
    const doubt = () => doubtOf(opened, workflowId, options.link)
    const hides = hider({ turn, waits, shown })
    const stream = streamChat(chunksOf(streams), { hides, doubt, end, leave, onError })
    return new Response(stream, { headers: sseHeaders })
  } catch (error) {
    await end()
    throw error
  }
}

async function bodyOf(request: Request): Promise<unknown> {
  try {
    return await request.json()
  } catch {
    throw new CounterfoilError('CHAT_REQUEST_INVALID', 'the body is not JSON')
  }
}

function notAllowed(method: string): CounterfoilError {
  return new CounterfoilError('CHAT_REQUEST_INVALID', `${method} is not POST`)
}

/** Resolves when the turns before it are over; the function it gives ends this one. */
async function takeTurn(lines: Map<string, Promise<unknown>>, id: string): Promise<() => void> {
  const before = lines.get(id)
  let release = () => {}
  const own = new Promise<void>((resolve) => {
    release = resolve
  })
  const line = Promise.all([before, own])
  lines.set(id, line)
  void line.then(() => {
    if (lines.get(id) === line) lines.delete(id)
  })
  await before
  return release
}

function doubtOf(
  turn: { readonly error: Error | null },
  workflowId: string,
  link: ((itemId: string) => string) | undefined,
): Chunk | null {
  const { error } = turn
  if (!(error instanceof ReplayUnsafeError) || error.itemId === null) return null
  const { itemId, call } = error
  const { title, reason } = (error.details['item'] ?? {}) as { title?: string; reason?: string }
  const data: DoubtData = {
    itemId,
    tool: call.tool === '' ? null : call.tool,
    question: title ?? error.message,
    reason: reason ?? 'unknown',
    workflowId,
    link: link?.(itemId) ?? null,
  }
  return { type: 'data-counterfoil-doubt', id: itemId, data }
}

interface Hiding {
  readonly turn: { readonly error: Error | null; readonly unanswered: ReadonlySet<string> }
  readonly waits: boolean
  readonly shown: boolean
}

/** Parts that the client is not given: what is no answer to a call must not look like one. */
function hider({ turn, waits, shown }: Hiding): (chunk: Chunk) => boolean {
  let again = shown
  return (chunk) => {
    const { type, toolCallId } = chunk
    if (type === 'tool-output-error' && turn.unanswered.has(String(toolCallId))) return true
    if (type === 'error') return waits || turn.error instanceof ReplayUnsafeError
    // The words of a reply that the client shows already.
    const hidden = again && !type.startsWith('tool-') && type !== 'start' && type !== 'abort'
    if (type === 'finish-step') again = false
    return hidden
  }
}
