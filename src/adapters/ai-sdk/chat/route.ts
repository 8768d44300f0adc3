// A chat route: a request of `useChat` in, a stream of UI messages out, whatever the framework. It
// derives all ids, and gives its hold back on every path.
import type { Counterfoil } from '../../../index.ts'
import {
  type CounterfoilError,
  errorFor,
  isCounterfoilError,
  ReplayUnsafeError,
} from '../../../model/errors.ts'
import { type Bound, type GuardedAgent, heldMs, type OpenTurn } from '../guard.ts'
import type { ModelLike } from '../model.ts'
import { doubtPart, outcomePart } from './data.ts'
import { lineOf } from './line.ts'
import { bodyBytesMax, type ChatBody, chatBodyOf, readJson } from './messages.ts'
import { problem, refusal } from './problem.ts'
import { type Chunk, chunksOf, sseHeaders, streamChat } from './sse.ts'

type Tools = Readonly<Record<string, object>>

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
  /**
   * The ledger's workflow_id: the `id` of the chat, unless told. Also the place to say who may:
   * throw a `Response`, or an error with a `status`, and the client gets that.
   */
  workflowId?: (chatId: string, request: Request) => string | Promise<string>
  /** Where a person decides an item, such as the console's page. */
  link?: (itemId: string) => string
  /** `finish` works on when the client has gone; what is under way is finished either way. */
  onDisconnect?: 'stop' | 'finish'
  /**
   * How long a request waits for another of the same chat, in this process or elsewhere: 20
   * seconds, unless told. Then it is answered with 409; a client that goes away does not wait.
   */
  waitMs?: number
  /** Larger bodies are answered with 413; 16 MiB, unless told. */
  bodyBytesMax?: number
  /** Told of what went wrong, doubts not included; the client gets no details. */
  onError?: (error: unknown) => void
}

/** A fetch handler for `useChat`: for Next.js route handlers, Hono, or any server of `fetch`. */
export function chatRoute<M extends ModelLike, T extends Tools>(
  options: ChatRoute<M, T>,
): (request: Request) => Promise<Response> {
  const { onError = () => {} } = options
  return async (request) => {
    try {
      if (request.method !== 'POST') throw notAllowed(request.method)
      const body = chatBodyOf(await readJson(request, options.bodyBytesMax ?? bodyBytesMax))
      const workflowId = await workflowIdOf(options, body.id, request)
      return await answer(options, { request, body, workflowId })
    } catch (error) {
      if (error instanceof Refused) {
        if (error.response.status >= 500) onError(error.cause)
        return error.response
      }
      if (!isCounterfoilError(error)) onError(error)
      return problem(error)
    }
  }
}

interface Asked {
  readonly request: Request
  readonly body: ChatBody
  readonly workflowId: string
}

async function answer<M extends ModelLike, T extends Tools>(
  options: ChatRoute<M, T>,
  asked: Asked,
): Promise<Response> {
  const { cf, agent, onDisconnect = 'stop', onError = () => {}, waitMs = heldMs } = options
  const { request, body, workflowId } = asked
  const { signal } = request
  const { clock } = cf.store
  const giveUpAt = clock.mono() + waitMs
  // Before anything is waited for: who asks twice for the same is given the same.
  const ids = await agent.turn(cf, { ...body, workflowId })
  const stop = new AbortController()
  const leave = () => {
    if (onDisconnect === 'stop') stop.abort()
  }
  const release = await lineOf(cf).enter(workflowId, { waitMs, signal })
  signal.addEventListener('abort', leave)
  let turn: OpenTurn<M, T> | null = null
  const end = async () => {
    signal.removeEventListener('abort', leave)
    try {
      await turn?.close()
    } finally {
      release()
    }
  }
  try {
    if (signal.aborted) leave()
    const rest = { signal, waitMs: giveUpAt - clock.mono() }
    turn = await agent.open(cf, ids, { messages: body.messages, ...rest })
    const { model, tools, record, messages } = turn
    const given = { model, tools, record, messages: [...messages] as never[] }
    const streams = await options.reply({ ...given, signal: stop.signal, request, workflowId })
    const opened = turn
    const doubt = () => doubtPart(opened, workflowId, options.link)
    const first = turn.outcomes.map(outcomePart)
    const hides = hider(turn)
    const stream = streamChat(chunksOf(streams), { first, hides, doubt, end, leave, onError })
    return new Response(stream, { headers: sseHeaders })
  } catch (error) {
    await end()
    throw error
  }
}

/** The place where the app refuses: what it throws is its answer. */
class Refused extends Error {
  readonly response: Response

  constructor(response: Response, cause: unknown) {
    super('', { cause })
    this.response = response
  }
}

async function workflowIdOf(
  { workflowId }: Pick<ChatRoute<ModelLike, Tools>, 'workflowId'>,
  chatId: string,
  request: Request,
): Promise<string> {
  try {
    return (await workflowId?.(chatId, request)) ?? chatId
  } catch (error) {
    const response = refusal(error)
    throw response ? new Refused(response, error) : error
  }
}

function notAllowed(method: string): CounterfoilError {
  return errorFor('CHAT_REQUEST_INVALID', `${method} is not POST`)
}

type Hiding = Pick<OpenTurn<unknown, unknown>, 'error' | 'unanswered' | 'waits' | 'shown'>

/** Parts that the client is not given: what is no answer to a call must not look like one. */
function hider(turn: Hiding): (chunk: Chunk) => boolean {
  let again = true
  return (chunk) => {
    const { type, toolCallId } = chunk
    if (type === 'tool-output-error' && turn.unanswered.has(String(toolCallId))) return true
    if (type === 'error') return turn.waits || turn.error instanceof ReplayUnsafeError
    // The words of a reply that the client shows already; data is the app's own.
    const told = ['start', 'abort'].includes(type) || /^(tool|data)-/.test(type)
    const hidden = again && turn.shown && !told
    if (type === 'finish-step') again = false
    return hidden
  }
}
