// What a call of a model is known by. The same conversation reaches the model by two ways: as the
// SDK's loop goes on, and as messages that have been to a browser and back. What those ways leave
// different, and what is of no meaning to the model, is left out.
import { canonical, sha256 } from '../../model/json/canonical.ts'
import { toPlain } from './codec.ts'

type Plain = Record<string, unknown>

/**
 * The digest of the parameters, and how many messages the prompt has. `leftOut`: calls of earlier
 * turns of which more becomes known as time goes by; a reply that is on record stays the reply.
 */
export function promptOf(
  params: { readonly prompt?: readonly unknown[] },
  leftOut: ReadonlySet<string> = new Set(),
) {
  const { prompt = [], ...settings } = toPlain(params) as { prompt?: readonly Plain[] }
  const present = prompt.findLastIndex(({ role }) => role === 'user')
  const told = prompt.map((message, n) => (n < present ? without(message, leftOut) : message))
  const messages = normalised(told)
  return { messages: messages.length, digest: sha256(canonical([wire(settings), messages])) }
}

function without(message: Plain, leftOut: ReadonlySet<string>): Plain {
  const { content } = message
  if (leftOut.size === 0 || !Array.isArray(content)) return message
  const kept = content.filter(({ toolCallId }: Plain) => !leftOut.has(String(toolCallId)))
  return { ...message, content: kept }
}

function normalised(prompt: readonly Plain[]): Plain[] {
  const messages: Plain[] = []
  for (const { role, content } of prompt) {
    const parts = Array.isArray(content) ? content.flatMap(partOf) : content
    const last = messages.at(-1)
    if (role === 'tool' && Array.isArray(parts)) {
      const before = last?.['role'] === 'tool' ? (last['content'] as Plain[]) : []
      const results = [...before, ...parts].sort(byCall)
      if (before.length > 0) messages.pop()
      if (results.length > 0) messages.push({ role, content: results })
    } else if (role !== 'assistant' || !Array.isArray(parts) || parts.length > 0) {
      messages.push({ role, content: wire(parts) })
    }
  }
  return messages
}

function byCall(a: Plain, b: Plain): number {
  const [one, two] = [String(a['toolCallId']), String(b['toolCallId'])]
  return one < two ? -1 : one > two ? 1 : 0
}

const approvals = ['tool-approval-request', 'tool-approval-response']
/** A failed or denied call is told in other words by either way. */
const failures = ['error-text', 'error-json', 'execution-denied']

function partOf(part: Plain): Plain[] {
  const { providerOptions: _, ...rest } = part
  if (approvals.includes(String(part['type']))) return []
  if (part['type'] === 'text' && part['text'] === '') return []
  const output = part['output'] as { type?: string } | undefined
  const failed = output?.type !== undefined && failures.includes(output.type)
  return [wire(failed ? { ...rest, output: 'failed' } : rest) as Plain]
}

/** Dates and addresses are texts once they have been sent to a browser. */
function wire(plain: unknown): unknown {
  if (typeof plain !== 'object' || plain === null) return plain
  if (Array.isArray(plain)) return plain.map(wire)
  const { $counterfoil: kind, value } = plain as { $counterfoil?: unknown; value?: unknown }
  if (kind === 'date' || kind === 'url') return value
  return Object.fromEntries(Object.entries(plain).map(([key, item]) => [key, wire(item)]))
}
