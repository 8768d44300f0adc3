// `guard`: the same tools, each call of which passes the gate and is in the ledger.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { RunnableConfig } from '@langchain/core/runnables'
import { tool as langchainTool, type StructuredToolInterface } from '@langchain/core/tools'
import { interopParseAsync, isInteropZodSchema } from '@langchain/core/utils/types'
import type { Counterfoil } from '../../../index.ts'
import { isRecord } from '../../../model/run/state.ts'
import { type AnsweredCall, guardedCall, type How } from './call.ts'
import { checkAll, type GuardRules, refused } from './rules.ts'
import { withOwnSubgraphs } from './task.ts'

/** More subgraphs than one tool call starts. */
const subgraphsMax = 100

/** A tool of LangChain's, whatever made it. */
export interface GuardableTool {
  name: string
  invoke(input: never, config?: never): Promise<unknown>
}

export interface GuardOptions {
  /** Told of every call that was answered, from the ledger or fresh. */
  onCall?: (call: AnsweredCall) => void
}

/**
 * Tools with the same names, descriptions and schemas, to be used in the place of the originals.
 * `classes` says of each by its name what may happen if it is sent twice.
 */
export function guard<const T extends readonly GuardableTool[]>(
  cf: Counterfoil,
  tools: T,
  classes: { readonly [name: string]: GuardRules },
  options: GuardOptions = {},
): { -readonly [K in keyof T]: T[K] } {
  const given: readonly unknown[] = Array.isArray(tools) ? tools : [tools]
  const strange = given.flatMap((each, i) => (isCallable(each) ? [] : [describe(each, i)]))
  if (strange.length > 0) throw refused('guard()', strange)
  const callable = given as readonly Callable[]
  const names = callable.map(({ name }) => name)
  checkAll(names, classes)
  const guarded = callable.map((each) => {
    const made = guardTool(cf, structured(each), classes[each.name] as GuardRules, options)
    return made
  })
  return guarded as unknown as { -readonly [K in keyof T]: T[K] }
}

interface Callable extends StructuredToolInterface {
  responseFormat?: string
  call: (arg: unknown, config?: unknown, tags?: string[]) => Promise<unknown>
  _call: (arg: unknown, runManager?: unknown, config?: RunnableConfig) => unknown
}

function isCallable(value: unknown): value is Callable {
  const { name, invoke } = (value ?? {}) as Partial<Record<'name' | 'invoke', unknown>>
  return typeof value === 'object' && typeof name === 'string' && typeof invoke === 'function'
}

function describe(value: unknown, i: number): string {
  const name = isRecord(value) ? (value['name'] ?? value['type']) : undefined
  const what = typeof name === 'string' ? `${name}: it` : `the tool at ${i}`
  return `${what} cannot be called here, so it cannot be guarded: leave it out`
}

/** A runnable that was made into a tool has no function of its own to guard. */
function structured(given: Callable): Callable {
  if (typeof given._call === 'function') return given
  const { name, description, schema } = given
  const run = (input: unknown, config: unknown) => given.invoke(input as never, config as never)
  return langchainTool(run as never, { name, description, schema } as never) as unknown as Callable
}

/** What a tool was asked for, as the model wrote it: its schema makes something else of it. */
const asked = new AsyncLocalStorage<{ readonly arg: unknown }>()

function guardTool(
  cf: Counterfoil,
  original: Callable,
  rules: GuardRules,
  { onCall }: GuardOptions,
): Callable {
  // All that the tool is, but for what is done when it is called.
  const guarded = Object.create(original, Object.getOwnPropertyDescriptors(original)) as Callable
  const call: Callable['call'] = (arg, config, tags) =>
    asked.run({ arg }, () => Reflect.apply(original.call, guarded, [arg, config, tags]))
  const run: Callable['_call'] = async (parsed, runManager, config) => {
    const of = askedFor(parsed, config)
    const result = await guardedCall({
      cf,
      name: original.name,
      rules,
      config,
      onCall,
      isTask: false,
      callId: of.callId,
      input: of.input,
      run: (how) => runTool(original, parsed, runManager, config, how),
    })
    const pair = original.responseFormat === 'content_and_artifact'
    return pair && !isPair(result) ? [result, undefined] : result
  }
  return Object.defineProperties(guarded, { call: { value: call }, _call: { value: run } })
}

function askedFor(parsed: unknown, config: RunnableConfig | undefined) {
  const { arg } = asked.getStore() ?? { arg: parsed }
  const { toolCall } = (config ?? {}) as { toolCall?: { id?: string; args?: unknown } }
  const of = isToolCall(arg) ? arg : toolCall
  return { input: of?.args ?? arg, callId: of?.id || null }
}

function isToolCall(arg: unknown): arg is { id?: string; args: unknown } {
  return isRecord(arg) && arg['type'] === 'tool_call' && 'args' in arg
}

async function runTool(
  original: Callable,
  parsed: unknown,
  runManager: unknown,
  config: RunnableConfig | undefined,
  { edited, signal, index }: How,
): Promise<unknown> {
  const input = edited ? await parse(original.schema, edited.value) : parsed
  const own =
    index === null ? config : withOwnSubgraphs({ ...config, signal }, index * subgraphsMax)
  const raw = await original._call(input, runManager, own)
  return isStream(raw) ? drained(raw, runManager as Listener) : raw
}

async function parse(schema: unknown, value: unknown): Promise<unknown> {
  return isInteropZodSchema(schema as never) ? interopParseAsync(schema as never, value) : value
}

interface Listener {
  handleToolEvent?: (chunk: unknown) => Promise<unknown>
}

/** A tool may say on its way how far it is; what it returns is its result. */
async function drained(stream: AsyncGenerator, listener: Listener | undefined): Promise<unknown> {
  for (;;) {
    const { done, value } = await stream.next()
    if (done) return value
    await listener?.handleToolEvent?.(value)
  }
}

function isStream(value: unknown): value is AsyncGenerator {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function isPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2
}
