// The tables are described once (store/schema). What the databases hold, what their triggers refuse
// and what `follows` says are compared here, so that no copy of a rule can differ from it.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { knownRules } from '../../src/store/postgres/functions.ts'
import { migratePostgres } from '../../src/store/postgres/index.ts'
import * as postgresMigrations from '../../src/store/postgres/migrate.ts'
import * as postgresTables from '../../src/store/postgres/tables.ts'
import * as finality from '../../src/store/rules/finality.ts'
import { type Described, type Field, keysOf } from '../../src/store/schema/describe.ts'
import * as schema from '../../src/store/schema/index.ts'
import { rulesVersion } from '../../src/store/sql/rules-version.ts'
import { columnsOf, columnsWritten } from '../../src/store/sql/statements.ts'
import * as sqliteMigrations from '../../src/store/sqlite/migrate.ts'
import { triggerTexts } from '../../src/store/sqlite/opening/triggers.ts'
import * as sqliteTables from '../../src/store/sqlite/tables.ts'
import {
  attempt,
  decision,
  evidence,
  item,
  record,
  settled,
  signal,
} from '../../src/testing/store/fixtures.ts'
import { dropSchema, plainUrl, postgresUrl, schemaOf } from '../postgres/bench.ts'
import { newPath } from './bench.ts'

type Row = Record<string, unknown>
type AnyTable = Described<Row>

const described: AnyTable[] = Object.values(schema).filter((value) => 'fields' in value) as never

/** What only the database keeps of a row. */
const ownColumns: Readonly<Record<string, readonly string[]>> = {
  notices: ['taken_by', 'taken_until'],
  runs: ['claim_id'],
  inbox_items: ['body'],
}

interface Column {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
}

const types = {
  sqlite: { text: 'TEXT', count: 'INTEGER', time: 'REAL', flag: 'INTEGER', json: 'TEXT' },
  postgres: {
    ...{ text: 'text', count: 'bigint', time: 'double precision', flag: 'boolean', json: 'text' },
  },
} as const

function expectSame(table: AnyTable, kind: keyof typeof types, found: readonly Column[]): void {
  const own = ['id', 'mac', ...(ownColumns[table.name] ?? [])]
  const fields = [...(Object.values(table.fields) as Field[]), ...table.beside]
  const wanted = fields.map(({ column, kind: of, nullable }) => {
    return { name: column, type: types[kind][of] as string, nullable }
  })
  const byName = (all: readonly Column[]) => [...all].sort((a, b) => (a.name < b.name ? -1 : 1))
  expect(byName(found.filter(({ name }) => !own.includes(name)))).toEqual(byName(wanted))
  expect(found.some(({ name }) => name === 'mac')).toBe(table.sealed !== null)
}

/** A row of each table in every form that matters, and what could be put in its place. */
const forms: readonly (readonly [AnyTable, finality.Finality<never>, readonly object[]])[] = [
  [schema.records, finality.records, [record(1), settled(record(1))]],
  [
    schema.attempts,
    finality.attempts,
    [attempt(1), attempt(1, { endedAt: 3, outcome: 'landed' }), attempt(1, { tokenHash: 't' })],
  ],
  [schema.evidence, finality.evidence, [evidence(1), evidence(1, { seq: 3 })]],
  [schema.items, finality.items, [item('i1')]],
  [
    schema.decisions,
    finality.decisions,
    [decision('d1'), decision('d1', { usedBy: 'a', seq: 2 }), decision('d1', { voidedAt: 9 })],
  ],
  [schema.signals, finality.signals, [signal('s1'), signal('s1', { usedBy: 'a' })]],
] as never

function others(table: AnyTable, old: Row): Row[] {
  const base = table.final?.again === undefined ? old : { ...old, usedBy: old['usedBy'] ?? 'a' }
  const changed = keysOf(table.fields).map((key) => {
    const { kind } = table.fields[key] as Field
    const value = base[key]
    const number = typeof value === 'number' ? value + 1 : 1
    const to = { text: `${value ?? ''}x`, count: number, time: number, flag: !value, json: ['x'] }
    return { ...base, [key]: to[kind] }
  })
  return [base, ...changed]
}

type Update = (table: AnyTable, old: Row, next: Row) => Promise<boolean> | boolean

async function expectAlike(update: Update): Promise<void> {
  for (const [table, rule, olds] of forms) {
    for (const old of olds as Row[]) {
      for (const next of others(table, old)) {
        const may = rule.follows(old as never, next as never)
        const said = `${table.name} ${JSON.stringify(old)} to ${JSON.stringify(next)}`
        expect(await update(table, old, next), said).toBe(may)
      }
    }
  }
}

const sha = (text: string) => createHash('sha256').update(text).digest('hex')

test('B8 triggers, functions and migrations are as the list of frozen texts says', () => {
  const file = join(import.meta.dirname, 'frozen.json')
  const frozen = JSON.parse(readFileSync(file, 'utf8'))
  const migrations = { sqlite: sqliteMigrations, postgres: postgresMigrations }
  for (const [kind, { knownMigrations }] of Object.entries(migrations)) {
    const known = knownMigrations().map(({ name, checksum }) => [name, checksum])
    // A file that was applied is never edited: a change is a new file.
    expect(Object.fromEntries(known)).toEqual(frozen.migrations[kind])
  }
  const now = { sqlite: sha(triggerTexts().join('\n')), postgres: knownRules().checksum }
  const says = 'their text has changed: raise rulesVersion, and add the new checksums'
  expect(now, says).toEqual(frozen.rules[rulesVersion])
})

describe('SQLite', () => {
  const db = new Database(newPath())
  beforeAll(() => sqliteMigrations.migrate(db, ':memory:', sqliteMigrations.knownMigrations(), 1))
  afterAll(() => void db.close())

  test.each(described.map((table) => [table.name, table] as const))(
    'B1 %s has the columns of its description',
    (name, table) => {
      const text = `select name, type, "notnull" = 0 as nullable from pragma_table_info('${name}')`
      const found = db.prepare(text).all() as { name: string; type: string; nullable: number }[]
      const columns = found.map((row) => ({ ...row, nullable: row.nullable === 1 }))
      expectSame(table, 'sqlite', columns)
    },
  )

  test('B8 triggers refuse exactly what `follows` does', async () => {
    const codecs = new Map(Object.values(sqliteTables).map((codec) => [codec.name, codec]))
    await expectAlike((table, old, next) => {
      const codec = codecs.get(table.name) as never as sqliteTables.Table<Row>
      const columns = columnsWritten(table)
      const mac = table.sealed === null ? [] : ['x']
      const nothing = table.beside.map(() => null)
      const marks = columns.map(() => '?').join(', ')
      db.exec('begin')
      const add = `insert into ${table.name} (${columns.join(', ')}) values (${marks})`
      db.prepare(add).run(...codec.encode(old), ...mac, ...nothing)
      const set = columns.map((column) => `${column} = ?`).join(', ')
      const key = columnsOf(table, table.key)
      const where = key.map((column) => `${column} = ?`).join(' and ')
      const update = db.prepare(`update ${table.name} set ${set} where ${where}`)
      try {
        update.run(...codec.encode(next), ...mac, ...nothing, ...table.key.map((name) => old[name]))
        return true
      } catch (error) {
        expect(String(error)).toContain('row is final')
        return false
      } finally {
        db.exec('rollback')
      }
    })
  })
})

describe.runIf(inject('postgresUrl') !== '')('Postgres', () => {
  const url = postgresUrl()
  const client = new pg.Client({ connectionString: plainUrl() })
  beforeAll(async () => {
    await migratePostgres({ url, clock: systemClock })
    await client.connect()
    await client.query(`set search_path to "${schemaOf(url)}"`)
  })
  afterAll(async () => {
    await client.end()
    await dropSchema(url)
  })

  const columnsIn = async (name: string): Promise<Column[]> => {
    const { rows } = await client.query(
      `select a.attname as name, format_type(a.atttypid, null) as type,
         not a.attnotnull as nullable
       from pg_attribute a
       where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
       order by a.attnum`,
      [`${schemaOf(url)}.${name}`],
    )
    return rows
  }

  test.each(described.map((table) => [table.name, table] as const))(
    'B1 %s has the columns of its description',
    async (name, table) => {
      expectSame(table, 'postgres', await columnsIn(name))
    },
  )

  test.each([
    ['record_row', schema.records],
    ['attempt_row', schema.attempts],
    ['event_row', schema.events],
    ['checkpoint_row', schema.checkpoints],
  ] as const)(
    'B1 the type %s has the columns that are sent, in their order',
    async (name, table) => {
      const columns = (await columnsIn(name)).map((column) => column.name)
      expect(columns).toEqual(columnsWritten(table as unknown as AnyTable))
    },
  )

  test('B8 triggers refuse exactly what `follows` does', async () => {
    const codecs = new Map(Object.values(postgresTables).map((codec) => [codec.name, codec]))
    await expectAlike(async (table, old, next) => {
      const codec = codecs.get(table.name) as never as postgresTables.Table<Row>
      const mac = table.sealed === null ? {} : { mac: 'x' }
      const columns = columnsWritten(table).join(', ')
      const from = `from json_populate_record(null::${table.name}, $1::json)`
      await client.query('begin')
      const row = (given: Row) => JSON.stringify({ ...codec.encode(given), ...mac })
      await client.query(`insert into ${table.name} (${columns}) select ${columns} ${from}`, [
        row(old),
      ])
      const set = `update ${table.name} set (${columns}) = (select ${columns} ${from})`
      try {
        await client.query(set, [row(next)])
        return true
      } catch (error) {
        expect(String(error)).toContain('row is final')
        return false
      } finally {
        await client.query('rollback')
      }
    })
  })
})
