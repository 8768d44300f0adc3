// State as a run keeps it: plain data, deep-frozen, exactly as JSON would give it back, order of
// keys included. A part is copied and checked once in its life: what was absorbed before is shared,
// so a step costs what it changed and not what there is.

import { type CounterfoilError, errorFor } from '../errors.ts'
import { type Frame, isWellFormed, Walk } from '../json/canonical.ts'
import { isPlain } from '../json/plain.ts'

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
export function absorb<T>(value: T, path = '$', depthMax?: number): T {
  const walk = new Walk(path, depthMax)
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
export function mergePatch(state: unknown, patch: unknown, depthMax?: number): unknown {
  const before = absorb(state)
  if (patch === undefined) return before
  if (!isRecord(before)) throw notAnObject('the state', 'give the graph an object as its state')
  const grown = isRecord(patch) ? withGrown(before, patch) : patch
  const changes = absorb(grown, '$', depthMax)
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

/** The patch with lists that only grew taken over at once: the long part of them is known. */
function withGrown(
  before: Record<string, unknown>,
  patch: Record<string, unknown>,
): Record<string, unknown> {
  if (!isPlain(patch)) return patch
  let known: Record<string, unknown> | null = null
  for (const key of Object.keys(patch)) {
    const list = Object.hasOwn(before, key) ? grown(before[key], patch[key]) : null
    if (list === null) continue
    known ??= { ...patch }
    put(known, key, list)
  }
  return known ?? patch
}

/** A list that begins with all members of an absorbed one, absorbed; else null. */
function grown(before: unknown, after: unknown): readonly unknown[] | null {
  if (!Array.isArray(before) || !Array.isArray(after) || before.length < grownMin) return null
  if (after.length < before.length || weights.has(after) || !isPlain(after)) return null
  for (let i = 0; i < before.length; i++) if (after[i] !== before[i]) return null
  // Holes, named members and the like are refused where all members are looked at.
  if (Reflect.ownKeys(after).length !== after.length + 1) return null
  const tail = absorb(after.slice(before.length))
  const list = before.concat(tail)
  weights.set(list, weightOf(before) + (tail.length === 0 ? 0 : weightOf(tail) - 1))
  return Object.freeze(list)
}

// Shorter lists are absorbed as quickly as they are compared.
const grownMin = 16

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

/** Whether two values have the same members, as far as their own enumerable ones tell. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  const rest: unknown[] = [a, b]
  while (rest.length > 0) {
    const y = rest.pop()
    const x = rest.pop()
    if (!isObject(x) || !isObject(y)) return false
    if (Object.getPrototypeOf(x) !== Object.getPrototypeOf(y)) return false
    if (Array.isArray(x) ? !alikeLists(x, y as unknown[], rest) : !alike(x, y, rest)) return false
  }
  return true
}

// Both without a list of keys: this is done for every member of every list that a patch touches.
function alikeLists(x: readonly unknown[], y: readonly unknown[], rest: unknown[]): boolean {
  if (x.length !== y.length) return false
  for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) rest.push(x[i], y[i])
  return true
}

function alike(x: object, y: object, rest: unknown[]): boolean {
  const [a, b] = [x as Record<string, unknown>, y as Record<string, unknown>]
  let more = 0
  for (const key in a) {
    more++
    if (a[key] === b[key]) continue
    if (!Object.hasOwn(b, key)) return false
    rest.push(a[key], b[key])
  }
  for (const _ in b) more--
  return more === 0
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
  return errorFor(
    'STATE_INVALID',
    `${what} is not an object, so its keys cannot be changed: ${remedy}`,
  )
}
