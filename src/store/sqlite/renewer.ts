// Renews a worker's lease from a thread of its own, while the event loop of the store's thread is
// blocked. A connection of its own, which does nothing else; it need not be durable: a power cut
// ends the boot, and with it every lease.
import Database from 'better-sqlite3'
import { systemClock } from '../../clock.ts'
import type { Renewer } from '../store.ts'
import { movedSince } from './identity/incarnation.ts'
import { exchangedSince, type Place } from './identity/place.ts'
import { renewal } from './lease.ts'
import { storeError, translate } from './opening/errors.ts'

export interface RenewerData {
  readonly path: string
  /** The files of the connection that the lease is for. */
  readonly place: Place | null
}

// Well within a lease: the next renewal is tried soon.
const busyMs = 2_000

/** False also when the store has moved: whoever adopts it must find no lease held (I12). */
export async function openRenewer(data: unknown): Promise<Renewer> {
  const { path, place } = data as RenewerData
  const asOurs = <T>(fn: () => T): T => {
    try {
      return fn()
    } catch (error) {
      throw translate(error, path)
    }
  }
  if (exchangedSince(path, place) !== null) {
    return { renew: async () => false, close: async () => {} }
  }
  const db = asOurs(() => new Database(path, { timeout: busyMs, fileMustExist: true }))
  const sql = (text: string) => {
    const statement = db.prepare<unknown[], unknown[]>(text)
    return statement.reader ? statement.raw(true) : statement
  }
  return {
    renew: async (workerId, leaseMs) => {
      if (!db.open) throw storeError('STORE_CLOSED', path)
      return asOurs(() => {
        if (movedSince({ path, sql, place, witness: null, lost: null }) !== null) return false
        return sql(renewal).run(systemClock.mono() + leaseMs, workerId).changes === 1
      })
    },
    close: async () => void db.close(),
  }
}
