// Owns: one execution of an agent: where its calls go, whether it has been stopped, and what its
// model's replies say about the tool calls that follow from them.
// Invariants: after a doubt no model and no tool is asked; every later call of the agent is
// answered with the same error. No tool is called before the reply that asks for it is on record.
import type { Call } from '../../index.ts'
import type { Tool } from '../../model/tool.ts'
import { isAnswer } from './failure.ts'
import type { Host, HostCall } from './host.ts'
import { type Part, type ToolCall, type Twins, toolCallsOf, twinsIn } from './reply.ts'

/** A tool call that was answered; `replayed` if nothing was sent for it now. */
export interface Answered {
  readonly value: unknown
  readonly replayed: boolean
}

/** Identical calls of one reply, and the answer that all of them get. */
export interface Group extends Twins {
  answer?: Promise<Answered>
  /** What was asked for in the end: a call that was repaired may be another than its likes. */
  words?: string
}

export class Turn {
  readonly host: Host
  /** Why the agent was stopped: a doubt, a lost hold, a wish of somebody's. */
  error: Error | null = null
  private readonly groups = new Map<string, Group>()
  private readonly replies = new Map<string, Promise<unknown>>()

  constructor(host: Host) {
    this.host = host
  }

  /** Throws if the agent was stopped. */
  check(): void {
    if (this.error) throw this.error
  }

  /**
   * A call through the ledger. What is no answer to it stops the agent: the AI SDK hands errors of
   * tools to the model, which would act on them.
   */
  async call(
    tool: Tool,
    input: unknown,
    options: HostCall,
  ): Promise<Answered & { failed: boolean }> {
    this.check()
    let call: Call<unknown> | null = null
    try {
      call = this.host.call(tool, input, options)
      const value = await call
      return { value, replayed: call.replayed === true, failed: false }
    } catch (error) {
      if (isAnswer(error)) return { value: error, replayed: call?.replayed === true, failed: true }
      this.error ??= error as Error
      throw this.error
    }
  }

  /** The reply is on record: what it asks for may be done. */
  noteReply(content: readonly Part[]): void {
    this.note(toolCallsOf(content))
  }

  /** A part of a reply that is not on record yet. */
  notePart(part: Part, reply: Promise<unknown>): void {
    for (const { toolCallId } of toolCallsOf([part])) this.replies.set(toolCallId, reply)
  }

  async whenRecorded(toolCallId: string): Promise<void> {
    this.check()
    // If it fails the model's caller is told; the tool call then has nothing to follow from.
    await this.replies.get(toolCallId)
    this.check()
  }

  /**
   * The identical calls among which this one is. After an approval the reply is not of this turn:
   * then it is among the messages.
   */
  groupOf(toolCallId: string, messages: unknown): Group | null {
    const known = this.groups.get(toolCallId)
    if (known) return known
    const reply = repliesIn(messages).findLast((calls) =>
      calls.some((call) => call.toolCallId === toolCallId),
    )
    if (reply) this.note(reply)
    return this.groups.get(toolCallId) ?? null
  }

  private note(calls: readonly ToolCall[]): void {
    // Ids may come again in a later reply, of another call.
    for (const { toolCallId } of calls) this.groups.delete(toolCallId)
    for (const [id, twins] of twinsIn(calls)) {
      const first = this.groups.get(twins.leader)
      this.groups.set(id, id === twins.leader || !first ? { ...twins } : first)
    }
  }
}

function repliesIn(messages: unknown): ToolCall[][] {
  if (!Array.isArray(messages)) return []
  return messages
    .filter((message) => message?.role === 'assistant' && Array.isArray(message.content))
    .map((message) => toolCallsOf(message.content))
}
