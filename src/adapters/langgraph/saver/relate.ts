// Values that repeat the state of their step. A `Send` carries its whole input, mostly all messages
// of the thread, once for each tool call; what of it is in the channels anyway is said as a change
// to them, so that a thread does not hold its messages again and again.
import { applyDelta, diff } from '../../../model/run/delta.ts'
import { absorb, isObject, isRecord, put, weightOf } from '../../../model/run/state.ts'
import { relatedKey, relationIn } from './codec.ts'

type Values = Readonly<Record<string, unknown>>

// Anything lighter is not worth a look.
const weightMin = 256
// Deep enough for the arguments of a packet in a list of packets, and what a user puts around.
const depthMax = 6

/** The encoded value, absorbed, with changes to members of `values` in the place of their likes. */
export function relate(value: unknown, values: Values, key = ''): unknown {
  const known = Object.entries(values).filter(([, base]) => weightOf(base) >= weightMin)
  return known.length === 0 ? absorb(value) : absorb(visit(absorb(value), known, key, 0))
}

function visit(
  value: unknown,
  known: readonly (readonly [string, unknown])[],
  key: string,
  depth: number,
): unknown {
  if (!isObject(value) || weightOf(value) < weightMin || depth > depthMax) return value
  for (const [channel, base] of known) {
    if (channel !== key && !beginsLike(base, value)) continue
    const delta = diff(base, value)
    if (weightOf(delta) * 2 < weightOf(value)) return { [relatedKey]: [channel, delta] }
  }
  if (Array.isArray(value)) return value.map((item) => visit(item, known, '', depth + 1))
  const fields: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    put(fields, name, visit(member, known, name, depth + 1))
  }
  return fields
}

function beginsLike(base: unknown, value: object): boolean {
  if (!Array.isArray(base) || !Array.isArray(value) || !isObject(base[0])) return false
  return isObject(value[0]) && weightOf(base[0]) === weightOf(value[0])
}

/** What `relate` was given. */
export function restore(value: unknown, values: Values): unknown {
  const relation = relationIn(value)
  if (relation !== undefined) {
    const [channel, delta] = relation as [string, unknown]
    if (!Object.hasOwn(values, channel)) throw new Error(`it names a channel ${channel}`)
    return applyDelta(values[channel], delta)
  }
  if (Array.isArray(value)) return value.map((item) => restore(item, values))
  if (!isRecord(value)) return value
  const fields: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) put(fields, name, restore(member, values))
  return fields
}
