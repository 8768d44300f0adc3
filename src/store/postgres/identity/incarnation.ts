// The store knows which database it is (I12). A restored backup, or a standby that was promoted
// without the last commits, may lack the last intents; so no live run is worked on until a person
// has said that this is known.
// Detected: another server, another timeline (promotion, point-in-time recovery), another database,
// or tables that were made anew from a dump. Not detected: a snapshot of the whole disk or virtual
// machine that is rolled back.
import type { Connection } from '../opening/connection.ts'

/** Null, or a sentence for people. */
export async function movedSince(c: Connection): Promise<string | null> {
  const [row] = await c.query(
    `select ${c.schema}.incarnation() as present,
       (select value from ${c.schema}.meta where name = 'incarnation') as recorded`,
  )
  if (row?.['present'] === row?.['recorded']) return null
  return (
    `the database at ${c.url} is not the one that was made or last adopted there: it was ` +
    'restored, copied or failed over, and calls made since may be missing from it. Make sure ' +
    'that nobody works on the other one, then run `counterfoil store adopt`'
  )
}
