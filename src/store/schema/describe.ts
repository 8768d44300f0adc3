// How a table is described: each fact about it once. Columns, codecs, statements, what a row is
// signed over, and what it may still become are made from this for every store (store/sql,
// store/rules). The tables themselves are beside this file.

/** `count`: a whole number. `time`: milliseconds. `json`: plain data, kept as canonical JSON. */
export type FieldKind = 'text' | 'count' | 'time' | 'flag' | 'json'

export interface Field<Nullable extends boolean = boolean> {
  readonly column: string
  readonly kind: FieldKind
  readonly nullable: Nullable
}

const field =
  (kind: FieldKind) =>
  (column: string): Field<false> => ({ column, kind, nullable: false })

export const text = field('text')
export const count = field('count')
export const time = field('time')
export const flag = field('flag')
export const json = field('json')
export const maybe = (one: Field<false>): Field<true> => ({ ...one, nullable: true })

/** Every field of a row, each nullable exactly where its type is. */
export type Fields<T> = {
  readonly [K in keyof T]-?: Field<null extends T[K] ? true : false>
}

export interface Described<T> {
  readonly name: string
  readonly fields: Fields<T>
  /** What tells its rows apart; empty for a history, which has only its order. */
  readonly key: readonly (keyof T & string)[]
  readonly sealed: Sealed<T> | null
  readonly final: Final<T> | null
  /**
   * Columns that no field has: written when the row is made, and never again (first-attempt.ts).
   */
  readonly beside: readonly Field[]
  /** Why its rows are deleted by nothing but retention; null where they may be. */
  readonly kept: string | null
  /** Makes a row of an older form one of today's. */
  readonly read?: (row: T) => T
}

/** What a MAC covers, in this order. */
export interface Sealed<T> {
  /** The word that the signed text begins with, so that no row passes for one of another table. */
  readonly as: string
  readonly fields: readonly (keyof T & string)[]
  /** A row in which all of these are null says nothing that could be forged, and has no MAC. */
  readonly unless?: readonly (keyof T & string)[]
}

/** What a row may still become. Whatever is not named here may change. */
export interface Final<T> {
  /** In these states of this field nothing changes any more. */
  readonly settled?: { readonly field: keyof T & string; readonly values: readonly string[] }
  /** Never change; the key never does. */
  readonly fixed: readonly (keyof T & string)[]
  /** Set once: each, or a group of which the first says whether it is set. */
  readonly once: readonly (readonly (keyof T & string)[])[]
  /** A row is put a second time only with this set: what is new otherwise is made once. */
  readonly again?: keyof T & string
  /** What is refused, for people. */
  readonly says: string
}

export type Key<T> = keyof T & string

interface Facts<T> {
  readonly key?: readonly Key<T>[]
  readonly sealed?: Described<T>['sealed']
  readonly final?: Described<T>['final']
  readonly kept?: string
  readonly beside?: readonly Field[]
  readonly read?: (row: T) => T
}

export function describe<T>(name: string, fields: Fields<T>, facts: Facts<T> = {}): Described<T> {
  const { key = [], sealed = null, final = null, kept = null, beside = [], read } = facts
  return { name, fields, key, sealed, final, beside, kept, ...(read && { read }) }
}

/** All fields but these. */
export function allBut<T>(fields: Fields<T>, but: readonly Key<T>[]): readonly Key<T>[] {
  return keysOf(fields).filter((one) => !but.includes(one))
}

export function keysOf<T>(fields: Fields<T>): readonly Key<T>[] {
  return Object.keys(fields) as Key<T>[]
}
