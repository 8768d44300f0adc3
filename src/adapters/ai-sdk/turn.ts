// Owns: one execution of an agent: where its calls go, whether it has been stopped, and what its
// messages and its model's replies say about the tool calls that follow from them.
// Invariants: after a doubt no model and no tool is asked; every later call of the agent is
// answered with the same error. No tool is called before the reply that asks for it is on record.
import type { Call } from '../../index.ts'
import { NotSentError } from '../../model/errors.ts'
import { occurrenceOf } from '../../model/run/scope.ts'
import type { Tool } from '../../model/tool/tool.ts'
import { fromPlain } from './codec.ts'
import { isAnswer } from './failure.ts'
import type { Host, HostCall } from './host.ts'
import { distinct, type Past, type Row } from './past.ts'
import {
  callsIn,
  isApproved,
  isSameCall,
  type NamedCall,
  otherPlaces,
  placeId,
  placeIds,
  replyNumber,
} from './places.ts'
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

/** What is known of the turn besides its host. */
export interface TurnFacts {
  readonly generation: number
  /** What is on record of it; null in a node, whose records are matched by their order. */
  readonly past: Past | null
  /** Calls that the request says a person has approved. */
  readonly approved: readonly NamedCall[]
  readonly earlier: EarlierFacts
}

/** What is known of calls of earlier turns, of which the client's messages do not tell. */
export interface EarlierFacts {
  /** Those that may have had an effect: the user does not know of it. */
  readonly effects: readonly Row[]
  /** Ids of all of them: what the model is told of them changes as more is known. */
  readonly callIds: ReadonlySet<string>
}

const noEarlier: EarlierFacts = { effects: [], callIds: new Set() }
const nothing: TurnFacts = { generation: 0, past: null, approved: [], earlier: noEarlier }

export class Turn {
  readonly host: Host
  readonly generation: number
  /** Why the agent was stopped: a doubt, a lost hold, a wish of somebody's. */
  error: Error | null = null
  /** Tool calls that were not answered, because the agent was stopped. */
  readonly unanswered = new Set<string>()
  /** A provider was asked, as against a reply that is read back. */
  fresh = false
  private readonly facts: TurnFacts
  private readonly groups = new Map<string, Group>()
  private readonly replies = new Map<string, Promise<unknown>>()
  /** Calls of replies that broke off: they are not made. */
  private readonly cut = new Set<string>()
  /** In which reply a call was asked for last. */
  private readonly numbers = new Map<string, number>()
  private readonly known = new Set<string>()
  /** Places of what earlier generations have asked for, and replies that broke off. */
  private readonly over = new Set<string>()
  private repliesMax = 0

  constructor(host: Host, facts: TurnFacts = nothing) {
    this.host = host
    this.facts = facts
    this.generation = facts.generation
    const { past } = facts
    if (past === null) return
    past.useCopies(facts.generation)
    for (const { reply } of past.asked) this.repliesMax = Math.max(this.repliesMax, reply)
    // What earlier generations asked for is over: it is not what this one has forgotten.
    const over = past.asked.filter(({ generation }) => generation < facts.generation)
    for (const call of [...over, ...past.cut]) this.see([call], call.generation, { over: true })
  }

  get earlier(): EarlierFacts {
    return this.facts.earlier
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

  /** The place of a tool call, and what its turn knows of calls like it. */
  async placed(tool: Tool, input: unknown, toolCallId: string, messages: unknown) {
    this.noteMessages(messages)
    const reply = this.replyOf(toolCallId, messages)
    const at = { generation: this.generation, reply }
    const aliases = otherPlaces(at, this.repliesMax, toolCallId, this.generation)
    const callId = placeId(this.generation, reply, toolCallId)
    const alike = this.isOnRecord(tool, input, toolCallId, reply)
      ? {}
      : await this.alike(tool, input, isApproved(messages, toolCallId))
    return { callId, placed: { aliases, ...alike } }
  }

  /** Whether it is answered from the ledger, or was sent by a process that died. */
  needsNoApproval(tool: Tool, input: unknown, toolCallId: string, messages: unknown): boolean {
    const { past, approved } = this.facts
    // The SDK asks once more before it makes a call that was approved; a "no" would deny it.
    if (past === null || isApproved(messages, toolCallId)) return false
    this.noteMessages(messages)
    const reply = this.replyOf(toolCallId, messages)
    const call = { toolCallId, toolName: tool.name, input: fromPlain(input), reply }
    if (approved.some((each) => isSameCall(each, call))) return true
    if (this.isOnRecord(tool, input, toolCallId, reply)) return true
    return past.receipt(this.effects(past, tool), input) !== null
  }

  /** The reply is on record: what it asks for may be done, unless it broke off. */
  noteReply(content: readonly Part[], number: number, broken: boolean): void {
    const calls = toolCallsOf(content)
    this.note(calls)
    for (const { toolCallId } of calls) {
      this.numbers.set(toolCallId, number)
      if (broken) this.cut.add(toolCallId)
      else this.cut.delete(toolCallId)
    }
    if (broken) return
    this.see(
      calls.map((call) => ({ ...call, reply: number })),
      this.generation,
    )
  }

  /** What the request tells of the turn so far. */
  noteMessages(messages: unknown): void {
    this.see(callsIn(messages), this.generation)
  }

  /** A part of a reply that is not on record yet. */
  notePart(part: Part, { reply, number }: { reply: Promise<unknown>; number: number }): void {
    for (const { toolCallId } of toolCallsOf([part])) {
      this.replies.set(toolCallId, reply)
      this.numbers.set(toolCallId, number)
    }
  }

  async whenRecorded(toolCallId: string): Promise<void> {
    this.check()
    // If it fails the model's caller is told; the tool call then has nothing to follow from.
    await this.replies.get(toolCallId)
    this.check()
    if (this.cut.has(toolCallId)) throw cutOff()
  }

  /**
   * The identical calls among which this one is. After an approval the reply is not of this turn:
   * then it is among the messages.
   */
  groupOf(toolCallId: string, messages: unknown): Group | null {
    const known = this.groups.get(toolCallId)
    if (known) return known
    const named = callsIn(messages)
    const last = named.findLast((call) => call.toolCallId === toolCallId)
    if (last) this.note(named.filter(({ reply }) => reply === last.reply))
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

  private see(calls: readonly NamedCall[], generation: number, { over = false } = {}): void {
    const seen = calls.flatMap(({ toolName: tool, toolCallId, reply }) => {
      this.repliesMax = Math.max(this.repliesMax, reply)
      return placeIds(generation, reply, toolCallId).map((callId) => ({ tool, callId }))
    })
    // What earlier generations did is what this one must not do again unasked.
    const places = over ? this.over : this.known
    for (const { tool, callId } of seen) places.add(`${tool}#${occurrenceOf(callId, 0)}`)
    this.host.seen(seen)
  }

  private isKnown(tool: string, nth: number): boolean {
    return this.known.has(`${tool}#${nth}`)
  }

  /** By its own id, or by another that no other call of the turn has. */
  private isOnRecord(tool: Tool, input: unknown, toolCallId: string, reply: number): boolean {
    const at = { generation: this.generation, reply }
    const own = occurrenceOf(placeId(at.generation, reply, toolCallId), 0)
    const others = otherPlaces(at, this.repliesMax, toolCallId, this.generation)
      .map((id) => occurrenceOf(id, 0))
      .filter((nth) => !this.isKnown(tool.name, nth))
    return this.facts.past?.has(tool.name, input, [own, ...others]) === true
  }

  /** What earlier generations of the turn, and replies that broke off, may have done with it. */
  private effects(past: Past, { name }: Tool) {
    const isOver = (nth: number) => this.generation > 0 || this.over.has(`${name}#${nth}`)
    return past.effects(name, (row) => this.isKnown(name, row.nth) || !isOver(row.nth))
  }

  private replyOf(toolCallId: string, messages: unknown): number {
    const noted = this.numbers.get(toolCallId)
    if (noted !== undefined) return noted
    const named = callsIn(messages).findLast((call) => call.toolCallId === toolCallId)
    return named?.reply ?? replyNumber(messages)
  }

  /** Calls on record that may have had the effect of this one. */
  private async alike(tool: Tool, input: unknown, approved: boolean) {
    const { past } = this.facts
    if (past === null || tool.replayClass === 'pure') return {}
    const elsewhere = [
      ...(await past.effectsReplaced(tool.name)),
      ...this.facts.earlier.effects.filter((row) => row.tool === tool.name),
    ]
    const own = this.effects(past, tool)
    const answer = past.receipt(own, input)
    past.use(answer)
    // A person who approves this very call may not know that the same was done before.
    const same = elsewhere.filter((row) => past.isSame(row, input))
    const others = approved ? [] : [...own, ...elsewhere.filter((row) => !same.includes(row))]
    const held = await past.heldAgainst(tool.name)
    return { answer, alike: distinct([...same, ...others, ...held]) }
  }
}

function cutOff(): NotSentError {
  return new NotSentError('the call was not made: the reply that asks for it broke off')
}
