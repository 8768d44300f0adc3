// State as a run keeps it: plain data, deep-frozen, exactly as JSON would give it back, order of
// keys included. A part is copied and checked once in its life: what was absorbed before is shared,
// so a step costs what it changed and not what there is.
import { type Frame, isWellFormed, Walk } from './canonical.ts'
import { CounterfoilError } from './errors.ts'

// Every object and array that was absorbed, with its weight.
const weights = new WeakMap<object, number>()

interface Copy {
  readonly into: Record<string, unknown> | unknown[]
  weight: number
}

/**
 * The value as state keeps it. The caller's own objects are copied and never frozen; a refusal
 * names the place below `path`.
 */
export function absorb<T>(value: T, path = '$'): T {
  const walk = new Walk(path)
  const open: Copy[] = []
  let item: unknown = value
  for (;;) {
    let done: unknown
    if (isObject(item) && !weights.has(item)) {
      walk.enter(item)
      open.push({ into: Array.isArray(item) ? [] : {}, weight: 2 })
    } else done = isObject(item) ? item : scalar(walk, item)
    for (;;) {
      const { top } = walk
      if (top === undefined) return done as T
      if (done !== undefined) add(open.at(-1) as Copy, top, done)
      if (walk.advance(top)) {
        item = top.item
        break
      }
      walk.leave(top)
      done = seal(open.pop() as Copy)
    }
  }
}

/**
 * About the bytes of the canonical text, at once: escapes in strings, and the further bytes of
 * their characters beyond ASCII, are left out. All else is exact, so it is never more than that.
 */
export function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (isObject(value)) return weights.get(value) ?? weightOf(absorb(value))
  return String(value).length
}

/**
 * The state after `ctx.go(node, patch)`: merged shallowly, and a key set to undefined is removed.
 * It is the same object if nothing changed.
 */
export function mergePatch(state: unknown, patch: unknown): unknown {
  const before = absorb(state)
  if (patch === undefined) return before
  if (!isRecord(before)) throw notAnObject('the state', 'give the graph an object as its state')
  const changes = absorb(patch)
  if (!isRecord(changes) || !isObject(patch)) {
    throw notAnObject('the patch', 'give ctx.go(node, patch) an object of the keys that change')
  }
  const gone = Object.keys(patch).filter((key) => !Object.hasOwn(changes, key))
  const unchanged =
    gone.every((key) => !Object.hasOwn(before, key)) &&
    Object.keys(changes).every((key) => Object.hasOwn(before, key) && before[key] === changes[key])
  if (unchanged) return before
  const after = { ...before, ...changes }
  for (const key of gone) delete after[key]
  return absorb(after)
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** An object that is no array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value)
}

/** Sets a property whatever its key: `__proto__` is one like any other. */
export function put(into: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') into[key] = value
  else {
    const property = { value, writable: true, enumerable: true, configurable: true }
    Object.defineProperty(into, key, property)
  }
}

// Well-formedness is looked at before anything else is done with a string: for most strings that
// takes no time at all, and a list may hold many that were seen before.
function scalar(walk: Walk, value: unknown): unknown {
  const known = typeof value === 'string' ? isWellFormed(value) : Number.isFinite(value)
  if (!known) walk.scalar(value)
  return value === 0 ? 0 : value
}

function add(copy: Copy, frame: Frame, member: unknown): void {
  const { lead } = frame
  if (Array.isArray(copy.into)) copy.into.push(member)
  else put(copy.into, frame.keys?.[frame.at] as string, member)
  const ascii = lead.length < 2 || !/[\u0080-\uffff]/.test(lead)
  copy.weight += (ascii ? lead.length : Buffer.byteLength(lead)) + weightOf(member)
}

function seal(copy: Copy): unknown {
  weights.set(copy.into, copy.weight)
  return Object.freeze(copy.into)
}

function notAnObject(what: string, remedy: string): CounterfoilError {
  return new CounterfoilError(
    'STATE_INVALID',
    `${what} is not an object, so that keys of it cannot be changed: ${remedy}`,
  )
}
