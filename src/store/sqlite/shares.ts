// Results of pure tools that runs share (B10). A row is a result, or the right to make it; either
// until its time. What does not verify is not there.
import { sharedText } from '../seal.ts'
import type { ShareAnswer, Shared, ShareKey } from '../store.ts'
import type { Connection } from './opening/connection.ts'

const ofKey = 'where namespace = ? and tool_name = ? and input_hash = ?'
const share = `select maker, until, result_json, external_id, mac from shares ${ofKey}`
const make = `insert into shares (namespace, tool_name, input_hash, maker, until)
  values (?, ?, ?, ?, ?)
  on conflict (namespace, tool_name, input_hash) do update set maker = excluded.maker,
    until = excluded.until, result_json = null, external_id = null, mac = null`
const made = `update shares set maker = null, until = ?, result_json = ?, external_id = ?, mac = ?
  ${ofKey} and maker = ? and until > ?`
const goneMaker = `select 1 from workers where worker_id = ?
  and (died_at is not null or stopped_at is not null or lease_until <= ?)`
const giveBack = `delete from shares ${ofKey} and maker = ? and until > ?`

const keyOf = ({ namespace, tool, inputHash }: ShareKey) => [namespace, tool, inputHash] as const

/** Looks first without the lock: most are used more often than made. */
export function takeShare(
  c: Connection,
  key: ShareKey,
  workerId: string,
  makeMs: number,
): ShareAnswer {
  const answer = c.plain(() => look(c, key))
  if (answer) return answer
  return c.write(() => {
    const meanwhile = look(c, key)
    if (meanwhile) return meanwhile
    c.sql(make).run(...keyOf(key), workerId, c.clock.now() + makeMs)
    return { do: 'make' }
  })
}

/** Null if there is nothing to use and nobody to wait for. */
function look(c: Connection, key: ShareKey): ShareAnswer | null {
  const row = c.sql(share).get(...keyOf(key))
  if (row === undefined || (row[1] as number) <= c.clock.now()) return null
  if (row[0] !== null) return isGone(c, row[0] as string) ? null : { do: 'wait' }
  const [, until, resultJson, externalId, mac] = row
  const shared = { resultJson, externalId } as Shared
  const right = c.sealer.verifies(mac as string, sharedText(key, shared, until as number))
  return right ? { do: 'use', shared } : null
}

/** Nobody waits for a maker that cannot come any more. */
function isGone(c: Connection, workerId: string): boolean {
  return c.sql(goneMaker).get(workerId, c.clock.mono()) !== undefined
}

export function putShare(
  c: Connection,
  key: ShareKey,
  workerId: string,
  shared: Shared | null,
  shareMs: number,
): void {
  const now = c.clock.now()
  c.plain(() => {
    if (shared === null) return c.sql(giveBack).run(...keyOf(key), workerId, now)
    const { resultJson, externalId } = shared
    const until = now + shareMs
    const mac = c.sealer.shared(key, shared, until)
    return c.sql(made).run(until, resultJson, externalId, mac, ...keyOf(key), workerId, now)
  })
}
