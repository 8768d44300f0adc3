// The store knows which file it is (I12). A copy or a restored backup may lack the last intents, so
// no live run is worked on until a person has said that this is known.
// Detected: the file at this path is another one than when the store was made or last adopted; the
// files that a connection has open, the database and its log, are not those at this path any more
// (place.ts), or were written over (overwritten.ts); and the database is behind its witness
// (witness.ts). Not detected: a folder, disk or virtual machine that goes back whole.
import { statSync } from 'node:fs'
import { letGo } from '../../rules/adoption.ts'
import type { Connection } from '../opening/connection.ts'
import { storeError } from '../opening/errors.ts'
import { getMeta, setMeta } from '../opening/meta.ts'
import * as tables from '../tables.ts'
import { applyRows, putRun } from '../write.ts'
import { exchangedSince } from './place.ts'
import type { Seen } from './witness.ts'

/**
 * Inode and time of birth. The second tells a copy that was given the inode of the file it
 * replaces, which ext4 does at once. Where the system does not know it, it is told as the time of
 * the last change, which moves; such a time is left out.
 */
export function incarnationOf(path: string): string {
  const { ino, birthtimeNs, ctimeNs } = statSync(path, { bigint: true })
  const known = birthtimeNs > 0n && birthtimeNs < ctimeNs
  return known ? `${ino}/${birthtimeNs}` : `${ino}`
}

type Known = Pick<Connection, 'path' | 'sql' | 'place' | 'witness' | 'lost'>

const recordedIncarnation = "select value from meta where name = 'incarnation'"

/** Null, or a sentence for people. */
export function movedSince(c: Known): string | null {
  const exchanged = c.lost ?? exchangedSince(c.path, c.place)
  if (exchanged !== null) return exchanged
  const recorded = c.sql(recordedIncarnation).get()?.[0] as string | undefined
  const present = stateOf(c.path)
  if (recorded !== undefined && present !== null && same(recorded, present)) return behind(c)
  return (
    `the file at ${c.path} is not the one that was made or last adopted there: it was copied, ` +
    'restored or exchanged, and calls made since may be missing from it. Make sure that nothing ' +
    'works on the other one, then run `counterfoil store adopt`'
  )
}

const recordedCount = "select value from meta where name = 'commits'"

/** Null, or a sentence for people. */
function behind(c: Known): string | null {
  if (c.witness === null) return null
  // In this order: the count may grow in between, and must not seem to be behind then.
  const seen = c.witness.look()
  const count = countOf(c)
  if (seen.kind === 'count' && seen.count <= count) return null
  return (
    `${whyBehind(c.path, c.witness.file, seen, count)}: a backup may have been restored over the ` +
    'database, and calls made since may be missing from it. Find out which, then run ' +
    '`counterfoil store adopt`'
  )
}

function whyBehind(path: string, file: string, seen: Seen, count: number): string {
  if (seen.kind === 'none') return `the witness ${file} is missing`
  if (seen.kind === 'bad') return `the witness ${file} cannot be trusted (${seen.why})`
  const missing = `${seen.count - count} writes that were acknowledged are missing`
  return `${path} is behind its witness ${file}: ${missing}`
}

/** None: the last who wrote it knew of no witness. */
export function countOf(c: Known): number {
  return Number(c.sql(recordedCount).get()?.[0] ?? 0)
}

function stateOf(path: string): string | null {
  try {
    return incarnationOf(path)
  } catch {
    return null
  }
}

function same(recorded: string, present: string): boolean {
  const [inode, birth] = recorded.split('/')
  const [inodeNow, birthNow] = present.split('/')
  return inode === inodeNow && (birth === undefined || birth === birthNow)
}

export function adopt(c: Connection, by: string, reason: string): void {
  // Else the file that nobody will read again would take itself for the one that is there now.
  const exchanged = c.lost ?? exchangedSince(c.path, c.place)
  if (exchanged !== null) throw storeError('STORE_MOVED', c.path, { says: exchanged })
  c.write(() => {
    const present = incarnationOf(c.path)
    const recorded = getMeta(c.db, 'incarnation') ?? ''
    const now = c.clock.now()
    c.sql(
      `insert into adoptions (at, adopted_by, reason, old_incarnation, new_incarnation)
       values (?, ?, ?, ?, ?)`,
    ).run(now, by, reason, recorded, present)
    setMeta(c.db, 'incarnation', present)
    letGoAll(c, now)
    // The count goes on from the higher one: no process that knows it may take it for a past.
    const seen = c.witness?.look()
    const count = Math.max(countOf(c), seen?.kind === 'count' ? seen.count : 0)
    setMeta(c.db, 'commits', `${count + 1}`)
  })
  c.write(() => c.witness?.make(countOf(c) - 1))
}

const held = `select ${tables.runs.columns} from runs where state = 'running'`

function letGoAll(c: Connection, now: number): void {
  for (const run of c.sql(held).all().map(tables.runs.decode)) {
    const free = letGo(run, now)
    putRun(c, run, free.run)
    applyRows(c, { events: [free.event] })
  }
}
