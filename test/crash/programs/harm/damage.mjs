// Random damage to a store's files: cells of rows, bytes of the file, blobs.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'

const tables = [
  ...['tool_call_results', 'tool_call_results', 'tool_call_results', 'tool_call_attempts'],
  ...['checkpoints', 'checkpoints', 'decisions', 'call_evidence', 'inbox_items', 'signals'],
  ...['runs', 'events'],
]

/** @param {number} seed */
function chance(seed) {
  let state = (seed * 48_271 + 11) % 2_147_483_647
  return (/** @type {number} */ below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

/**
 * @param {any} value
 * @param {(below: number) => number} random
 */
function altered(value, random) {
  if (value === null) return ['x', 0, -1, '{}'][random(4)]
  if (typeof value === 'number') return [value + 1, -value - 1, 0, 2 ** 53, null][random(5)]
  if (typeof value !== 'string') return Buffer.from(value).reverse()
  const at = random(Math.max(1, value.length))
  const flipped = String.fromCharCode(value.charCodeAt(at) ^ (1 << random(7)))
  const changed = `${value.slice(0, at)}${flipped}${value.slice(at + 1)}`
  return [changed, changed, changed, value.slice(0, at), '', null, `${value}x`, '[]'][random(8)]
}

/**
 * @param {string} path
 * @param {(below: number) => number} random
 * @param {boolean} signedOnly
 */
function damageCell(path, random, signedOnly) {
  const db = new Database(path)
  // They keep programs from changing what is final; damage asks nobody.
  const triggers = /** @type {{ name: string, sql: string }[]} */ (
    db.prepare("select name, sql from sqlite_master where type = 'trigger'").all()
  )
  for (const { name } of triggers) db.exec(`drop trigger "${name}"`)
  for (;;) {
    const table = signedOnly ? 'tool_call_results' : (tables[random(tables.length)] ?? '')
    const rows = /** @type {any[]} */ (db.prepare(`select * from ${table}`).all())
    if (rows.length === 0) continue
    const row = rows[random(rows.length)]
    const columns = Object.keys(row)
    const column = signedOnly ? 'result_json' : (columns[random(columns.length)] ?? '')
    if (signedOnly && (row[column] === null || row.replay_class === 'pure')) continue
    const value = signedOnly ? '{"id":"another"}' : altered(row[column], random)
    if (value === row[column]) continue
    try {
      const same = columns.map((name) => `${name} is ?`).join(' and ')
      const update = db.prepare(`update ${table} set ${column} = ? where ${same}`)
      update.run(value, ...columns.map((name) => row[name]))
    } catch {
      // The schema refuses such a value: another one.
      continue
    }
    for (const { sql } of triggers) db.exec(sql)
    db.close()
    return { kind: 'row', where: `${table}.${column}` }
  }
}

/**
 * @param {string} path
 * @param {(below: number) => number} random
 */
function damageBytes(path, random) {
  const bytes = readFileSync(path)
  const from = random(bytes.length)
  const count = 1 + random(16)
  for (let i = 0; i < count && from + i < bytes.length; i++) bytes[from + i] = random(256)
  writeFileSync(path, bytes)
  return { kind: 'bytes', where: `${count} at ${from}` }
}

/**
 * @param {string} path
 * @param {(below: number) => number} random
 */
function damageBlob(path, random) {
  const folder = `${path}.blobs`
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  const name = names[random(names.length)] ?? ''
  const bytes = readFileSync(name)
  const how = ['flipped', 'cut', 'emptied', 'removed'][random(4)] ?? ''
  if (how === 'removed') rmSync(name)
  else if (how === 'emptied') writeFileSync(name, '')
  else if (how === 'cut') writeFileSync(name, bytes.subarray(0, random(bytes.length)))
  else {
    const at = random(bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8))
    writeFileSync(name, bytes)
  }
  return { kind: 'blob', where: how }
}

/**
 * Damage that is named: a statement, with nothing in its way.
 * @param {string} path
 * @param {string} sql
 */
export function damageBy(path, sql) {
  const db = new Database(path)
  const triggers = /** @type {{ name: string, sql: string }[]} */ (
    db.prepare("select name, sql from sqlite_master where type = 'trigger'").all()
  )
  for (const { name } of triggers) db.exec(`drop trigger "${name}"`)
  const { changes } = db.prepare(sql).run()
  for (const trigger of triggers) db.exec(trigger.sql)
  db.close()
  return { kind: 'statement', where: `${changes} by ${sql}` }
}

/**
 * Damages the store at `path`; what it has done.
 * @param {string} path
 * @param {number} seed
 * @param {boolean} signedOnly Only what an unsafe call's receipt says.
 */
export function damage(path, seed, signedOnly) {
  const random = chance(seed)
  const kind = random(20)
  if (signedOnly || kind < 13) return damageCell(path, random, signedOnly)
  return kind < 16 ? damageBytes(path, random) : damageBlob(path, random)
}
