// Triggers that hold final rows still, made from the descriptions of the tables: against slips,
// ours included. Whoever can drop a trigger is caught by the MAC. They say what `follows` of
// finality.ts says; a test drives both over the same rows.
import type { Described, Key } from '../schema/describe.ts'
import * as schema from '../schema/index.ts'
import { firstToOwnRow } from './first-attempt.ts'
import { besides, columnsOf } from './statements.ts'

/** How a database writes a trigger. Conditions are in SQL that both speak. */
export interface Triggers {
  /** `of`: only where one of these is written, which is free where none is. */
  update(name: string, table: string, of: readonly string[], when: string, says: string): string
  remove(name: string, table: string, when: string, says: string): string
  /** Makes a row of another table before one of this is updated. */
  before(name: string, table: string, when: string, insert: string): string
  /** Where in a text a part of it begins; 0 if it has none. */
  position(text: string, part: string): string
  /** Whether retention is at work on the run of the row; the column has its id. */
  retaining(runColumn: string): string
  /** Against a row that replaces another, where the database knows such a statement. */
  guard?(name: string, table: string, key: readonly string[], when: string, says: string): string
}

/** Every table whose rows can become final. */
const tables: readonly Described<never>[] = [
  ...[schema.records, schema.attempts, schema.evidence, schema.decisions],
  ...[schema.signals, schema.items, schema.events],
] as never

export function finalTriggers(by: Triggers): readonly string[] {
  return [...tables.flatMap((table) => triggersOf(table, by)), firstAttempt(by), ...runTriggers(by)]
}

function triggersOf<T>(table: Described<T>, by: Triggers): string[] {
  const { name, final, kept } = table
  const made: string[] = []
  if (final) {
    const [never, later] = [neverAgain(table), notLater(table)]
    made.push(by.update(`${name}_fixed`, name, never, isOther(never), final.says))
    if (later !== '') made.push(by.update(`${name}_final`, name, [], later, final.says))
    if (by.guard && table.key.length > 0 && kept !== null) {
      const bad = [later, isOther(never), again(table)].filter(Boolean).join(' or ')
      const key = columnsOf(table, table.key)
      made.push(by.guard(`${name}_replaced`, name, key, bad, final.says))
    }
  }
  if (kept !== null) {
    const [runColumn = ''] = columnsOf(table, ['runId' as Key<T>])
    made.push(by.remove(`${name}_kept`, name, `not ${by.retaining(runColumn)}`, kept))
  }
  return made
}

/** Columns that never change. */
function neverAgain<T>(table: Described<T>): readonly string[] {
  const own = columnsOf(table, [...table.key, ...(table.final?.fixed ?? [])])
  return [...new Set([...own, ...besides(table)])]
}

/** What is settled changes no more; what is set once stays. */
function notLater<T>(table: Described<T>): string {
  const { settled, once = [] } = table.final ?? {}
  const parts = once.map((group) => {
    const [first = '', ...others] = columnsOf(table, group)
    return `(old.${first} is not null and (${isOther([first, ...others])}))`
  })
  if (settled) {
    const [column] = columnsOf(table, [settled.field])
    parts.unshift(`old.${column} in (${settled.values.map((value) => `'${value}'`).join(', ')})`)
  }
  return parts.join(' or ')
}

function again<T>(table: Described<T>): string {
  const { again: field } = table.final ?? {}
  return field === undefined ? '' : `new.${columnsOf(table, [field])[0]} is null`
}

const isOther = (columns: readonly string[]) =>
  columns.map((column) => `new.${column} is distinct from old.${column}`).join(' or ')

/**
 * The row of a call says who has sent its first attempt. Before it says anything else, the attempt
 * gets a row of its own.
 */
function firstAttempt(by: Triggers): string {
  const name = `${schema.records.name}_first`
  const other = isOther(columnsOf(schema.records, ['attempt', 'fence', 'workerId']))
  const when = `old.attempt = 1 and old.dispatched_at is not null and (${other})`
  const insert = firstToOwnRow('old', by.position, null)
  return by.before(name, schema.records.name, when, insert)
}

/**
 * How a run ended stays as it is, unless it is retried, which it cannot be once rows of it are
 * gone, or retention takes it. Late evidence may still raise `arrivals`.
 */
function runTriggers(by: Triggers): string[] {
  const never = columnsOf(schema.runs, schema.fixedOfRun)
  const end = columnsOf(schema.runs, schema.endOfRun)
  const ended = [
    "old.state in ('completed', 'failed', 'cancelled')",
    "(new.state <> 'pending' or old.swept is not null)",
    `(${isOther([...end, 'swept'])})`,
    `not ${by.retaining('run_id')}`,
  ].join(' and ')
  return [
    by.update('runs_fixed', 'runs', never, isOther(never), 'the identity of a run, and its start'),
    by.update('runs_ended', 'runs', [...end, 'swept'], ended, 'a run that has ended'),
  ]
}
