// A model's reply as it lies in the ledger: a versioned envelope around what the provider said,
// without the request (it grows with every step, and has the prompt in it) and without headers
// (they may have secrets in them).

import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { canonical } from '../../model/json/canonical.ts'
import type { Schema } from '../../model/tool/schema.ts'
import type { Usage } from '../../model/tool/tool.ts'
import { fromPlain, toPlain } from './codec.ts'

/** One part of a reply, or of its stream; only what is looked at here. */
export interface Part {
  readonly type: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly input?: unknown
  readonly providerExecuted?: boolean
  readonly providerMetadata?: Record<string, unknown>
  readonly id?: string
  readonly delta?: string
  readonly text?: string
  readonly error?: unknown
  readonly finishReason?: unknown
}

/** What doGenerate answers with, as far as it is recorded. */
export interface Generated {
  readonly content: readonly Part[]
  readonly finishReason?: unknown
  readonly providerMetadata?: Record<string, unknown>
  readonly response?: Record<string, unknown>
  readonly [key: string]: unknown
}

/** Which reply of its turn it is. */
export interface ReplyPlace {
  readonly generation: number
  readonly reply: number
}

export type Envelope = { readonly v: 1; readonly turn?: ReplyPlace } & (
  | { readonly generated: unknown }
  | { readonly parts: readonly unknown[] }
)

export function packGenerated(result: Generated): Envelope {
  const { request: _, response, ...said } = result
  const { headers: _headers, body: _body, ...metadata } = response ?? {}
  return { v: 1, generated: toPlain({ ...said, ...(response ? { response: metadata } : {}) }) }
}

/** Deltas come by the word: those of one text are kept as one row of words. */
export function packParts(parts: readonly Part[]): Envelope {
  const rows: unknown[] = []
  let run: { type: string; id: string; deltas: string[] } | null = null
  for (const part of parts) {
    const { type, id, delta, ...rest } = part
    const bare = id !== undefined && delta !== undefined && Object.keys(rest).length === 0
    if (bare && run !== null && run.type === type && run.id === id) {
      run.deltas.push(delta)
      continue
    }
    run = bare ? { type, id, deltas: [delta] } : null
    rows.push(run ?? part)
  }
  return { v: 1, parts: rows.map(toPlain) }
}

export function generatedOf(envelope: Envelope): Generated {
  if ('generated' in envelope) return fromPlain(envelope.generated) as Generated
  throw unreadable('the record is a stream')
}

export function partsOf(envelope: Envelope): Part[] {
  if (!('parts' in envelope)) throw unreadable('the record is not a stream')
  return envelope.parts.flatMap((row) => {
    const part = fromPlain(row) as Part & { deltas?: string[] }
    if (part.deltas === undefined) return [part]
    const { type, id, deltas } = part
    return deltas.map((delta) => ({ type, id, delta }) as Part)
  })
}

function unreadable(why: string): CounterfoilError {
  return errorFor('REPLY_INVALID', why)
}

/** Also a person's word about a call of which nobody knew the outcome: the text of the reply. */
export const envelopeSchema: Schema = {
  '~standard': {
    version: 1,
    vendor: 'counterfoil',
    validate: (value) => {
      const { v } = (value ?? {}) as { v?: unknown }
      if (v === 1 || (typeof value === 'string' && value !== '')) return { value }
      return { issues: [{ message: 'must be the text of the reply, or a recorded reply' }] }
    },
  },
}

/** The envelope that was recorded, or one made of a person's text. */
export function envelopeOf(value: unknown, model: { mode: string; version: string }): Envelope {
  if (typeof value !== 'string') return value as Envelope
  const end = {
    finishReason: model.version === 'v2' ? 'stop' : { unified: 'stop', raw: undefined },
    usage: model.version === 'v2' ? {} : { inputTokens: {}, outputTokens: {} },
  }
  if (model.mode === 'generate') {
    return packGenerated({ content: [{ type: 'text', text: value } as Part], ...end, warnings: [] })
  }
  const id = 'decided'
  return packParts([
    { type: 'stream-start', warnings: [] } as Part,
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: value },
    { type: 'text-end', id },
    { type: 'finish', ...end } as Part,
  ])
}

function contentOf(envelope: Envelope): readonly Part[] {
  return 'parts' in envelope ? partsOf(envelope) : generatedOf(envelope).content
}

/** The calls that a reply asks its host for, with inputs as they are made. */
export function repliedCalls(envelope: Envelope): ToolCall[] {
  return toolCallsOf(contentOf(envelope)).map((call) => ({ ...call, input: parsed(call.input) }))
}

export function repliedText(envelope: Envelope): string {
  return contentOf(envelope)
    .map(({ type, text, delta }) => (type === 'text' ? text : type === 'text-delta' ? delta : ''))
    .join('')
}

/** The AI SDK makes the calls of such replies only. */
const wholeEnds: readonly unknown[] = ['stop', 'tool-calls']

/**
 * It did not end as a reply does: by an error, without an end, or (by its length, by a filter) in
 * the middle of what it asks for. Its calls are not made, and a retry asks the model anew.
 */
export function isBroken(envelope: Envelope): boolean {
  const content = contentOf(envelope)
  const asks = toolCallsOf(content).length > 0
  if (!('parts' in envelope)) return isCutBy(generatedOf(envelope), asks)
  const finish = content.findLast(({ type }) => type === 'finish')
  if (finish === undefined || content.some(({ type }) => type === 'error')) return true
  return isCutBy(finish, asks)
}

function isCutBy({ finishReason }: { readonly finishReason?: unknown }, asks: boolean): boolean {
  const { unified = finishReason } = Object(finishReason) as { unified?: unknown }
  return unified === 'error' || (asks && !wholeEnds.includes(unified))
}

export function usageOf(envelope: unknown): Usage {
  const { generated, parts } = envelope as { generated?: unknown; parts?: readonly unknown[] }
  const finish = parts?.findLast((part) => (part as Part).type === 'finish')
  const { usage } = (generated ?? finish ?? {}) as { usage?: Record<string, unknown> }
  const [tokensIn, tokensOut] = [tokens(usage?.['inputTokens']), tokens(usage?.['outputTokens'])]
  return {
    ...(tokensIn === null ? {} : { tokensIn }),
    ...(tokensOut === null ? {} : { tokensOut }),
  }
}

/** A number, or the total among its kinds. */
function tokens(said: unknown): number | null {
  const total = typeof said === 'object' ? (said as { total?: unknown } | null)?.total : said
  return typeof total === 'number' ? total : null
}

export interface ToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
}

/** The calls of one reply that the host is to make. */
export function toolCallsOf(content: readonly Part[]): ToolCall[] {
  return content.flatMap(({ type, toolCallId, toolName, input, providerExecuted }) => {
    const ours = type === 'tool-call' && providerExecuted !== true
    if (!ours || toolCallId === undefined || toolName === undefined) return []
    return [{ toolCallId, toolName, input }]
  })
}

/** Calls of one reply that ask for the same, by the first of them. */
export interface Twins {
  readonly leader: string
  readonly ids: readonly string[]
}

/** Those that are alone have none. */
export function twinsIn(calls: readonly ToolCall[]): Map<string, Twins> {
  const groups = new Map<string, string[]>()
  for (const { toolCallId, toolName, input } of calls) {
    const key = canonical([toolName, toPlain(parsed(input)) ?? null])
    groups.set(key, [...(groups.get(key) ?? []), toolCallId])
  }
  const twins = [...groups.values()].filter((ids) => ids.length > 1)
  return new Map(
    twins.flatMap((ids) => {
      const group = { leader: ids[0] as string, ids }
      return ids.map((id) => [id, group] as const)
    }),
  )
}

/** Providers hand inputs over as text. */
function parsed(input: unknown): unknown {
  if (typeof input !== 'string') return input
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
