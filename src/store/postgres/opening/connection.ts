// The pool, and the only ways to ask the server something. Nothing here depends on what a session
// remembers: every statement names its schema, settings are those of one transaction; so a pooler
// may give each transaction another connection. Calls of the schema's functions are prepared by
// name, which saves the server a quarter of a commit, until a pooler shows that it is there.
import type { Socket } from 'node:net'
import type pg from 'pg'
import type { Clock } from '../../../clock.ts'
import { sha256 } from '../../../model/json/canonical.ts'
import type { ServerClock } from '../server-clock.ts'
import type { Columns } from '../tables.ts'
import { clean } from '../text.ts'
import { isUnprepared, keepsConnection, storeError, translate } from './errors.ts'
import type { Keys } from './key.ts'
import type { Location } from './location.ts'

/** A statement that has not been answered by then counts as unknown, and its connection is gone. */
export const answerMs = 15_000

/** `prepares`: by name, if it may be; not within a transaction, which an error would end. */
export type Query = (
  text: string,
  values?: unknown[],
  timeoutMs?: number,
  prepares?: boolean,
) => Promise<Columns[]>

const names = new Map<string, string>()

/** Of the text, so that a session that somebody else has left prepares nothing else by it. */
function nameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const name = `counterfoil_${sha256(text).slice(0, 24)}`
  names.set(text, name)
  return name
}

/** So long a server may take to answer a goodbye; in a black hole it never does. */
const goodbyeMs = 2_000

/** Ends lines in order, or at least ends them. */
export async function hangUp(
  clock: Clock,
  goodbye: Promise<unknown>,
  clients: () => readonly pg.ClientBase[],
): Promise<void> {
  let cancel = () => {}
  const late = new Promise<'late'>((resolve) => {
    cancel = clock.after(goodbyeMs, () => resolve('late'))
  })
  const end = await Promise.race([goodbye.catch(() => {}), late])
  cancel()
  if (end !== 'late') return
  for (const client of clients()) {
    const { connection } = client as pg.ClientBase & { connection: { stream: Socket } }
    connection.stream.destroy()
  }
}

export class Connection {
  readonly pool: pg.Pool
  readonly location: Location
  readonly clock: ServerClock
  /** The schema as it is written in SQL. */
  readonly schema: string
  readonly url: string
  /** Process ids of our own sessions, to tell our notifications from others'. */
  readonly sessions = new Set<number>()
  private readonly clients = new Set<pg.PoolClient>()
  /** Errors of those who found no connection: nothing was sent. */
  private readonly unsent = new WeakSet<object>()
  /** Lines that lead to the database that was adopted. */
  private readonly home = new WeakSet<pg.PoolClient>()
  /** Runs of whose last commit nobody knows whether it has landed, or may yet (commit.ts). */
  readonly unheard = new Set<string>()
  /** Whether statements are prepared by name, which not every pooler can bear. */
  private named: boolean
  private held: Keys | null = null
  private closed = false
  private looking = false

  constructor(pool: pg.Pool, location: Location, clock: ServerClock, named: boolean) {
    this.pool = pool
    this.named = named
    this.location = location
    this.clock = clock
    this.schema = `"${location.schema}"`
    this.url = location.url
    pool.on('connect', (client) => this.watch(client))
    // An idle connection that breaks is replaced by the pool; there is nothing to tell.
    pool.on('error', () => {})
  }

  get keys(): Keys {
    if (this.held === null) throw new Error('the keys have not been read yet')
    return this.held
  }

  set keys(keys: Keys) {
    this.held = keys
  }

  /** Rows of a statement that is a transaction of its own. */
  async query(text: string, values: unknown[] = [], timeoutMs = answerMs): Promise<Columns[]> {
    const rows = await this.within((query) => query(text, values, timeoutMs))
    this.lookAtClock()
    return rows
  }

  /** Calls one of the schema's functions; `$1 …` are its arguments. */
  async call(name: string, values: unknown[], timeoutMs?: number): Promise<Columns[]> {
    const marks = values.map((_, i) => `$${i + 1}`).join(', ')
    return this.one(`select * from ${this.schema}.${name}(${marks})`, values, timeoutMs)
  }

  /** The one value that a function answers. */
  async ask<T>(name: string, values: unknown[], timeoutMs?: number): Promise<T> {
    const marks = values.map((_, i) => `$${i + 1}`).join(', ')
    // Not `select * from`: that keeps the answer in a table of its own first.
    const text = `select ${this.schema}.${name}(${marks}) as answer`
    const [row] = await this.one(text, values, timeoutMs)
    return row?.['answer'] as T
  }

  /** A statement whose text comes again and again. */
  private async one(text: string, values: unknown[], timeoutMs?: number): Promise<Columns[]> {
    const rows = await this.within((query) => query(text, values, timeoutMs, true))
    this.lookAtClock()
    return rows
  }

  /**
   * As `ask`, for what a holder writes (I12): a line that was made anew may lead to a server that
   * was promoted or restored meanwhile, and lacks what this process has acted on. So the first such
   * statement of each line looks first.
   */
  async askAtHome<T>(name: string, values: unknown[]): Promise<T> {
    const marks = values.map((_, i) => `$${i + 1}`).join(', ')
    const text = `select ${this.schema}.${name}(${marks}) as answer`
    const [row] = await this.within(async (query, client) => {
      if (!this.home.has(client)) await this.checkHome(query)
      this.home.add(client)
      return query(text, values, answerMs, true)
    })
    this.lookAtClock()
    return row?.['answer'] as T
  }

  private async checkHome(query: Query): Promise<void> {
    const [row] = await query(
      `select ${this.schema}.incarnation() = value as same from ${this.schema}.meta
       where name = 'incarnation'`,
    )
    if (row?.['same'] !== true) throw storeError('STORE_MOVED', this.url)
  }

  /** What `fn` throws takes everything back and is passed on as it is. */
  transaction<T>(fn: (query: Query) => Promise<T>): Promise<T> {
    return this.within(async (query) => {
      await query('begin')
      let value: T
      try {
        value = await fn(query)
      } catch (error) {
        // The error that led here says more than another one.
        await query('rollback').catch(() => {})
        throw error
      }
      await query('commit')
      return value
    })
  }

  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    await hangUp(this.clock, this.pool.end(), () => [...this.clients])
  }

  get isClosed(): boolean {
    return this.closed
  }

  /** A round trip for the clock. */
  measure(): Promise<void> {
    return this.within(async (query) => {
      const sentMs = this.clock.mono()
      const [row] = await query(`select ${this.schema}.now_ms() as at`)
      this.clock.heard(sentMs, row?.['at'] as number)
    })
  }

  private watch(client: pg.PoolClient): void {
    // A connection that breaks while it is ours says so by the statement that fails.
    client.on('error', () => {})
    this.clients.add(client)
    client.once('end', () => this.clients.delete(client))
    const { processID } = client as pg.PoolClient & { processID?: number }
    if (processID === undefined || processID === null) return
    this.sessions.add(processID)
    client.once('end', () => this.sessions.delete(processID))
  }

  private async checkOut(): Promise<pg.PoolClient> {
    if (this.closed) throw storeError('STORE_CLOSED', this.url)
    try {
      return await this.pool.connect()
    } catch (error) {
      const said = translate(error, this.url)
      if (typeof said === 'object' && said !== null) this.unsent.add(said)
      throw said
    }
  }

  /** Whether it is certain that a statement which failed so never went up. */
  isUnsent(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.unsent.has(error)
  }

  /** With one connection; after an error of the line it is thrown away. */
  private async within<T>(fn: (query: Query, client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.checkOut()
    let broken: unknown = null
    const query: Query = async (text, values = [], timeoutMs = answerMs, prepares = false) => {
      const tidy = values.map((value) => (typeof value === 'string' ? clean(value) : value))
      // Nothing more comes by this line: a rollback would be waited for as long again.
      if (broken !== null) throw broken
      // `pg` takes a time limit for one statement; its types do not say so.
      const config = { text, values: tidy, query_timeout: timeoutMs }
      const name = prepares && this.named ? { name: nameOf(text) } : {}
      try {
        return (await client.query<Columns>({ ...config, ...name })).rows
      } catch (error) {
        if (name.name !== undefined && isUnprepared(error)) {
          this.named = false
          return query(text, values, timeoutMs)
        }
        const said = translate(error, this.url)
        if (!keepsConnection(error)) broken = said
        throw said
      }
    }
    try {
      return await fn(query, client)
    } finally {
      client.release(broken !== null)
    }
  }

  private lookAtClock(): void {
    if (this.looking || !this.clock.isStale()) return
    this.looking = true
    this.measure()
      // The next statement looks again.
      .catch(() => {})
      .finally(() => {
        this.looking = false
      })
  }
}
