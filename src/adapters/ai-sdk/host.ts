// Where an agent runs: in a node of ours, or in a scope of somebody else's process.
import type { Call, Context, Counterfoil, PlacedCall, Scope } from '../../index.ts'
import type { Tool } from '../../model/tool/tool.ts'
import type { PlainIds } from './past.ts'

export interface HostCall {
  readonly callId?: string
  readonly placed?: PlacedCall
  readonly standsFor?: readonly string[]
  readonly live: unknown
}

export interface Host {
  /**
   * The host comes back by itself after a failure: one that is on record does not bind it, as it
   * binds a node, whose code has seen it and may have acted on it.
   */
  readonly standalone: boolean
  call(tool: Tool, input: unknown, options: HostCall): Call<unknown>
  /** The agent knows how these calls ended: a record of theirs is not one that it forgot. */
  seen(calls: readonly { readonly tool: string; readonly callId: string }[]): void
}

/** A node's calls are told apart by their order. */
export function nodeHost(ctx: Pick<Context, 'call'>): Host {
  const call = ctx.call as unknown as (
    tool: Tool,
    input: unknown,
    options: HostCall,
  ) => Call<unknown>
  return {
    standalone: false,
    call: (tool, input, { callId: _, placed: _placed, ...options }) => call(tool, input, options),
    seen: () => {},
  }
}

/** A conversation lives longer than what one of its turns is about. */
export function openPlace(cf: Counterfoil, ids: PlainIds): Promise<Scope> {
  return cf.scope({ ...ids, afterAbandon: 'go_on' })
}

export function scopeHost(scope: Scope): Host {
  return {
    standalone: true,
    call: (tool, input, options) => scope.call(tool, input, options),
    seen: (calls) => scope.seen(calls),
  }
}
