// Tools of the AI SDK, with all that they have; only their `execute` goes through the ledger.

import { RefusedError } from '../../model/errors.ts'
import { canonical } from '../../model/json/canonical.ts'
import type { CallInfo, Tool } from '../../model/tool/tool.ts'
import { fromPlain, toPlain } from './codec.ts'
import type { Answered, Turn } from './turn.ts'

/** What the AI SDK tells a tool's `execute` besides its input; only what is looked at here. */
export interface ExecuteOptions {
  readonly toolCallId: string
  readonly messages?: unknown
  readonly abortSignal?: AbortSignal
}

type Execute = (input: unknown, options: ExecuteOptions) => unknown

/** A tool of the AI SDK, as far as it matters here. */
export interface AiTool {
  readonly type?: string
  readonly execute?: Execute
  readonly inputSchema?: unknown
  readonly isProviderExecuted?: boolean
  readonly needsApproval?:
    | boolean
    | ((input: unknown, options: ExecuteOptions) => boolean | PromiseLike<boolean>)
}

/** One call of a tool, for whoever keeps logs or a memory: a replayed one was there before. */
export interface ToolReport {
  readonly tool: string
  /** The model's id of the call. */
  readonly callId: string
  readonly input: unknown
  /** True if it was answered from the ledger, or by an identical call of the same reply. */
  readonly replayed: boolean
  readonly result?: unknown
  readonly error?: unknown
}

/** What cannot be recorded of a tool call. */
export interface Executing {
  readonly input: unknown
  readonly options: ExecuteOptions
  readonly listen: (preliminary: unknown) => void
}

export interface ToolRules {
  readonly name: string
  readonly ai: AiTool
  readonly tool: Tool
  /** Identical calls of one reply are one call. */
  readonly collapses: boolean
  readonly onCall: (report: ToolReport) => void
}

const infoKey = Symbol.for('counterfoil.call')

/**
 * What the ledger knows of the call that a tool's `execute` serves, by the options it was given:
 * its idempotency key, its attempt. Null if the tool runs without a guard.
 */
export function callInfo(options: object): CallInfo | null {
  return (options as { [infoKey]?: CallInfo })[infoKey] ?? null
}

/** The `run` of the ledger's tool: executes the AI SDK's. */
export function runOf(ai: AiTool, pure: boolean) {
  return async (input: unknown, call: CallInfo): Promise<unknown> => {
    // None if a node calls the tool by itself.
    const live = (call.live ?? null) as Executing | null
    const given = await inputFor(ai, input, live)
    const options = { toolCallId: call.attemptId, messages: [], ...live?.options }
    // A user who stops an agent does not undo what it has begun: that goes on, and on record.
    const signal = pure ? live?.options.abortSignal : undefined
    const abortSignal = signal ? AbortSignal.any([signal, call.abortSignal]) : call.abortSignal
    const returned = ai.execute?.(given, { ...options, abortSignal, [infoKey]: call } as never)
    if (!isAsyncIterable(returned)) return toPlain(await returned)
    let last: unknown
    for await (const value of returned) {
      last = toPlain(value)
      live?.listen(fromPlain(last))
    }
    return last
  }
}

/** What the AI SDK has made of the model's text; or what a person has put in its place. */
async function inputFor(ai: AiTool, input: unknown, live: Executing | null): Promise<unknown> {
  if (live && canonical(toPlain(live.input) ?? null) === canonical(input)) return live.input
  const schema = (ai.inputSchema as { '~standard'?: StandardSchema } | undefined)?.['~standard']
  const value = fromPlain(input)
  const checked = await schema?.validate(value)
  if (checked?.issues === undefined) return checked ? checked.value : value
  const faults = checked.issues.map(({ message }) => message).join('; ')
  throw new RefusedError(`the edited input does not fit: ${faults}`)
}

interface StandardSchema {
  validate(value: unknown): Promise<Checked> | Checked
}
interface Checked {
  readonly value?: unknown
  readonly issues?: readonly { readonly message: string }[]
}

/** The tool as the agent is given it. */
export function guardTool(turn: Turn, rules: ToolRules): AiTool {
  const { ai } = rules
  const guarded = Object.assign(Object.create(Object.getPrototypeOf(ai)), ai)
  const approval = ai.needsApproval ? { needsApproval } : {}
  return Object.assign(guarded, { execute: isGenerator(ai.execute) ? streams : plain, ...approval })

  /** A call that has a record is answered from there, or asked about: it needs no approval. */
  async function needsApproval(input: unknown, options: ExecuteOptions): Promise<boolean> {
    const { toolCallId, messages } = options
    const asked = ai.needsApproval
    const plain = toPlain(input) ?? null
    if (turn.needsNoApproval(rules.tool, plain, toolCallId, messages)) return false
    return typeof asked === 'function' ? await asked(input, options) : asked === true
  }

  function plain(input: unknown, options: ExecuteOptions): Promise<unknown> {
    return execute(turn, rules, { input, options, listen: () => {} }).then(({ value }) => value)
  }

  /** Preliminary results as they come, and last what is on record. */
  async function* streams(input: unknown, options: ExecuteOptions) {
    const come: unknown[] = []
    let wake = () => {}
    const listen = (value: unknown) => {
      come.push(value)
      wake()
    }
    let end: { answered?: Answered; error?: unknown } | null = null
    const ended = execute(turn, rules, { input, options, listen }).then(
      (answered) => {
        end = { answered }
      },
      (error) => {
        end = { error }
      },
    )
    let shown = false
    for (;;) {
      while (come.length > 0) {
        shown = true
        yield come.shift()
      }
      if (end !== null) break
      const more = new Promise<void>((resolve) => {
        wake = resolve
      })
      await Promise.race([ended, more])
    }
    const { answered, error } = end as { answered?: Answered; error?: unknown }
    if (answered === undefined) throw error
    if (answered.replayed || !shown) yield answered.value
  }
}

async function execute(turn: Turn, rules: ToolRules, live: Executing): Promise<Answered> {
  const { toolCallId, messages } = live.options
  await turn.whenRecorded(toolCallId).catch((error) => {
    turn.unanswered.add(toolCallId)
    throw error
  })
  const words = canonical([rules.name, toPlain(live.input) ?? null])
  const alike = rules.collapses ? turn.groupOf(toolCallId, messages) : null
  const group = alike && (alike.words ?? words) === words ? alike : null
  const leads = group?.answer === undefined
  const answer = group?.answer ?? send(turn, rules, live, group)
  if (group) Object.assign(group, { answer, words })
  const { name, onCall } = rules
  const report = { tool: name, callId: toolCallId, input: live.input }
  try {
    const { value, replayed } = await answer.catch((error) => {
      if (!(error instanceof Failed)) turn.unanswered.add(toolCallId)
      throw error
    })
    const answered = { value, replayed: replayed || !leads }
    tell(onCall, { ...report, replayed: answered.replayed, result: value })
    return answered
  } catch (error) {
    if (error instanceof Failed) {
      tell(onCall, { ...report, replayed: error.replayed || !leads, error: error.cause })
      throw error.cause
    }
    throw error
  }
}

/** A failure that the model is told of, and whether it is an old one. */
class Failed extends Error {
  readonly replayed: boolean

  constructor(cause: unknown, replayed: boolean) {
    super('', { cause })
    this.replayed = replayed
  }
}

async function send(
  turn: Turn,
  { tool }: ToolRules,
  live: Executing,
  group: { leader: string; ids: readonly string[] } | null,
): Promise<Answered> {
  const { toolCallId, messages } = live.options
  const leader = group?.leader ?? toolCallId
  const standsFor = group?.ids.slice(1) ?? []
  const input = toPlain(live.input) ?? null
  const place = await turn.placed(tool, input, leader, messages)
  const options = { ...place, live, ...(standsFor.length > 0 ? { standsFor } : {}) }
  const { value, replayed, failed } = await turn.call(tool, input, options)
  if (failed) throw new Failed(value, replayed)
  return { value: fromPlain(value), replayed }
}

/** What was done is done, whatever becomes of whoever is told. */
function tell(onCall: ToolRules['onCall'], report: ToolReport): void {
  try {
    onCall(report)
  } catch (error) {
    process.emitWarning(`onCall of ${report.tool} has thrown: ${String(error)}`, 'Counterfoil')
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Whether it gives preliminary results has to be known before it is called. */
function isGenerator(fn: unknown): boolean {
  return Object.prototype.toString.call(fn) === '[object AsyncGeneratorFunction]'
}
