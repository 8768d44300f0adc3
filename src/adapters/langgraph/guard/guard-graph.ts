// `guardGraph`: one invocation of a thread at a time, as a courtesy. Without it a second one that
// begins while the first is under way is told THREAD_MOVED when it wants to send something; with it
// the second waits for the first, in this process and in others.
import type { RunnableConfig } from '@langchain/core/runnables'
import { IterableReadableStream } from '@langchain/core/utils/stream'
import { isCommand } from '@langchain/langgraph'
import type { Counterfoil } from '../../../index.ts'
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import { canonical, sha256 } from '../../../model/json/canonical.ts'
import { moved } from '../line/turn.ts'
import { holdThread, type Turn } from './thread-hold.ts'

/** A compiled graph, an agent or an entrypoint, as far as it is used here. */
export interface GuardableGraph {
  invoke(input: never, config?: never): Promise<unknown>
}

export interface GuardGraphOptions {
  /** How long an invocation waits for those before it; then it is refused (THREAD_BUSY). */
  waitMs?: number
}

const waitMs = 60_000

type Config = RunnableConfig | undefined
type Invoke = (input: unknown, config?: Config, ...more: unknown[]) => Promise<unknown>
type Stream = (input: unknown, config?: Config, ...more: unknown[]) => unknown

/** The same graph, whose invocations of one thread come one after the other. */
export function guardGraph<G extends GuardableGraph>(
  cf: Counterfoil,
  graph: G,
  options: GuardGraphOptions = {},
): G {
  const withinMs = options.waitMs ?? waitMs
  if (!(withinMs >= 0)) throw invalid('`waitMs` must be milliseconds from 0 on')
  if (typeof graph?.invoke !== 'function') throw invalid('it needs a compiled graph')
  const own = {
    invoke: async (input: unknown, config?: Config, ...more: unknown[]) => {
      const turn = await turnOf(cf, graph, input, config, withinMs)
      const work = () => (graph.invoke as unknown as Invoke)(input, config, ...more)
      return turn.run(work).finally(() => turn.end())
    },
    stream: async (input: unknown, config?: Config, ...more: unknown[]) => {
      const turn = await turnOf(cf, graph, input, config, withinMs)
      return streamed(turn, () => callOn(graph, 'stream', input, config, more))
    },
    streamEvents: (input: unknown, config?: Config, ...more: unknown[]) => {
      const turn = turnOf(cf, graph, input, config, withinMs)
      turn.catch(() => {}) // whoever reads the stream is told
      return streamed(turn, () => callOn(graph, 'streamEvents', input, config, more))
    },
    withConfig: (config: Config) =>
      guardGraph(cf, callOn(graph, 'withConfig', config, undefined, []) as G, options),
  }
  const proxy: G = new Proxy(graph, {
    get(target, key) {
      // It invokes the graph once for each of its inputs: that is one turn each.
      if (key === 'batch') return Reflect.get(target, key)
      if (Object.hasOwn(own, key) && key in target) return own[key as keyof typeof own]
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return proxy
}

function callOn(graph: object, name: string, input: unknown, config: Config, more: unknown[]) {
  const method = Reflect.get(graph, name) as Stream
  return Reflect.apply(method, graph, [input, config, ...more])
}

async function turnOf(
  cf: Counterfoil,
  graph: object,
  input: unknown,
  config: Config,
  withinMs: number,
): Promise<Turn> {
  const threadId = threadOf(graph, config)
  if (threadId === null) return { run: (work) => work(), end: async () => {} }
  const resumes = isCommand(input) && input.resume !== undefined
  const seen = resumes ? await standOf(cf, threadId) : null
  const turn = await holdThread(cf, threadId, withinMs, config?.signal)
  // Whoever answers means the question that was there when they did.
  if (seen !== null && seen !== (await standOf(cf, threadId))) {
    await turn.end()
    throw moved('the answer', threadId)
  }
  return turn
}

/** What the thread waits for: changed by every checkpoint and every answer. */
async function standOf({ threads }: Counterfoil, threadId: string): Promise<string> {
  const space = { threadId, space: '' }
  const head = await threads.headOf(space)
  const writes = head === null ? [] : await threads.listWrites(space, [head])
  const said = writes.map(({ taskId, channel, bodyJson }) => [taskId, channel, bodyJson])
  return sha256(canonical([head, said]))
}

function threadOf(graph: object, config: Config): string | null {
  const { config: bound } = graph as { config?: RunnableConfig }
  const id: unknown = config?.configurable?.['thread_id'] ?? bound?.configurable?.['thread_id']
  return typeof id === 'string' && id !== '' ? id : null
}

/** The turn is over when the graph has done its work, whether somebody reads on or not. */
function streamed(turn: Turn | Promise<Turn>, begin: () => unknown): unknown {
  let reader: ReadableStreamDefaultReader<unknown> | null = null
  const stream = new ReadableStream<unknown>({
    start(controller) {
      const pump = async () => {
        const { run, end } = await turn
        try {
          reader = (await run(async () => begin() as ReadableStream<unknown>)).getReader()
          for (;;) {
            const { done, value } = await reader.read()
            if (done) break
            controller.enqueue(value)
          }
        } finally {
          await end()
        }
        controller.close()
      }
      pump().catch((error) => controller.error(error))
    },
    cancel: (reason) => reader?.cancel(reason),
  })
  return IterableReadableStream.fromReadableStream(stream)
}

function invalid(why: string): CounterfoilError {
  return errorFor('GUARD_INVALID', `guardGraph(): ${why}`)
}
