// Metadata and the writes of tasks, in their envelopes. Neither is a change to an earlier one; a
// write may be said as a change to the channels of its own step, with which it comes and goes.
import type {
  CheckpointMetadata,
  CheckpointPendingWrite,
  SerializerProtocol,
} from '@langchain/langgraph-checkpoint'
import type { Threads, ThreadWrite } from '../../../index.ts'
import { isCounterfoilError } from '../../../model/errors.ts'
import { canonical } from '../../../model/json/canonical.ts'
import { absorb, weightOf } from '../../../model/run/state.ts'
import { documentAt, nameOf, type Row, readChain, type Step } from './chain.ts'
import { bytesOf, decode, encode, Shapes } from './codec.ts'
import { relatable } from './document.ts'
import { open, reading, seal } from './envelope.ts'
import { relate, restore } from './relate.ts'

/** Shorter texts are kept as they are. */
const relatedLengthMin = 1_024

/** A value as the host's serialisation wrote it. */
export interface Dump {
  readonly type: string
  /** JSON, or base64. */
  readonly text: string
}

export async function dump(serde: SerializerProtocol, value: unknown): Promise<Dump> {
  const [type, bytes] = await serde.dumpsTyped(value)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { type, text: buffer.toString(type === 'json' ? 'utf8' : 'base64') }
}

/** Whether it may hold so much of its step that this is worth looking up. */
export function isLong({ type, text }: Dump): boolean {
  return type === 'json' && text.length >= relatedLengthMin
}

export function sealValue({ type, text }: Dump): string {
  const value = type === 'json' ? `"json":${text}` : `"base64":${JSON.stringify(text)}`
  return seal(`{"type":${JSON.stringify(type)},${value}}`).text
}

/** The same, as a change to the step if that is shorter. */
export function sealWrite(value: Dump, channel: string, step: Step | null): string {
  if (step === null || !isLong(value)) return sealValue(value)
  const { document, link } = step
  const shapes = new Shapes(document.shapes)
  const given = absorb(encode(JSON.parse(value.text), shapes))
  const related = relate(given, relatable(document), channel)
  if (weightOf(related) >= weightOf(given)) return sealValue(value)
  const more = shapes.list.slice(document.shapes.length)
  return seal(canonical({ on: link, shapes: more, value: related })).text
}

export async function openValue(
  serde: SerializerProtocol,
  text: string,
  what: string,
  step: Step | null = null,
): Promise<unknown> {
  const { body } = open(text, what)
  const { type, on } = body
  if (on !== undefined) {
    const json = reading(what, () => {
      const document = documentAt(step, on)
      const shapes = [...document.shapes, ...(body['shapes'] as string[][])]
      return JSON.stringify(decode(restore(body['value'], relatable(document)), shapes))
    })
    return serde.loadsTyped('json', json)
  }
  const isJson = type === 'json'
  const bytes = isJson ? JSON.stringify(body['json']) : bytesOf(String(body['base64']))
  return serde.loadsTyped(String(type), bytes)
}

export function openMetadata(serde: SerializerProtocol, row: Row): Promise<CheckpointMetadata> {
  const what = `the metadata of ${nameOf(row)}`
  return openValue(serde, row.noteJson, what) as Promise<CheckpointMetadata>
}

/**
 * Of a step that may have been read before the write was: somebody has put the step once more
 * since, and written to that.
 */
export async function openWrite(
  threads: Threads,
  serde: SerializerProtocol,
  write: ThreadWrite,
  step: Step | null,
): Promise<CheckpointPendingWrite> {
  const { threadId, space, stepId, taskId, channel, bodyJson } = write
  const what = `the write to ${channel} of ${nameOf(write)}`
  try {
    return [taskId, channel, await openValue(serde, bodyJson, what, step)]
  } catch (error) {
    if (!isCounterfoilError(error, 'THREAD_DAMAGED')) throw error
    const now = readChain(await threads.loadSteps({ threadId, space }, stepId)).at(-1) ?? null
    if (now === null || now.link === step?.link) throw error
    return [taskId, channel, await openValue(serde, bodyJson, what, now)]
  }
}
