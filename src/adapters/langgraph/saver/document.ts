// A checkpoint of the host as plain data that can be compared with another: each channel's value
// is what the host's serialisation wrote, as JSON and not as its text.
import {
  type ChannelVersions,
  type Checkpoint,
  type SerializerProtocol,
  TASKS,
} from '@langchain/langgraph-checkpoint'
import { absorb, isObject, mergePatch } from '../../../model/run/state.ts'
import { bytesOf, decode, encode, Shapes } from './codec.ts'
import { relate, restore } from './relate.ts'

/** Absorbed: frozen, and shared with the documents before and after it. */
export interface Document {
  /** The host's own format. */
  readonly v: number
  readonly ts: string
  readonly versions: ChannelVersions
  readonly seen: Checkpoint['versions_seen']
  readonly shapes: readonly (readonly string[])[]
  /** By channel; what a `Send` repeats of the others is a change to them. */
  readonly values: Readonly<Record<string, unknown>>
  /** Values that are not JSON: their type, and their bytes in base64. */
  readonly other: Readonly<Record<string, readonly [string, string]>>
}

/** Whether a channel's value of this version was put before, and may be left out now. */
export type IsKnown = (channel: string, version: unknown) => Promise<boolean>

/**
 * The host tells in `newVersions` which channels it has changed; the others are the parent's, if
 * that has them in this version. A value that is in neither was never put, and is no part of it.
 */
export async function documentOf(
  serde: SerializerProtocol,
  checkpoint: Checkpoint,
  newVersions: ChannelVersions | undefined,
  parent: Document | null,
  isKnown: IsKnown,
): Promise<Document> {
  const shapes = new Shapes(parent?.shapes)
  const before = parent?.values ?? {}
  const texts = new Map<string, string>()
  const patch: Record<string, unknown> = {}
  const other: Record<string, readonly [string, string]> = {}
  const kept = new Set<string>()
  for (const [channel, value] of Object.entries(checkpoint.channel_values)) {
    const version = checkpoint.channel_versions[channel]
    // One that nobody has written to has its first value, and no version to know that by.
    const isNew =
      newVersions === undefined || version === undefined || Object.hasOwn(newVersions, channel)
    if (!isNew && parent !== null && parent.versions[channel] === version && has(parent, channel)) {
      kept.add(channel)
      const old = parent.other[channel]
      if (old !== undefined) other[channel] = old
    } else if (isNew || (await isKnown(channel, version))) {
      const [type, bytes] = await serde.dumpsTyped(value)
      if (type === 'json') texts.set(channel, new TextDecoder().decode(bytes))
      else other[channel] = [type, Buffer.from(bytes).toString('base64')]
    }
  }
  for (const [channel, text] of texts) {
    patch[channel] = encodedOf(before[channel], text, shapes)
  }
  for (const channel of Object.keys(before)) {
    if (!kept.has(channel) && !texts.has(channel)) patch[channel] = undefined
  }
  const merged = mergePatch(before, withoutTasks(patch)) as Values
  const values = related(merged, patch[TASKS], kept.has(TASKS) ? before : null)
  for (const [channel, text] of texts) remember(values[channel], text)
  const { v, ts, channel_versions: versions, versions_seen: seen } = checkpoint
  return absorb({ v, ts, versions, seen, shapes: shapes.list, values, other })
}

export function has({ values, other }: Document, channel: string): boolean {
  return Object.hasOwn(values, channel) || Object.hasOwn(other, channel)
}

type Values = Record<string, unknown>

function withoutTasks(values: Readonly<Values>): Values {
  if (!Object.hasOwn(values, TASKS)) return values
  const { [TASKS]: _, ...others } = values
  return others
}

// The packets last, when what they repeat is known. Those of the parent may be said by what is
// another value now.
function related(all: Values, fresh: unknown, old: Document['values'] | null): Document['values'] {
  const others = withoutTasks(all)
  const packets = old === null ? fresh : restore(old[TASKS], withoutTasks(old))
  return packets === undefined
    ? absorb(others)
    : absorb({ ...others, [TASKS]: relate(packets, others) })
}

// The text of a list as it was put last by this process: a list that only grew is known to have
// done so without looking at its members.
const textOf = new WeakMap<object, string>()
const textLengthMin = 4_096

function remember(value: unknown, text: string): void {
  if (Array.isArray(value) && text.length >= textLengthMin) textOf.set(value, text)
}

function encodedOf(before: unknown, text: string, shapes: Shapes): unknown {
  const known = isObject(before) ? textOf.get(before) : undefined
  if (known !== undefined && Array.isArray(before)) {
    if (known === text) return before
    const end = known.length - 1
    if (text[end] === ',' && text.slice(0, end) === known.slice(0, end)) {
      const tail = JSON.parse(`[${text.slice(end + 1)}`) as unknown[]
      return before.concat(encode(tail, shapes))
    }
  }
  return encode(JSON.parse(text), shapes)
}

/** As the host gave it. */
export async function checkpointOf(
  serde: SerializerProtocol,
  document: Document,
  id: string,
): Promise<Checkpoint> {
  const { v, ts, versions, seen } = document
  const channels = [...Object.keys(document.values), ...Object.keys(document.other)]
  const values: Values = {}
  for (const channel of channels) values[channel] = await channelOf(serde, document, channel)
  return {
    v,
    id,
    ts,
    channel_values: values,
    channel_versions: { ...versions },
    versions_seen: structuredClone(seen),
  }
}

export async function channelOf(
  serde: SerializerProtocol,
  { values, other, shapes }: Document,
  channel: string,
): Promise<unknown> {
  const packed = other[channel]
  if (packed !== undefined) return serde.loadsTyped(packed[0], bytesOf(packed[1]))
  const value = values[channel]
  const encoded = channel === TASKS ? restore(value, withoutTasks(values)) : value
  return serde.loadsTyped('json', JSON.stringify(decode(encoded, shapes)))
}

/** What of a step a value may be said by. */
export function relatable({ values }: Document): Document['values'] {
  return withoutTasks(values)
}
