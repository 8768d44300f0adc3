// Statements made from the description of a table, in the SQL that both databases speak.
import { type Described, type Field, type Key, keysOf } from '../schema/describe.ts'

export function columnsOf<T>(table: Described<T>, keys: readonly Key<T>[]): readonly string[] {
  return keys.map((key) => (table.fields[key] as Field).column)
}

/** Columns of a row, its MAC if rows of the table have one, and what is written beside it. */
export function columnsWritten<T>(table: Described<T>): readonly string[] {
  return [...columnsPut(table), ...besides(table)]
}

/** The same without what is written only when the row is made. */
export function columnsPut<T>(table: Described<T>): readonly string[] {
  const columns = columnsOf(table, keysOf(table.fields))
  return table.sealed === null ? columns : [...columns, 'mac']
}

export function besides<T>(table: Described<T>): readonly string[] {
  return table.beside.map(({ column }) => column)
}

/** With a mark for each value. */
export function insert<T>(table: Described<T>): string {
  const columns = columnsWritten(table)
  const marks = columns.map(() => '?').join(', ')
  return `insert into ${table.name} (${columns.join(', ')}) values (${marks})`
}

/**
 * Put whole. What an earlier form may not become is said by triggers. `fixed`: columns that never
 * change are set, so that a trigger refuses what would change them; or compared and not written,
 * so that such a put finds no row, and an index over them is not written again for nothing.
 */
export function onConflict<T>(table: Described<T>, fixed: 'set' | 'compare'): string {
  const key = columnsOf(table, table.key)
  const compared = fixed === 'set' ? [] : columnsOf(table, table.final?.fixed ?? [])
  const rest = columnsPut(table).filter(
    (column) => !key.includes(column) && !compared.includes(column),
  )
  const set = rest.map((column) => `${column} = excluded.${column}`).join(', ')
  const same = compared
    .filter((column) => !key.includes(column))
    .map((column) => `${table.name}.${column} is not distinct from excluded.${column}`)
  if (fixed === 'set' && table.final?.settled) same.push(`(${isNews(table)})`)
  const where = same.length === 0 ? '' : ` where ${same.join(' and ')}`
  return `on conflict (${key.join(', ')}) do update set ${set}${where}`
}

/** A row that is put again as it is, by a commit that is written again, is no write (I4). */
function isNews<T>(table: Described<T>): string {
  const { field } = table.final?.settled ?? {}
  const own = keysOf(table.fields).filter((key) => !table.key.includes(key) && key !== field)
  // What nearly every second form differs in is looked at first.
  const columns = columnsOf(table, field === undefined ? own : [field, ...own])
  return columns
    .map((column) => `${table.name}.${column} is distinct from excluded.${column}`)
    .join(' or ')
}

export function upsert<T>(table: Described<T>): string {
  return `${insert(table)} ${onConflict(table, 'compare')}`
}
