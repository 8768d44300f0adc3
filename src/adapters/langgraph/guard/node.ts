// A whole node, or a whole task of the functional API, as one call.
import type { RunnableConfig } from '@langchain/core/runnables'
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons'
import type { Counterfoil } from '../../../index.ts'
import { guardedCall } from './call.ts'
import type { GuardOptions } from './guard.ts'
import { faultsOf, type GuardRules, refused } from './rules.ts'
import { taskOf } from './task.ts'

/** The rules of a node or a task; it is called what LangGraph calls it, unless it has a name. */
export type GuardedRules = GuardRules & GuardOptions & { name?: string }

/**
 * A node whose work is one call: `graph.addNode('book', guardNode(cf, { replayClass: … }, book))`.
 * Its input is the state that it is given, its result what it returns.
 */
export function guardNode<State, Config, Out>(
  cf: Counterfoil,
  rules: GuardedRules,
  fn: (state: State, config: Config) => Out | Promise<Out>,
): (state: State, config: Config) => Promise<Out> {
  const guarded = guardFunction(cf, 'guardNode()', rules, fn, misfitOfNode)
  return async (state, config) => {
    const given = config as RunnableConfig
    const run = (now: unknown, signal: AbortSignal) => fn(now as State, { ...config, signal })
    return (await guarded(given, state, run)) as Out
  }
}

/**
 * A task whose work is one call: `task('charge', guardTask(cf, { replayClass: … }, charge))`. Its
 * input is the list of its arguments, its result what it returns.
 */
export function guardTask<Args extends unknown[], Out>(
  cf: Counterfoil,
  rules: GuardedRules,
  fn: (...args: Args) => Out | Promise<Out>,
): (...args: Args) => Promise<Out> {
  const guarded = guardFunction(cf, 'guardTask()', rules, fn)
  return async (...args) => {
    const config = AsyncLocalStorageProviderSingleton.getRunnableConfig() as RunnableConfig
    return (await guarded(config, args, (now) => fn(...(now as Args)))) as Out
  }
}

/** LangGraph refuses such a result, at every replay of its record again. */
function misfitOfNode(result: unknown): string | null {
  if (Array.isArray(result)) return result.map(misfitOfNode).find((why) => why !== null) ?? null
  if (result === null || result === undefined || typeof result === 'object') return null
  return `a node gives the update of its state, an object; this is a ${typeof result}`
}

type Run = (input: unknown, signal: AbortSignal) => unknown

function guardFunction(
  cf: Counterfoil,
  what: string,
  { name: own, onCall, ...rules }: GuardedRules,
  fn: unknown,
  misfit: (result: unknown) => string | null = () => null,
): (config: RunnableConfig, input: unknown, run: Run) => Promise<unknown> {
  const faults = faultsOf(own ?? 'node', rules)
  if (typeof fn !== 'function') faults.push('it needs a function')
  if (faults.length > 0) throw refused(what, faults)
  return (config, input, run) => {
    const name = own ?? taskOf(config)?.node ?? ''
    return guardedCall({
      cf,
      name,
      rules: rules as GuardRules,
      config,
      callId: null,
      isTask: true,
      input,
      onCall,
      misfit,
      run: ({ edited, signal }) => run(edited ? edited.value : input, signal),
    })
  }
}
