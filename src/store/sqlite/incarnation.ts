// The store knows which file it is (I12). A copy or a restored backup may lack the last intents, so
// no live run is worked on until a person has said that this is known.
// Detected: the file at this path is another one than when the store was made or last adopted, also
// when it is exchanged while the store is open. Not detected: a snapshot of the whole disk or
// virtual machine that is rolled back, and a backup that is written over the file in place; both
// keep the inode.
import { statSync } from 'node:fs'
import type { Connection } from './connection.ts'
import { getMeta, setMeta } from './meta.ts'

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

const recordedIncarnation = "select value from meta where name = 'incarnation'"

/** Null, or a sentence for people. */
export function movedSince(c: Pick<Connection, 'path' | 'sql'>): string | null {
  const recorded = c.sql(recordedIncarnation).get()?.[0] as string | undefined
  const present = stateOf(c.path)
  if (recorded !== undefined && present !== null && same(recorded, present)) return null
  return (
    `the file at ${c.path} is not the one that was made or last adopted there: it was copied, ` +
    'restored or exchanged, and calls made since may be missing from it. Make sure that nobody ' +
    'works on the other one, then run `counterfoil store adopt`'
  )
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
  c.write(() => {
    const present = incarnationOf(c.path)
    const recorded = getMeta(c.db, 'incarnation') ?? ''
    c.sql(
      `insert into adoptions (at, adopted_by, reason, old_incarnation, new_incarnation)
       values (?, ?, ?, ?, ?)`,
    ).run(c.clock.now(), by, reason, recorded, present)
    setMeta(c.db, 'incarnation', present)
  })
}
