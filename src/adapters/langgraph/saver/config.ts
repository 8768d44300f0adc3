// What the host passes in the config of a call, and what the saver was made with, both checked.
import type { RunnableConfig } from '@langchain/core/runnables'
import type { CheckpointMetadata } from '@langchain/langgraph-checkpoint'
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import type { Space } from './chain.ts'

export interface SaverOptions {
  /** Threads without a new step for so long are removed; not one that waits for somebody. */
  readonly ttlMs?: number
  /** How many of the latest steps are kept of a thread, and of each subgraph of it. */
  readonly keepSteps?: number
}

/** Undefined if the config names no thread: there is nothing to be found then. */
export function threadOf(config: RunnableConfig): Space | undefined {
  const { thread_id: threadId, checkpoint_ns: space } = config.configurable ?? {}
  if (threadId === undefined || threadId === null) return undefined
  return { threadId: textOf('thread_id', threadId), space: textOf('checkpoint_ns', space ?? '') }
}

export function spaceOf(config: RunnableConfig): Space {
  const space = threadOf(config)
  if (space !== undefined) return space
  throw invalid(
    'the config has no thread_id, so there is no thread to keep the state of: pass one, as in ' +
      "graph.invoke(input, { configurable: { thread_id: 'order-17' } })",
  )
}

export function stepIdOf(config: RunnableConfig | undefined): string | null {
  const { checkpoint_id: id, thread_ts: old } = config?.configurable ?? {}
  const given = id || old
  return given ? textOf('checkpoint_id', given) : null
}

/** For writes, which belong to a step. */
export function stepOf(config: RunnableConfig): { space: Space; stepId: string } {
  const space = spaceOf(config)
  const stepId = stepIdOf(config)
  if (stepId !== null) return { space, stepId }
  throw invalid(
    'the config has no checkpoint_id, so it is not known which step these writes are of',
  )
}

export function configOf({ threadId, space }: Space, stepId: string) {
  return {
    configurable: { thread_id: threadId, checkpoint_ns: space, checkpoint_id: stepId },
  }
}

/** With the id of the request: one that is retried with the same id resumes the thread. */
export function withRunId(metadata: CheckpointMetadata, config: RunnableConfig) {
  const runId: unknown = config.metadata?.['run_id']
  return runId === undefined ? metadata : { run_id: runId, ...metadata }
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string' && (value !== '' || name === 'checkpoint_ns')) return value
  throw invalid(`${name} must be a text that is not empty, and is ${shown(value)}`)
}

function shown(value: unknown): string {
  return typeof value === 'object' ? 'an object' : `${typeof value} ${JSON.stringify(value)}`
}

function invalid(what: string): CounterfoilError {
  return errorFor('THREAD_CONFIG_INVALID', what)
}

export function checkOptions({ ttlMs, keepSteps }: SaverOptions): void {
  if (ttlMs !== undefined && !(Number.isFinite(ttlMs) && ttlMs > 0)) {
    throw options(`ttlMs must be milliseconds above 0, and is ${ttlMs}`)
  }
  if (keepSteps !== undefined && !(Number.isSafeInteger(keepSteps) && keepSteps >= 1)) {
    throw options(`keepSteps must be a whole number from 1 on, and is ${keepSteps}`)
  }
}

function options(what: string): CounterfoilError {
  return errorFor('SAVER_OPTIONS', what)
}

/** Somebody works on the thread whenever a write fails; he does not do so for ever. */
export const triesMax = 8

export function busy(what: string): CounterfoilError {
  return errorFor('THREAD_BUSY', `write conflict: somebody else changed ${what} ${triesMax} times`)
}
