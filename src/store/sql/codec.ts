// Rows to values of a database and back, made from the description of their table.
import { canonical, NotPlainDataError } from '../../model/json/canonical.ts'
import { blankRow, blankSealed, type Unchecked } from '../row.ts'
import { type Described, type Field, type Key, keysOf } from '../schema/describe.ts'

export type SqlValue = string | number | boolean | null

/** A row by its columns, as it travels: JSON in one direction, JSON or a result in the other. */
export type Columns = Record<string, unknown>

/** How a database differs in the values that it takes. */
export interface Values {
  readonly flags: 'boolean' | 'integer'
  /** A text as the database can hold it. */
  readonly clean?: (text: string) => string
}

/** A row is a list of values in the order of the columns, or an object by them. */
export interface Codec<T, Row, Given = Row> {
  readonly table: Described<T>
  readonly name: string
  /** Comma-separated, for select lists. */
  readonly columns: string
  readonly columnList: readonly string[]
  /** As the database can hold it: what is signed must be what comes back. */
  tidy(row: T): T
  encode(row: T): Row
  decode(from: Given): T
  /** Before its MAC is looked at. */
  decodeSealed(from: Given): Unchecked<T>
}

/** How a row lies in what a driver takes and gives. */
interface Carrier<Row, Given> {
  make(columnList: readonly string[], value: (i: number) => SqlValue): Row
  at(row: Given, i: number, column: string): unknown
}

const list: Carrier<SqlValue[], readonly unknown[]> = {
  make: (columnList, value) => columnList.map((_, i) => value(i)),
  at: (row, i) => row[i],
}

const columns: Carrier<Columns, Columns> = {
  make: (columnList, value) => {
    const row: Columns = {}
    for (let i = 0; i < columnList.length; i++) row[columnList[i] as string] = value(i)
    return row
  },
  at: (row, _, column) => row[column],
}

export type ListCodec<T> = Codec<T, SqlValue[], readonly unknown[]>

export function listCodec<T extends object>(table: Described<T>, values: Values): ListCodec<T> {
  return codec(table, values, list)
}

export function columnCodec<T extends object>(
  table: Described<T>,
  values: Values,
): Codec<T, Columns> {
  return codec(table, values, columns)
}

function codec<T extends object, Row, Given>(
  table: Described<T>,
  values: Values,
  { make, at }: Carrier<Row, Given>,
): Codec<T, Row, Given> {
  const keys = keysOf(table.fields)
  const fields = keys.map((key) => table.fields[key] as Field)
  const columnList = fields.map(({ column }) => column)
  const [blank, sealed] = [blankRow(keys), blankSealed(keys)]
  const [read, write] = [readers[values.flags], writers[values.flags]]
  const fill = (row: Record<string, unknown>, from: Given) => {
    for (let i = 0; i < keys.length; i++) {
      row[keys[i] as string] = read(fields[i] as Field, at(from, i, columnList[i] as string))
    }
    return row
  }
  const { read: renew = (row: T) => row } = table
  return {
    table,
    name: table.name,
    columns: columnList.join(', '),
    columnList,
    tidy: values.clean === undefined ? (row) => row : tidier(table, keys, values.clean),
    encode: (row) => make(columnList, (i) => write(fields[i] as Field, row[keys[i] as Key<T>])),
    decode: (from) => renew(fill({ ...blank }, from) as T),
    decodeSealed: (from) => fill({ ...sealed }, from) as Unchecked<T>,
  }
}

const writers = {
  integer: (field: Field, value: unknown): SqlValue =>
    field.kind === 'flag' ? (value ? 1 : 0) : plain(field, value),
  boolean: (field: Field, value: unknown): SqlValue => plain(field, value),
}

const plain = ({ kind }: Field, value: unknown): SqlValue =>
  kind === 'json' && value !== null && value !== undefined ? jsonText(value) : (value as SqlValue)

const readers = {
  integer: (field: Field, value: unknown): unknown =>
    field.kind === 'flag' ? value === 1 : parsed(field, value),
  boolean: (field: Field, value: unknown): unknown => parsed(field, value),
}

const parsed = ({ kind }: Field, value: unknown): unknown =>
  kind === 'json' && value !== null ? readable(value as string) : value

/**
 * Iterative: what a model wrote may be nested deeper than JSON.stringify can go. What the canonical
 * form refuses (a lone surrogate in an event) must still not hold a commit up.
 */
export function jsonText(value: unknown): string {
  try {
    return canonical(value)
  } catch (error) {
    if (!(error instanceof NotPlainDataError)) throw error
    return JSON.stringify(value)
  }
}

/**
 * Null for what somebody has made unreadable: one such row must not keep the others from being
 * worked on and listed. What is signed no longer verifies then.
 */
function readable(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function tidier<T extends object>(
  table: Described<T>,
  keys: readonly Key<T>[],
  clean: (text: string) => string,
): (row: T) => T {
  const texts = keys.filter((key) => (table.fields[key] as Field).kind === 'text')
  return (row) => {
    let tidied = row
    for (const key of texts) {
      const value: unknown = row[key]
      if (typeof value !== 'string') continue
      const kept = clean(value)
      if (kept !== value) tidied = { ...tidied, [key]: kept }
    }
    return tidied
  }
}
