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
  if (part['type'] === 'tool-call') return [wire({ ...rest, input: inputOf(part) }) as Plain]
  const output = part['output'] as { type?: string } | undefined
  if (output?.type === undefined) return [wire(rest) as Plain]
  const failed = failures.includes(output.type)
  return [{ ...(wire(rest) as Plain), output: failed ? 'failed' : told(wire(output)) }]
}

/** What could not be read as an input is told as nothing by one way, as its text by the other. */
function inputOf({ input }: Plain): unknown {
  return typeof input === 'object' && input !== null ? input : {}
}

/** A text is a text, also one that was an address until it was sent to a browser. */
function told(output: unknown): unknown {
  const { type, value } = output as { type?: unknown; value?: unknown }
  return type === 'json' && typeof value === 'string' ? { type: 'text', value } : output
}

/** Values that JSON has no words for, as they are once they have been sent to a browser. */
function wire(plain: unknown): unknown {
  if (typeof plain !== 'object' || plain === null) return plain
  if (Array.isArray(plain)) return plain.map(wire)
  const { $counterfoil: kind, value } = plain as { $counterfoil?: unknown; value?: unknown }
  if (kind === 'date' || kind === 'url') return value
  if (kind === 'number') return null
  if (kind === 'bytes') return value === '' ? {} : { bytes: value }
  const bytes = bytesIn(plain)
  if (bytes) return { bytes: bytes.toString('base64') }
  return Object.fromEntries(Object.entries(plain).map(([key, item]) => [key, wire(item)]))
}

/** Bytes are an object with a number for each of them, or what a Buffer says of itself. */
function bytesIn(plain: object): Buffer | null {
  const { type, data } = plain as { type?: unknown; data?: unknown }
  const own = type === 'Buffer' && Array.isArray(data) && Object.keys(plain).length === 2
  const entries = Object.entries(own ? (data as object) : plain)
  const isByte = (item: unknown) =>
    Number.isInteger(item) && Number(item) >= 0 && Number(item) < 256
  const all = entries.every(([key, item], n) => key === String(n) && isByte(item))
  if (!all || (entries.length === 0 && !own)) return null
  return entries.length === 0 ? null : Buffer.from(entries.map(([, item]) => Number(item)))
}
