// What the ledger keeps of a host's values, and back. Plain JSON is kept as it is, so that people
// can read it, and type it when they say what happened. Anything else (messages, commands, an order
// of keys, half of a character) is kept in an envelope with a version, as LangGraph's own
// serialisation writes it.
import { Command, Send } from '@langchain/langgraph'
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint'
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import { wellFormed } from '../../../model/json/canonical.ts'
import { isRecord } from '../../../model/run/state.ts'
import { decode, encode, Shapes } from '../saver/codec.ts'
import { dump } from '../saver/write.ts'

const mark = 'counterfoil/langgraph'
const version = 1
/** What only the host's serialisation can bring back. */
const special = /"(lc|lg_name|counterfoil\/langgraph)":/

export async function toPlain(serde: SerializerProtocol, value: unknown): Promise<unknown> {
  if (value === undefined) return undefined
  const { type, text } = await dump(serde, named(value))
  if (type !== 'json') return { [mark]: version, type, base64: text }
  const shapes = new Shapes()
  const json: unknown = JSON.parse(text)
  const plain = encode(json, shapes)
  const isPlain = shapes.list.length === 0 && !special.test(text) && !marked.test(text)
  return isPlain ? plain : { [mark]: version, value: plain, shapes: shapes.list }
}

// What `encode` marks; rare enough that a needless envelope does no harm.
const marked = /[\uFDD0-\uFDD2]|\\u[dD][89a-fA-F]/

/**
 * An input, for the ledger, for people and for a tool's own functions: JSON without any envelope.
 * The order of its keys tells nothing.
 */
export async function toInput(serde: SerializerProtocol, value: unknown): Promise<unknown> {
  if (value === undefined) return undefined
  const { type, text } = await dump(serde, named(value))
  return type === 'json' ? whole(JSON.parse(text)) : { type, base64: text }
}

/** An input that a person has edited, as the host's code takes it. */
export async function fromInput(serde: SerializerProtocol, plain: unknown): Promise<unknown> {
  return plain === undefined
    ? undefined
    : revived(await serde.loadsTyped('json', JSON.stringify(plain)))
}

/** Without halves of characters, which the ledger does not take. */
function whole(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value)
  if (Array.isArray(value)) return value.map(whole)
  if (!isRecord(value)) return value
  const entries = Object.entries(value).map(([key, item]) => [wellFormed(key), whole(item)])
  return Object.fromEntries(entries)
}

/** What `toPlain` was given; what a person has typed comes as it is. */
export async function fromPlain(serde: SerializerProtocol, plain: unknown): Promise<unknown> {
  if (!isRecord(plain) || !Object.hasOwn(plain, mark)) return plain
  const { [mark]: written, value, shapes, type, base64 } = plain
  if (written !== version) throw newer(written)
  if (typeof base64 === 'string') {
    return serde.loadsTyped(String(type), new Uint8Array(Buffer.from(base64, 'base64')))
  }
  const json = decode(value, shapes as string[][])
  return revived(await serde.loadsTyped('json', JSON.stringify(json)))
}

/**
 * One record that answers several calls: each of them with messages of its own. `from`: the call
 * whose messages they are; null for whichever it was.
 */
export function readdressed(plain: unknown, from: string | null, to: string): unknown {
  if (Array.isArray(plain)) return plain.map((item) => readdressed(item, from, to))
  if (!isRecord(plain)) return plain
  const entries = Object.entries(plain).map(([key, item]) => [key, readdressed(item, from, to)])
  const copy = Object.fromEntries(entries) as Record<string, unknown>
  const was = copy['tool_call_id']
  if (was === to || (from === null ? typeof was !== 'string' : was !== from)) return copy
  const id = typeof copy['id'] === 'string' ? { id: `${copy['id']}-${to}` } : {}
  return { ...copy, ...id, tool_call_id: to }
}

/** Commands and sends lose their names, and a command its graph, when they are serialised. */
function named(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(named)
  if (typeof value !== 'object' || value === null) return value
  if (isNamed(value, 'Command')) {
    const { graph, update, resume, goto } = value as Command
    return { lg_name: 'Command', ...defined({ graph, resume }), ...each({ update, goto }) }
  }
  if (isNamed(value, 'Send')) {
    const { node, args } = value as unknown as Send
    return { lg_name: 'Send', node, args: named(args) }
  }
  return isRecord(value) && isBare(value) ? each(value) : value
}

function revived(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revived)
  if (!isRecord(value) || !isBare(value)) return value
  const entries = Object.entries(value).map(([key, item]) => [key, revived(item)])
  const fields = Object.fromEntries(entries) as Record<string, unknown>
  const { lg_name: name, ...rest } = fields
  if (name === 'Command') return new Command(rest as never)
  if (name === 'Send') return new Send(fields['node'] as string, fields['args'])
  return fields
}

function each(value: object): Record<string, unknown> {
  const entries = Object.entries(defined(value)).map(([key, item]) => [key, named(item)])
  return Object.fromEntries(entries) as Record<string, unknown>
}

function defined(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined))
}

function isNamed(value: object, name: string): boolean {
  return (value as { lg_name?: unknown }).lg_name === name
}

function isBare(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function newer(written: unknown): CounterfoilError {
  const form = { name: 'form', version: written, known: version }
  return errorFor('THREAD_NEWER', 'a recorded value', form, 'sent')
}
