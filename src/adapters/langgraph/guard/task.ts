// What LangGraph tells code that runs inside one of its tasks, by the keys of its config. They are
// its own and not documented: every one that is used is here, and test/adapters/langgraph holds
// LangGraph to them.
import type { RunnableConfig } from '@langchain/core/runnables'
import { type BaseCheckpointSaver, isGraphBubbleUp } from '@langchain/langgraph'

/** What LangGraph keeps for one task while it runs. */
export interface Scratchpad {
  interruptCounter: number
  subgraphCounter: number
  /** Answers to interrupts of this task, in the order of the interrupts. */
  resume: unknown[]
  /** An answer that names no task. */
  nullResume?: unknown
  readonly currentTaskInput: unknown
}

export interface Task {
  readonly config: RunnableConfig
  readonly threadId: string
  /** `sub:uuid|tools:uuid`: nodes and ids of tasks, the innermost last. */
  readonly path: string
  /** For each level of graphs, by its path: the checkpoint that it runs from. */
  readonly levels: Readonly<Record<string, string>>
  readonly checkpointer: BaseCheckpointSaver | undefined
  readonly scratchpad: Scratchpad
  /** What LangGraph calls the node, and how it came to run it. */
  readonly node: string
  readonly pushed: string | null
  readonly attempt: number
}

/** Null outside of a graph. */
export function taskOf(config: RunnableConfig | undefined): Task | null {
  const given = config?.configurable
  const scratchpad = given?.['__pregel_scratchpad'] as Scratchpad | undefined
  if (config === undefined || given === undefined || scratchpad === undefined) return null
  const metadata = config.metadata ?? {}
  const way = metadata['langgraph_path'] as unknown[] | undefined
  const { executionInfo } = config as { executionInfo?: { nodeAttempt?: number } }
  return {
    config,
    threadId: String(given['thread_id'] ?? ''),
    path: String(given['checkpoint_ns'] ?? ''),
    levels: (given['checkpoint_map'] ?? {}) as Record<string, string>,
    checkpointer: given['__pregel_checkpointer'] as BaseCheckpointSaver | undefined,
    scratchpad,
    node: String(metadata['langgraph_node'] ?? ''),
    pushed: way?.[0] === '__pregel_push' ? JSON.stringify(way) : null,
    attempt: executionInfo?.nodeAttempt ?? 1,
  }
}

/**
 * The config with a count of its own for the subgraphs that a call starts. LangGraph names them by
 * a count that all calls of a task share: when a neighbour is answered from the ledger and starts
 * none, the others would find each other's subgraphs.
 */
export function withOwnSubgraphs(config: RunnableConfig, first: number): RunnableConfig {
  const scratchpad = config.configurable?.['__pregel_scratchpad'] as Scratchpad | undefined
  if (scratchpad === undefined) return config
  let count = first
  const own = new Proxy(scratchpad, {
    get: (target, key) => (key === 'subgraphCounter' ? count : Reflect.get(target, key)),
    set: (target, key, value) => {
      if (key === 'subgraphCounter') count = value as number
      else Reflect.set(target, key, value)
      return true
    },
  })
  return { ...config, configurable: { ...config.configurable, __pregel_scratchpad: own } }
}

/** What LangGraph throws to stop a task: interrupts, and commands to a parent. */
export function isBubble(error: unknown): boolean {
  return typeof error === 'object' && error !== null && isGraphBubbleUp(error as Error)
}
