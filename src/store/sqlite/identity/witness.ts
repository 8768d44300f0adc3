// Owns: the witness, a small signed file beside the database that says how many write transactions
// it has acknowledged. A backup that is written over the database, or restored into it, takes the
// database back and not its witness: then calls that were made since are missing from it (I12).
// Invariants: it is never ahead of what is durable: it is written after the commit. It may be
// behind: by the commit that a kill cut off, or by what a power cut took, since only its making is
// synced. Two processes write the same record in place; the higher count stays.
// Not seen: a folder that goes back whole, the witness with it.
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { Sealer } from '../../seal.ts'
import { syncDirectory, writeDraft } from '../opening/key.ts'

/** One sector of any disk: a power cut leaves the old record or the new one. */
const recordBytes = 256
/** A reader may meet another process's write half done; it is over in a moment. */
const readsMax = 20

export type Seen =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'bad'; readonly why: string }

export function witnessPath(path: string): string {
  return `${path}.witness`
}

export function hasWitness(path: string): boolean {
  return existsSync(witnessPath(path))
}

export class Witness {
  readonly file: string
  private readonly path: string
  private readonly sealer: Sealer
  private readonly storeId: string
  private fd: number | null = null
  private readonly buffer = Buffer.alloc(recordBytes)
  /** The last record that was found to be right: most reads find the same again. */
  private known: { text: string | null; count: number } = { text: null, count: 0 }

  constructor(path: string, sealer: Sealer, storeId: string) {
    this.path = path
    this.file = witnessPath(path)
    this.sealer = sealer
    this.storeId = storeId
  }

  /** Made whole, under another name first. The caller has the write lock. */
  make(count: number): void {
    const draft = `${this.file}.next`
    rmSync(draft, { force: true })
    try {
      writeDraft(draft, this.record(count), statSync(this.path))
      renameSync(draft, this.file)
    } finally {
      rmSync(draft, { force: true })
    }
    syncDirectory(dirname(this.file))
    this.look()
  }

  /** By its name: it may have been deleted or exchanged since it was opened. */
  look(): Seen {
    try {
      const there = statSync(this.file, { bigint: true, throwIfNoEntry: false })
      const open = this.fd === null ? undefined : fstatSync(this.fd, { bigint: true })
      if (there === undefined || there.ino !== open?.ino || there.dev !== open.dev) this.close()
      if (there === undefined) return { kind: 'none' }
      this.fd ??= openSync(this.file, 'r+')
    } catch (error) {
      return { kind: 'bad', why: (error as Error).message }
    }
    return this.read()
  }

  /** Through what is open: a microsecond. */
  read(): Seen {
    if (this.fd === null) return { kind: 'none' }
    for (let reads = 0; reads < readsMax; reads++) {
      const bytes = readSync(this.fd, this.buffer, 0, recordBytes, 0)
      const count = this.parse(this.buffer.toString('latin1', 0, bytes))
      if (count !== null) return { kind: 'count', count }
    }
    return { kind: 'bad', why: 'it is not as it was signed, or belongs to another store' }
  }

  /** After the commit with this count. What cannot be written leaves it behind, which it may be. */
  raise(count: number): void {
    if (this.fd === null) return
    try {
      const seen = this.read()
      if (seen.kind !== 'count' || seen.count >= count) return
      const text = this.record(count)
      writeSync(this.fd, text, 0, 'latin1')
      this.known = { text, count }
    } catch {
      // The commit is durable all the same.
    }
  }

  close(): void {
    if (this.fd !== null) closeSync(this.fd)
    this.fd = null
  }

  private parse(text: string): number | null {
    if (text === this.known.text) return this.known.count
    const [, storeId, digits, mac] = /^counterfoil (\w+) (\d+) (\S+) *\n$/.exec(text) ?? []
    const count = Number(digits)
    if (mac === undefined || storeId !== this.storeId) return null
    if (!this.sealer.verifies(mac, signedText(storeId, count))) return null
    this.known = { text, count }
    return count
  }

  private record(count: number): string {
    const mac = this.sealer.witness(signedText(this.storeId, count))
    const line = `counterfoil ${this.storeId} ${count} ${mac}`
    return `${line.padEnd(recordBytes - 1)}\n`
  }
}

function signedText(storeId: string, count: number): string {
  return JSON.stringify(['witness', storeId, count])
}
