// Whether the files that a connection has open, the database and its log, are still those at their
// paths (I12).
import { statSync } from 'node:fs'

/** The files that a connection has open, which cannot be asked: as they were at its first write. */
export interface Place {
  readonly file: string | null
  readonly log: string | null
}

export function placeOf(path: string): Place {
  return { file: fileId(path), log: fileId(`${path}-wal`) }
}

/** As long as a file is open, no other one gets its inode. Plain numbers: half the time. */
function fileId(path: string): string | null {
  try {
    const { dev, ino } = statSync(path)
    return `${dev}/${ino}`
  } catch {
    return null
  }
}

/**
 * Null, or a sentence for people: what is written through this connection goes where nobody will
 * read it.
 */
export function exchangedSince(path: string, place: Place | null): string | null {
  if (place === null) return null
  const now = placeOf(path)
  const gone = now.file === place.file ? (now.log === place.log ? null : `${path}-wal`) : path
  if (gone === null) return null
  const file = gone === path ? 'file' : 'log'
  const verb = fileId(gone) === null ? 'gone' : 'another'
  return (
    `the ${file} ${gone} is ${verb} since this process opened the store: it was deleted, moved ` +
    'or exchanged, and nothing more is sent. Stop this process, put the right file there, run ' +
    '`counterfoil store adopt`, and start again'
  )
}
