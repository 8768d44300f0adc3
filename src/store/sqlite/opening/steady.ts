// Owns: a clock that goes on whatever the machine's clock is set to, the same for all processes of
// one boot: the wall clock at a moment of it, which the file keeps, and the monotonic clock since.
// A new boot begins where the wall clock is, but never before what the file has seen.
import type { Connection } from './connection.ts'
import { getMeta, setMeta } from './meta.ts'

interface Anchor {
  readonly bootId: string
  readonly wall: number
  readonly mono: number
}

/** Call it under the write lock: the first process of a boot sets the anchor for all. */
export function steadyClock({ db, clock, bootId }: Connection): () => number {
  const known = anchorOf(getMeta(db, 'steady'))
  const mono = clock.mono()
  const isOurs = known?.bootId === bootId && bootId !== 'unknown' && known.mono <= mono
  const anchor = isOurs ? known : { bootId, mono, wall: Math.max(clock.now(), lastSeen(db)) }
  if (!isOurs) setMeta(db, 'steady', JSON.stringify(anchor))
  return () => Math.floor(anchor.wall + clock.mono() - anchor.mono)
}

function anchorOf(text: string | null): Anchor | null {
  return text === null ? null : (JSON.parse(text) as Anchor)
}

function lastSeen(db: Connection['db']): number {
  const row = db.prepare('select at from events order by rowid desc limit 1').raw(true).get()
  return row === undefined ? 0 : ((row as unknown[])[0] as number)
}
