// Threads that wait for a person go on by themselves when the person has decided in our inbox: by
// the command line, the console or the API, whichever process that was in.
import { Command } from '@langchain/langgraph'
import type { Counterfoil } from '../../../index.ts'
import { errorFor, isCounterfoilError } from '../../../model/errors.ts'
import { scopeGraph } from '../../../model/run/scope.ts'
import { isRecord } from '../../../model/run/state.ts'
import type { Asked } from './answer.ts'
import { deskOf } from './desk.ts'
import { holdThread, type Turn } from './thread-hold.ts'

const pollMs = 500
/** Between a command's decision and its hold on the thread. */
const graceMs = 1_000
const countMax = 100
const warnedMax = 1_000

/** A compiled graph, an agent or an entrypoint, as far as it is used here. */
export interface WatchedGraph {
  getState(config: never): Promise<unknown>
  invoke(input: never, config?: never): Promise<unknown>
}

export interface WatchOptions {
  /** How often it looks. */
  pollMs?: number
  /** What its invocations have besides the thread: context, callbacks, a limit of steps. */
  config?: { readonly configurable?: Readonly<Record<string, unknown>> } & object
  /** Only threads of which this is true; all that wait in this graph, unless given. */
  threads?: (threadId: string) => boolean
  /** Told what a thread came to that went on. */
  onResult?: (threadId: string, result: unknown) => void
  /**
   * Told what went wrong; it looks again all the same. Unless given, each cause is a warning of the
   * process, once.
   */
  onError?: (error: unknown, threadId: string | null) => void
}

export interface Watch {
  /** Looks no more, and waits for what it has under way. */
  stop(): Promise<void>
}

/** Continues threads of the graph whose items have been decided, until it is stopped. */
export function watch(cf: Counterfoil, graph: WatchedGraph, options: WatchOptions = {}): Watch {
  const every = options.pollMs ?? pollMs
  if (!(every > 0)) {
    throw errorFor('GUARD_INVALID', 'watch(): `pollMs` must be milliseconds above 0')
  }
  const watcher = new Watcher(cf, graph, options)
  let stopped = false
  let wake = () => {}
  const loop = async () => {
    while (!stopped) {
      await watcher.look()
      if (stopped) return
      await new Promise<void>((resolve) => {
        const cancel = cf.store.clock.after(every, resolve)
        wake = () => {
          cancel()
          resolve()
        }
      })
    }
  }
  const over = loop()
  return {
    stop: async () => {
      stopped = true
      wake()
      await over
    },
  }
}

interface Interrupted {
  readonly id?: string
  readonly value?: unknown
}

interface State {
  /** When the checkpoint was made. */
  readonly createdAt?: string
  readonly tasks?: readonly { readonly interrupts?: readonly Interrupted[] }[]
}

class Watcher {
  private readonly cf: Counterfoil
  private readonly graph: WatchedGraph
  private readonly options: WatchOptions
  /** Open items that were seen, with their threads. */
  private open: ReadonlyMap<string, string> | null = null
  /** Threads to look at: whether an item of theirs was seen to be decided. */
  private readonly todo = new Map<string, boolean>()
  /** Causes that a warning was given of. */
  private readonly warned = new Set<string>()

  constructor(cf: Counterfoil, graph: WatchedGraph, options: WatchOptions) {
    this.cf = cf
    this.graph = graph
    this.options = options
  }

  async look(): Promise<void> {
    const { threads = () => true } = this.options
    try {
      await this.find()
    } catch (error) {
      this.tell(error, null)
    }
    for (const [threadId, seen] of [...this.todo]) {
      try {
        const done = !threads(threadId) || (await this.proceed(threadId, seen))
        if (done) this.todo.delete(threadId)
      } catch (error) {
        this.todo.delete(threadId)
        this.tell(error, threadId)
      }
    }
  }

  private tell(error: unknown, threadId: string | null): void {
    const { onError } = this.options
    if (onError) return onError(error, threadId)
    const where = threadId === null ? 'watch()' : `watch(): thread ${threadId}`
    const message = `${where} could not go on: ${String(error)}`
    if (this.warned.has(message)) return
    if (this.warned.size < warnedMax) this.warned.add(message)
    process.emitWarning(message, 'Counterfoil')
  }

  /** Threads of which an item was decided since the last look, or that wait for their host. */
  private async find(): Promise<void> {
    const { inbox, store, threads } = this.cf
    const open = new Map<string, string>()
    for await (const { itemId, runId } of pages((page) => inbox.list(page))) open.set(itemId, runId)
    const { namespace } = threads
    const ready = { namespace, graph: scopeGraph.name, state: 'pending' } as const
    for await (const { runId } of pages((page) => store.listRuns({ ...ready, ...page }))) {
      this.todo.set(runId, this.todo.get(runId) ?? false)
    }
    for (const [itemId, runId] of this.open ?? []) if (!open.has(itemId)) this.todo.set(runId, true)
    if (this.open === null) {
      // Decided while nobody watched.
      const { items } = await inbox.list({ state: 'decided', newestFirst: true, countMax })
      for (const { runId } of items) this.todo.set(runId, true)
    }
    this.open = open
  }

  /** False if it has to be looked at again. */
  private async proceed(threadId: string, seen: boolean): Promise<boolean> {
    const { config = {}, onResult } = this.options
    const configurable = { ...config.configurable, thread_id: threadId }
    const of = { ...config, configurable } as never
    if ((await this.inputFor(threadId, of, seen)) === undefined) return true
    const hold = await this.hold(threadId)
    if (hold === null) return false
    let result: { readonly value: unknown } | null = null
    try {
      // Whoever held it last may have gone on with it.
      const input = await this.inputFor(threadId, of, seen)
      const invoke = () => this.graph.invoke(input as never, of)
      if (input !== undefined) result = { value: await hold.run(invoke) }
    } finally {
      await hold.end()
    }
    if (result) onResult?.(threadId, result.value)
    return true
  }

  /** What the thread is to go on with; undefined if it waits for something else. */
  private async inputFor(threadId: string, of: never, seen: boolean) {
    const { tasks = [], createdAt = '' } = (await this.graph.getState(of)) as State
    const interrupts = tasks.flatMap((each) => each.interrupts ?? [])
    const resume = await this.answersTo(interrupts)
    if (resume !== null) return new Command({ resume })
    // No interrupt is stored if the process died before LangGraph had written it; then nothing has
    // been stored since.
    const still = tasks.length > 0 && Date.parse(createdAt) < (await this.decidedAt(threadId))
    return seen && interrupts.length === 0 && still ? null : undefined
  }

  /**
   * LangGraph lets two invocations of a thread run side by side, and then both ask the model and
   * both do what it says. So the thread is held until the invocation is over, and another watcher
   * waits. Whoever has decided by a command is at work on it: they are given a moment, and then as
   * long as they hold it. Null if it is not free.
   */
  private async hold(threadId: string): Promise<Turn | null> {
    const { cf } = this
    const decidedAt = await this.decidedAt(threadId)
    if (cf.store.clock.now() < decidedAt + graceMs || deskOf(cf).isBusy(threadId)) return null
    try {
      return await holdThread(cf, threadId, 0)
    } catch (error) {
      if (isCounterfoilError(error, 'THREAD_BUSY')) return null
      throw error
    }
  }

  private async decidedAt(runId: string): Promise<number> {
    const { items } = await this.cf.inbox.list({ runId, state: 'decided', newestFirst: true })
    return Math.max(0, ...items.map(({ closedAt }) => closedAt ?? 0))
  }

  /** By the ids of the interrupts: an interrupt of the user's gets none of them. */
  private async answersTo(interrupts: readonly Interrupted[]) {
    const answers: Record<string, { itemId: string }> = {}
    for (const { id, value } of interrupts) {
      const asked = askedBy(value)
      if (id === undefined || asked === null) continue
      const { state } = await this.cf.inbox.get(asked.itemId)
      if (state !== 'open') answers[id] = { itemId: asked.itemId }
    }
    return Object.keys(answers).length > 0 ? answers : null
  }
}

function askedBy(value: unknown): Asked | null {
  if (!isRecord(value) || !isRecord(value['counterfoil'])) return null
  return value['counterfoil'] as unknown as Asked
}

interface PageOf<T> {
  readonly items: readonly T[]
  readonly next: string | null
}

async function* pages<T>(
  list: (page: { countMax: number; cursor?: string }) => Promise<PageOf<T>>,
): AsyncGenerator<T> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: PageOf<T> = await list({ countMax, ...(cursor ? { cursor } : {}) })
    yield* page.items
    cursor = page.next
  }
}
