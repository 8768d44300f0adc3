// What has to be said of an agent's tools before any of them may be called, and the tools of the
// ledger that are made of it.
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { checkName } from '../../model/name.ts'
import type { Schema } from '../../model/tool/schema.ts'
import {
  type AnySpec,
  type ClassRules,
  type Metadata,
  makeTool,
  type RetryPolicy,
  type Tool,
} from '../../model/tool/tool.ts'
import { fromPlain, toPlain } from './codec.ts'
import { type AiTool, runOf } from './tools.ts'

/** What is said of a tool: as in `tool({ … })`, without what the AI SDK's tool says itself. */
export type ToolClass<In = unknown, Out = unknown> = ClassRules<In, Out> &
  Metadata<Out> & {
    timeoutMs?: number
    retry?: RetryPolicy
    heartbeatMs?: number
    /** Of the result as it is recorded, also of one that a person states. */
    output?: Schema
    externalId?: (result: Out) => string
    amount?: (input: In) => number
    /** Identical calls in one reply are meant: each is made. Else an unsafe tool makes one. */
    allowIdentical?: boolean
  }

/** Of a tool that the provider executes: `pure` if it changes nothing (a search), else unsafe. */
export type ProviderToolClass = { replayClass: 'pure' | 'unsafe_on_replay' }

type AnyClass = AnySpec & { allowIdentical?: unknown }
type Classes = Readonly<Record<string, AnyClass | undefined>>

export function executes(tool: AiTool): boolean {
  return typeof tool?.execute === 'function'
}

/** Executed by the provider, within the model's call. */
export function isProviderTool(tool: AiTool): boolean {
  const { type, isProviderExecuted } = tool ?? {}
  const provided = type === 'provider' || type === 'provider-defined'
  return provided && !executes(tool) && isProviderExecuted !== false
}

/** All that is missing in one message, so that it can be mended in one go. */
export function checkClasses(tools: Readonly<Record<string, AiTool>>, classes: Classes): void {
  const strange = Object.keys(classes).filter((name) => !Object.hasOwn(tools, name))
  if (strange.length > 0) {
    throw agentInvalid(`\`classes\` names tools that are not there: ${strange.join(', ')}`)
  }
  const missing = Object.entries(tools).filter(
    ([name, tool]) => (executes(tool) || isProviderTool(tool)) && !classes[name]?.replayClass,
  )
  if (missing.length === 0) return
  const lines = missing.map(([name, tool]) =>
    isProviderTool(tool)
      ? `  ${name}: { replayClass: 'pure' | 'unsafe_on_replay' }, // its provider executes it`
      : `  ${name}: { replayClass: 'pure' | 'idempotent_with_key' | 'unsafe_on_replay' },`,
  )
  const names = missing.map(([name]) => name)
  throw errorFor('TOOLS_UNCLASSIFIED', names, lines)
}

/** The class of the model's own calls: that of the most dangerous tool its provider executes. */
export function modelClass(
  tools: Readonly<Record<string, AiTool>>,
  classes: Classes,
): 'pure' | 'unsafe_on_replay' {
  const said = Object.entries(tools)
    .filter(([, tool]) => isProviderTool(tool))
    .map(([name]) => [name, classes[name]?.replayClass] as const)
  const bad = said.find(([, is]) => is !== 'pure' && is !== 'unsafe_on_replay')
  if (bad) {
    throw agentInvalid(
      `${bad[0]} is executed by its provider, within the call of the model: ` +
        "it is 'pure' or 'unsafe_on_replay', there is no key to send along",
    )
  }
  return said.some(([, is]) => is === 'unsafe_on_replay') ? 'unsafe_on_replay' : 'pure'
}

/** The tool of the ledger that stands for one of the AI SDK. */
export function ledgerTool(
  name: string,
  ai: AiTool,
  { allowIdentical: _, ...spec }: AnyClass,
): Tool {
  const of = (key: 'externalId' | 'usage') => {
    const told = spec[key]
    return typeof told === 'function' ? { [key]: (result: unknown) => told(fromPlain(result)) } : {}
  }
  const about = (key: 'idempotencyKey' | 'amount' | 'whereToLook') => {
    const told = spec[key]
    // A recorded key is known by what it is.
    const plain = typeof told !== 'function' || Object.getOwnPropertySymbols(told).length > 0
    return plain ? {} : { [key]: (input: unknown, call: unknown) => told(fromPlain(input), call) }
  }
  const { probe } = spec
  const asked =
    typeof probe === 'function'
      ? {
          probe: async (input: unknown, call: unknown) => {
            const said = await probe(fromPlain(input), call)
            return said?.landed === 'yes' ? { ...said, result: toPlain(said.result) } : said
          },
        }
      : {}
  const told = {
    ...of('externalId'),
    ...of('usage'),
    ...about('idempotencyKey'),
    ...about('amount'),
    ...about('whereToLook'),
  }
  const input = anyInput(ai.inputSchema)
  const run = runOf(ai, spec.replayClass === 'pure')
  return makeTool(checkName('tool', name), { ...spec, ...told, ...asked, input, run })
}

type Shows = (options: unknown) => unknown
interface Showing {
  readonly '~standard'?: { readonly jsonSchema?: { readonly input: Shows; readonly output: Shows } }
  /** As the AI SDK's own `jsonSchema()` has it. */
  readonly jsonSchema?: unknown
}

/**
 * Takes anything: the AI SDK has validated it, and what it made of it may not fit a second time.
 * What it looks like is shown to people, and is part of a graph's version.
 */
export function anyInput(shown: unknown): Schema {
  const { '~standard': standard, jsonSchema: json } = (shown ?? {}) as Showing
  const own = typeof json === 'object' && json !== null && !('then' in json) ? () => json : null
  const jsonSchema = standard?.jsonSchema ?? (own ? { input: own, output: own } : undefined)
  const props = {
    version: 1,
    vendor: 'counterfoil',
    validate: (value: unknown) => ({ value }),
    ...(jsonSchema ? { jsonSchema } : {}),
  }
  return { '~standard': props as Schema['~standard'] }
}

export function agentInvalid(why: string): CounterfoilError {
  return errorFor('AGENT_INVALID', why)
}
