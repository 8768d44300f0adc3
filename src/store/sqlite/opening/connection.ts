// One connection with its statements, and the only ways to begin and end a transaction.
import type Database from 'better-sqlite3'
import type { Clock } from '../../../clock.ts'
import type { Sealer } from '../../seal.ts'
import { exchangedSince, type Place } from '../identity/place.ts'
import type { Witness } from '../identity/witness.ts'
import { storeError, translate } from './errors.ts'

const nextCount = `update meta set value = cast(value as integer) + 1
  where name = 'commits' and cast(value as integer) >= ? returning value`

/** Rows come as arrays, in the order of the select list. */
export type Statement = Database.Statement<unknown[], unknown[]>

export class Connection {
  readonly db: Database.Database
  readonly path: string
  readonly clock: Clock
  readonly bootId: string
  readonly sealer: Sealer
  /** The group that a claim served last (fair.ts): each process goes round by itself. */
  served = ''
  /** Set when it is opened (steady.ts). */
  steadyNow: () => number = () => this.clock.now()
  /** Null until it has written for the first time, which makes the log. */
  place: Place | null = null
  /** Null while the store is being opened. */
  witness: Witness | null = null
  /** Why nothing that is written here can be kept (overwritten.ts). */
  lost: string | null = null
  /** Whether the transaction under way found the database behind its witness. */
  behind = false
  private readonly prepared = new Map<string, Statement>()

  constructor(db: Database.Database, path: string, clock: Clock, bootId: string, sealer: Sealer) {
    this.db = db
    this.path = path
    this.clock = clock
    this.bootId = bootId
    this.sealer = sealer
  }

  /** Prepared once, and kept. */
  sql(text: string): Statement {
    const known = this.prepared.get(text)
    if (known) return known
    const statement = this.db.prepare<unknown[], unknown[]>(text)
    if (statement.reader) statement.raw(true)
    this.prepared.set(text, statement)
    return statement
  }

  /**
   * Takes the write lock first, so that what `fn` reads is what its writes stand on. What was
   * written into a file that is not at its path any more is not acknowledged: SQLite itself does
   * not notice that (I12).
   */
  write<T>(fn: () => T): T {
    let count: number | null = null
    const value = this.within('begin immediate', () => {
      count = this.count()
      return fn()
    })
    if (count !== null) this.witness?.raise(count)
    const says = this.lost ?? exchangedSince(this.path, this.place)
    if (says !== null) throw storeError('STORE_MOVED', this.path, { says })
    return value
  }

  /**
   * The number of this transaction; null where acknowledged ones are missing: it must not count
   * itself up to where nobody would notice.
   */
  count(): number | null {
    if (this.witness === null) return null
    const seen = this.witness.read()
    const row = this.sql(nextCount).get(seen.kind === 'count' ? seen.count : 0)
    this.behind = row === undefined
    return row === undefined ? null : Number(row[0])
  }

  /** All reads of `fn` see the same moment. */
  read<T>(fn: () => T): T {
    return this.within('begin', fn)
  }

  /** A single statement needs no transaction around it. */
  plain<T>(fn: () => T): T {
    if (!this.db.open) throw storeError('STORE_CLOSED', this.path)
    try {
      return fn()
    } catch (error) {
      throw translate(error, this.path)
    }
  }

  private within<T>(begin: string, fn: () => T): T {
    return this.plain(() => {
      try {
        this.sql(begin).run()
        const value = fn()
        this.sql('commit').run()
        return value
      } catch (error) {
        this.undo()
        throw error
      }
    })
  }

  /** SQLite undoes some transactions by itself; none may be left open, or the next begin fails. */
  private undo(): void {
    if (!this.db.open || !this.db.inTransaction) return
    try {
      this.sql('rollback').run()
    } catch {
      // The error that led here says more than this one.
    }
  }
}
