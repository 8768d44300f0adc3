// The messages of a request of `useChat`, as its transport sends them, and what may be wrong with
// them.

import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import { decodeUtf8, readBytes } from '../../../model/json/body.ts'
import { canonical } from '../../../model/json/canonical.ts'
import type { UiMessage } from '../past.ts'
import type { UiPart } from './parts.ts'

/** The body that `useChat` sends. */
export interface ChatBody {
  readonly id: string
  readonly messages: readonly UiMessage[]
  readonly trigger: string
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
