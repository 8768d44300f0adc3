// The messages of a request of `useChat`, as its transport sends them: what may be wrong with them,
// and how much of the last answer the agent goes on from.

import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import { decodeUtf8, readBytes } from '../../../model/json/body.ts'
import { canonical } from '../../../model/json/canonical.ts'
import type { UiMessage } from '../past.ts'
import type { NamedCall } from '../places.ts'

/** The body that `useChat` sends. */
export interface ChatBody {
  readonly id: string
  readonly messages: readonly UiMessage[]
  readonly trigger: string
}

/** A part of a UI message; only what is looked at here. */
export interface UiPart {
  readonly type?: string
  readonly state?: string
  readonly toolCallId?: string
  readonly preliminary?: boolean
  readonly providerExecuted?: boolean
  readonly approval?: { readonly approved?: boolean }
  readonly toolName?: string
  readonly input?: unknown
  readonly output?: unknown
  readonly errorText?: string
  readonly text?: string
  readonly data?: unknown
}

const triggers = ['submit-message', 'regenerate-message']
const roles = ['system', 'user', 'assistant']

/** A chat with pictures in it; hosts of functions take 4 to 6 MB. */
export const bodyBytesMax = 16 * 1024 * 1024
/** Deeper than anything that tools answer with, shallow for any stack. */
const depthMax = 200

/** The JSON of a request; what no part of the route could work with is refused here. */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const bytes = await readBytes(request, bytesMax)
  let value: unknown
  try {
    value = JSON.parse(decodeUtf8(bytes))
  } catch {
    throw invalid('the body is not JSON')
  }
  checkDepth(value)
  return value
}

function checkDepth(value: unknown): void {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > depthMax) throw invalid(`it is nested deeper than ${depthMax}`)
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? Object.values(each) : [],
    )
  }
}

/** Throws what is wrong with it, for whoever wrote the client. */
export function chatBodyOf(value: unknown): ChatBody {
  const { id, messages, trigger = triggers[0] } = (value ?? {}) as Record<string, unknown>
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('the body must be an object, as `useChat` sends it')
  }
  if (typeof id !== 'string' || id === '') throw invalid('`id` must be the id of the chat')
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalid('`messages` must be a list of UI messages, with one at least')
  }
  if (typeof trigger !== 'string' || !triggers.includes(trigger)) {
    throw invalid(`\`trigger\` must be one of ${triggers.join(', ')}`)
  }
  messages.forEach((message, n) => {
    checkMessage(message, `messages[${n}]`)
  })
  if (!messages.some(({ role }) => role === 'user')) {
    throw invalid('`messages` has no message of the user')
  }
  return { id, messages, trigger }
}

function checkMessage(message: unknown, where: string): void {
  const { id, role, parts } = (message ?? {}) as Record<string, unknown>
  if (typeof id !== 'string' || id === '') throw invalid(`${where}.id must be a text`)
  if (typeof role !== 'string' || !roles.includes(role)) {
    throw invalid(`${where}.role must be one of ${roles.join(', ')}`)
  }
  const typed = (part: unknown) => typeof (part as UiPart | null)?.type === 'string'
  if (!Array.isArray(parts) || !parts.every(typed)) {
    throw invalid(`${where}.parts must be a list of parts, each with a \`type\``)
  }
  // What a model or a tool has cut in the middle of a character is the server's own, and is kept.
  if (role === 'assistant') return
  try {
    canonical(parts)
  } catch (error) {
    throw invalid(`${where}.parts: ${(error as Error).message}`)
  }
}

function invalid(message: string): CounterfoilError {
  return errorFor('CHAT_REQUEST_INVALID', message)
}

export interface GoesOn {
  readonly messages: readonly UiMessage[]
  /** Calls that a person has approved, also those of a reply that is read back. */
  readonly approved: readonly NamedCall[]
  /** Some calls of the last reply wait for an approval: the model is not to be asked yet. */
  readonly waits: boolean
  /** The client shows the words of the reply that is read back first. */
  readonly shown: boolean
}

/**
 * The last answer, as far as every reply in it has all its calls answered. What follows is read
 * back from the ledger, or made: a call that broke off has no answer that the model could be told.
 */
export function goesOnFrom(
  messages: readonly UiMessage[],
  isCut: (toolCallId: string) => boolean,
): GoesOn {
  const last = messages.at(-1)
  if (last?.role !== 'assistant') return { messages, approved: [], waits: false, shown: false }
  // Of a reply that broke off the client has what it saw; the reply in its place comes behind it.
  const replies = repliesOf(last.parts as readonly UiPart[]).filter((reply) => {
    const calls = reply.filter(isCall)
    return calls.length === 0 || !calls.every(({ toolCallId = '' }) => isCut(toolCallId))
  })
  const whole = replies.findIndex((reply) => !isWhole(reply))
  const kept = whole < 0 ? replies : replies.slice(0, whole)
  const rest = replies.slice(kept.length)
  const parts = kept.flatMap((reply) => [{ type: 'step-start' }, ...reply])
  const before = messages.slice(0, -1)
  return {
    messages: kept.length === 0 ? before : [...before, { ...last, parts }],
    approved: replies.flatMap((parts, reply) => approvedIn(parts, reply)),
    waits: (kept.at(-1) ?? []).some(({ state }) => state === 'approval-requested'),
    shown: rest.length > 0 && (rest[0] ?? []).every(({ state }) => !state?.endsWith('streaming')),
  }
}

function approvedIn(parts: readonly UiPart[], reply: number): NamedCall[] {
  return parts.filter(isCall).flatMap((part) => {
    const { approval, toolCallId, input } = part
    if (approval?.approved !== true || !toolCallId) return []
    return [{ toolCallId, toolName: toolOf(part), input, reply }]
  })
}

export function repliesOf(parts: readonly UiPart[]): UiPart[][] {
  const replies: UiPart[][] = []
  for (const part of parts) {
    if (part.type === 'step-start') replies.push([])
    else if (replies.length === 0) replies.push([part])
    else replies.at(-1)?.push(part)
  }
  return replies.filter((reply) => reply.length > 0)
}

export function isCall({ type, providerExecuted }: UiPart): boolean {
  const tool = type?.startsWith('tool-') || type === 'dynamic-tool'
  return tool === true && providerExecuted !== true
}

export function toolOf({ type = '', toolName }: UiPart): string {
  return toolName ?? type.slice('tool-'.length)
}

/** It has its answer, or may be made now. */
export function isOver({ state = '', preliminary }: UiPart): boolean {
  return answered.includes(state) || (state === 'output-available' && preliminary !== true)
}

const answered = ['output-error', 'output-denied', 'approval-responded']

/** It asks for calls, and each has its answer; or some are to be made now, others later. */
function isWhole(reply: readonly UiPart[]): boolean {
  const calls = reply.filter(isCall)
  const ends = calls.filter(isOver)
  const responds = calls.some(({ state }) => state === 'approval-responded')
  const later = responds ? calls.filter(({ state }) => state === 'approval-requested') : []
  return calls.length > 0 && ends.length + later.length === calls.length
}
