// The store contract. A store keeps rows; it knows nothing of tools or nodes. It is made of ports,
// each in a file of its own, and each there whole or not at all:
//
//   ledger     runs and all that is on record about them: the only port that writes for a run
//   leases     workers, what each of them holds, and what somebody has to take
//   inbox      what waits for people, and what they said
//
// These three are the core: with them, graphs run, park, are decided and resume, and a killed
// worker's runs are taken over. The others add to it; ports.ts says what is missing without each:
//
//   retention  takes rows of ended runs when their time is over
//   shares     one result of a pure tool for many runs
//   blobs      rows whose large values lie elsewhere
//   documents  the server's own small rows, and the outbox of what people outside are told
//   threads    the steps of a foreign runtime's threads
//   facts      what it tells of itself, for status, metrics and alarms
//   keys       a new key signs
//   moves      whether it is still the store that it was made as
//
// What a write may hold, what is final, who may claim and what is kept is not for a store to
// decide: the rules are pure functions that all of them ask (policy.ts, commit-rules.ts,
// finality.ts, family.ts, fair.ts, claim-rules.ts, retention.ts, rules/). A store signs its rows
// itself, with the sealer of seal.ts, and answers for each row whether its MAC is right.
import type { Clock } from '../clock.ts'
import type { BlobsPort } from './ports/blobs.ts'
import type { DocumentsPort } from './ports/documents.ts'
import type { FactsPort } from './ports/facts.ts'
import type { InboxPort } from './ports/inbox.ts'
import type { KeysPort } from './ports/keys.ts'
import type { LeasesPort, Renewal } from './ports/leases.ts'
import type { LedgerPort } from './ports/ledger.ts'
import type { MovesPort } from './ports/moves.ts'
import type { RetentionPort } from './ports/retention.ts'
import type { SharesPort } from './ports/shares.ts'
import type { ThreadsPort } from './ports/threads.ts'

export type * from './ports/blobs.ts'
export type * from './ports/changes.ts'
export type * from './ports/documents.ts'
export type * from './ports/facts.ts'
export type * from './ports/inbox.ts'
export type * from './ports/keys.ts'
export type * from './ports/leases.ts'
export type * from './ports/ledger.ts'
export type * from './ports/moves.ts'
export type * from './ports/page.ts'
export type * from './ports/retention.ts'
export type * from './ports/shares.ts'
export type * from './ports/threads.ts'

/** What every store says and does, whichever ports it has. */
export interface StoreBase {
  readonly url: string
  /** The time that rows are written with: this machine's, or that of a server all share. */
  readonly clock: Clock
  /**
   * Milliseconds like the clock's, which nobody can set back: for windows that must not open again.
   */
  readonly steadyNow: () => number
  /** Whether every process that uses it runs on this machine. */
  readonly local: boolean
  /** How many batches it writes at once; one, if it is not said. */
  readonly batchesMax?: number
  /** Null where nobody else could take a run over. */
  readonly renewal: Renewal | null
  /** What this store does not promise, in sentences for people; empty for a durable one. */
  readonly caveats: readonly string[]
  /**
   * Calls `listener` after a write of this process that started, woke, parked or ended a run (not
   * after every receipt); the returned function stops it.
   */
  onChange(listener: () => void): () => void
  close(): Promise<void>
}

/** A port, with the time that its rows are written with. */
export type Timed<P> = P & Pick<StoreBase, 'clock'>

/** The least that can be opened. */
export interface CoreStore extends StoreBase, LedgerPort, LeasesPort, InboxPort {}

/** Every port by its name. */
export interface Ports {
  ledger: LedgerPort
  leases: LeasesPort
  inbox: InboxPort
  retention: RetentionPort
  shares: SharesPort
  blobs: BlobsPort
  documents: DocumentsPort
  threads: ThreadsPort
  facts: FactsPort
  keys: KeysPort
  moves: MovesPort
}

export type Port = keyof Ports

/** A whole store: what is inside Counterfoil, where a port that is missing refuses when called. */
export interface Store
  extends CoreStore,
    RetentionPort,
    SharesPort,
    BlobsPort,
    DocumentsPort,
    ThreadsPort,
    FactsPort,
    KeysPort,
    MovesPort {}

/** All of a port or nothing of it: half a port is a slip. */
type Maybe<P> = P | { readonly [K in keyof P]?: undefined }

/** A store of a user's own, for `open({ store })`: the core, and whichever other ports it has. */
export type OwnStore = CoreStore &
  Maybe<RetentionPort> &
  Maybe<SharesPort> &
  Maybe<BlobsPort> &
  Maybe<DocumentsPort> &
  Maybe<ThreadsPort> &
  Maybe<FactsPort> &
  Maybe<KeysPort> &
  Maybe<MovesPort>
