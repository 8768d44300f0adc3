// What changed between two states, as plain JSON, found by structural comparison. The forms cannot
// be mistaken for one another, because values of the user stand only where a form says so:
//
//   [value]          replace
//   "tail"           append to a string
//   { key: delta }   change an object, key by key; 0 removes one
//   [n, …]           edit an array: keep its first n members, and then
//                    n > 0: keep n   n < 0: remove -n   [a, b]: insert   0, delta: change the next
//
// An edit has two entries or more, so it is no replace; what it leaves over of the array stays.
// Nothing here recurses on the stack: state may nest as deep as canonical JSON may.
import { errorFor } from '../errors.ts'
import { segment } from '../json/plain.ts'
import { absorb, isObject, isRecord, put, weightOf } from './state.ts'

export type Delta = string | readonly unknown[] | { readonly [key: string]: Delta | 0 }

type List = readonly unknown[]
type Fields = Readonly<Record<string, unknown>>

/** Null if nothing changed. What is identical by reference is not looked into. */
export function diff(before: unknown, after: unknown): Delta | null {
  const [a, b] = [absorb(before), absorb(after)]
  const found = atOnce(a, b)
  return found === undefined ? run(compare(a as object, b as object)) : found
}

/** The state that `diff` was made from, with its changes; shares whatever did not change. */
export function applyDelta(before: unknown, delta: unknown): unknown {
  return absorb(patched(absorb(before), absorb(delta)))
}

/**
 * The same for one delta of many: what is not frozen is taken to be of an earlier delta and changed
 * in place, so that a chain costs its own length and not that times the state.
 */
export function patched(before: unknown, delta: unknown): unknown {
  return delta === null ? before : run(change(before, delta))
}

/**
 * What a delta adds to the weight of its chain: what it only inserts counts as what it adds to the
 * state, anything else with its place.
 */
export function costOf(delta: unknown): number {
  if (delta === null) return weightOf(null)
  let cost = 0
  const rest: unknown[] = [delta]
  while (rest.length > 0) {
    const item = rest.pop()
    if (typeof item === 'string') cost += item.length
    else if (isReplace(item)) cost += weightOf(item)
    else if (Array.isArray(item)) {
      for (let i = 1; i < item.length; i++) {
        const edit: unknown = item[i]
        if (edit === 0) rest.push(item[++i])
        else if (Array.isArray(edit)) cost += weightOf(edit) - 1
        else if (Number(edit) < 0) cost += weightOf(edit)
      }
    } else {
      for (const [key, member] of Object.entries(item as Fields)) {
        if (member === 0 || isReplace(member)) cost += key.length + 4
        if (member !== 0) rest.push(member)
      }
    }
  }
  return cost
}

interface Steps<T> extends Generator<Steps<T>, T, T> {}

// A recursion with its stack on the heap: what a generator yields is run, and it gets the answer.
function run<T>(first: Steps<T>): T {
  const open = [first]
  let answer: T | undefined
  for (;;) {
    const step = (open.at(-1) as Steps<T>).next(answer as T)
    if (step.done !== true) open.push(step.value)
    else {
      open.pop()
      if (open.length === 0) return step.value
    }
    answer = step.done === true ? step.value : undefined
  }
}

// Undefined if the two have to be compared member by member.
function atOnce(a: unknown, b: unknown): Delta | null | undefined {
  if (a === b) return null
  // Not startsWith, which looks at one character after the other and is 30 times slower.
  if (typeof a === 'string' && typeof b === 'string' && b.slice(0, a.length) === a) {
    return b.slice(a.length)
  }
  if (isObject(a) && isObject(b) && Array.isArray(a) === Array.isArray(b)) return undefined
  return absorb([b])
}

function compare(a: object, b: object): Steps<Delta | null> {
  return Array.isArray(a) ? compareLists(a, b as List) : compareFields(a as Fields, b as Fields)
}

function* compareFields(a: Fields, b: Fields): Steps<Delta | null> {
  const changes: Record<string, unknown> = {}
  for (const key of Object.keys(b)) {
    const [x, y] = [a[key], b[key]]
    let found = Object.hasOwn(a, key) ? atOnce(x, y) : absorb([y])
    if (found === undefined) found = yield compare(x as object, y as object)
    if (found !== null) put(changes, key, found)
  }
  for (const key of Object.keys(a)) if (!Object.hasOwn(b, key)) put(changes, key, 0)
  return Object.keys(changes).length === 0 ? null : shorter(changes, b)
}

// The delta with the shorter text. Weights leave out only what is in strings, and the strings of
// the changes are among those of the whole.
function shorter(changes: unknown, after: unknown): Delta {
  const delta = absorb(changes) as Delta
  return weightOf(delta) <= weightOf(after) + 2 ? delta : absorb([after])
}

function* compareLists(a: List, b: List): Steps<Delta | null> {
  const sizeMin = Math.min(a.length, b.length)
  let start = 0
  let first: Delta | null = null
  // Most lists share a long beginning, member by member.
  while (start < sizeMin && a[start] === b[start]) start++
  for (; start < sizeMin; start++) {
    let found = atOnce(a[start], b[start])
    if (found === undefined) found = yield compare(a[start] as object, b[start] as object)
    first = found
    if (found !== null) break
  }
  if (start === a.length && start === b.length) return null
  // In lists of one length the member at `start` is known to differ.
  const room = sizeMin - start - (a.length === b.length ? 1 : 0)
  let end = 0
  while (end < room && same(a.at(-1 - end), b.at(-1 - end))) end++
  const edits = new Edits(start)
  const old = a.slice(start, a.length - end)
  const now = b.slice(start, b.length - end)
  if (align(edits, old, now)) return shorter(edits.end(), b)
  for (const [i, item] of now.entries()) {
    if (i >= old.length) edits.insert(item)
    else {
      let found = i === 0 ? first : atOnce(old[i], item)
      if (found === undefined) found = yield compare(old[i] as object, item as object)
      edits.change(found, item)
    }
  }
  edits.remove(Math.max(0, old.length - now.length))
  return shorter(edits.end(), b)
}

// Lists that lost members (a window that slides, a filter) or got some (a new first one), and grew
// or shrank at their end. False if their beginnings have nothing in common.
function align(edits: Edits, old: List, now: List): boolean {
  const kept = found(old, now)
  const places = found(now, old)
  if (kept.length === 0 && places.length === 0) return false
  let at = 0
  if (kept.length >= places.length) {
    for (const place of kept) {
      edits.remove(place - at)
      edits.keep(1)
      at = place + 1
    }
    edits.remove(old.length - at)
    for (const item of now.slice(kept.length)) edits.insert(item)
    return true
  }
  for (const place of places) {
    for (const item of now.slice(at, place)) edits.insert(item)
    edits.keep(1)
    at = place + 1
  }
  for (const item of now.slice(at)) edits.insert(item)
  edits.remove(old.length - places.length)
  return true
}

// Where in `all` the members of `some` stand, one after the other, up to the first that is missing.
// That the first two differ is known: to find it once more at every level would take for ever.
function found(all: List, some: List): number[] {
  const places: number[] = []
  let at = 1
  for (const item of some) {
    while (at < all.length && !same(all[at], item)) at++
    if (at >= all.length) break
    places.push(at++)
  }
  return places
}

// Equal as JSON. Different weights settle it at once, nearly always.
function same(a: unknown, b: unknown): boolean {
  const rest = [a, b]
  while (rest.length > 0) {
    const y = rest.pop()
    const x = rest.pop()
    if (x === y) continue
    if (!isObject(x) || !isObject(y) || weightOf(x) !== weightOf(y)) return false
    if (Array.isArray(x) && Array.isArray(y)) {
      if (x.length !== y.length) return false
      for (const [i, item] of x.entries()) rest.push(item, y[i])
    } else {
      const keys = Object.keys(x)
      if (!isRecord(x) || !isRecord(y) || keys.length !== Object.keys(y).length) return false
      if (!keys.every((key) => Object.hasOwn(y, key))) return false
      for (const key of keys) rest.push(x[key], y[key])
    }
  }
  return true
}

// The edits of an array, in their shortest form.
class Edits {
  readonly #list: unknown[] = []
  #kept: number
  #removed = 0
  #items: unknown[] = []

  constructor(kept: number) {
    this.#kept = kept
  }

  keep(count: number): void {
    this.#flush()
    this.#kept += count
  }

  remove(count: number): void {
    this.#removed += count
  }

  insert(item: unknown): void {
    this.#items.push(item)
  }

  /** The next member becomes `item`, by `delta` if that is the shorter way. */
  change(delta: Delta | null, item: unknown): void {
    if (delta === null) this.keep(1)
    else if (isReplace(delta) || weightOf(delta) + 2 > weightOf(item)) {
      this.remove(1)
      this.insert(item)
    } else {
      this.#flush()
      this.#put(0, delta)
    }
  }

  end(): unknown[] {
    this.#flush()
    return this.#list
  }

  #flush(): void {
    if (this.#removed > 0) this.#put(-this.#removed)
    if (this.#items.length > 0) this.#put(this.#items)
    this.#removed = 0
    this.#items = []
  }

  #put(...entries: unknown[]): void {
    if (this.#kept > 0 || this.#list.length === 0) this.#list.push(this.#kept)
    this.#list.push(...entries)
    this.#kept = 0
  }
}

function isReplace(delta: unknown): delta is readonly [unknown] {
  return Array.isArray(delta) && delta.length === 1
}

function* change(before: unknown, delta: unknown): Steps<unknown> {
  if (isReplace(delta)) return delta[0]
  if (typeof delta === 'string') {
    return typeof before === 'string' ? before + delta : misfit('appends to what is not a string')
  }
  if (Array.isArray(delta)) {
    return Array.isArray(before)
      ? yield* changeList(before, delta)
      : misfit('edits what is not an array')
  }
  if (!isRecord(delta)) return misfit('has no such form')
  return isRecord(before) ? yield* changeFields(before, delta) : misfit('has keys of no object')
}

function* changeFields(before: Record<string, unknown>, delta: Fields): Steps<unknown> {
  const fields = Object.isFrozen(before) ? { ...before } : before
  for (const [key, member] of Object.entries(delta)) {
    if (!isReplace(member) && !Object.hasOwn(fields, key)) {
      return misfit(`changes $${segment(key)}, which is not there`)
    }
    if (member === 0) delete fields[key]
    else put(fields, key, yield change(fields[key], member))
  }
  return fields
}

function* changeList(before: unknown[], delta: List): Steps<unknown> {
  const draft = new ListDraft(before)
  draft.keep(delta[0])
  for (let i = 1; i < delta.length; i++) {
    const edit = delta[i]
    if (edit === 0) draft.put(yield change(draft.next(), delta[++i]))
    else if (Array.isArray(edit)) draft.insert(edit)
    else if (Number(edit) < 0) draft.remove(-Number(edit))
    else draft.keep(edit)
  }
  return draft.end()
}

// An array in work: in place up to the first edit that moves members, so that a tail is pushed and
// no more; from there on `#rest` is what was there before.
class ListDraft {
  readonly #list: unknown[]
  #rest: readonly unknown[]
  #at = 0

  constructor(before: unknown[]) {
    this.#list = Object.isFrozen(before) ? before.slice() : before
    this.#rest = this.#list
  }

  keep(count: unknown): void {
    const from = this.#at
    this.#pass(count)
    if (this.#rest === this.#list) return
    for (let i = from; i < this.#at; i++) this.#list.push(this.#rest[i])
  }

  remove(count: number): void {
    this.#cut()
    this.#pass(count)
  }

  insert(items: List): void {
    this.#cut()
    for (const item of items) this.#list.push(item)
  }

  next(): unknown {
    this.#pass(1)
    return this.#rest[this.#at - 1]
  }

  put(item: unknown): void {
    if (this.#rest === this.#list) this.#list[this.#at - 1] = item
    else this.#list.push(item)
  }

  end(): unknown[] {
    if (this.#rest !== this.#list) this.keep(this.#rest.length - this.#at)
    return this.#list
  }

  #cut(): void {
    if (this.#rest !== this.#list) return
    this.#rest = this.#list.splice(this.#at)
    this.#at = 0
  }

  #pass(count: unknown): void {
    if (!Number.isInteger(count)) misfit('has no such edit')
    this.#at += count as number
    if (this.#at < 0 || this.#at > this.#rest.length) misfit('goes past the ends of an array')
  }
}

function misfit(what: string): never {
  throw errorFor(
    'CHECKPOINT_DAMAGED',
    `a delta ${what}: it does not belong to the state before it; pin an earlier checkpoint`,
  )
}
