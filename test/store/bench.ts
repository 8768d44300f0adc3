// What the tests of the SQLite store share: folders, raw connections, and programs in processes of
// their own.
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { build } from 'tsdown'
import { afterAll } from 'vitest'
import { openSqlite } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/index.ts'

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-sqlite-'))
  folders.push(folder)
  return folder
}

export const newPath = (): string => join(newFolder(), 'runs.db')

/** Opens, works, closes. */
export async function using<T>(
  path: string,
  fn: (store: Store, clock: ManualClock) => Promise<T>,
  more: { key?: string } = {},
): Promise<T> {
  const clock = manualClock()
  const store = await openSqlite({ path, clock, ...more })
  try {
    return await fn(store, clock)
  } finally {
    await store.close()
  }
}

/** Another program's connection. */
export function raw<T>(path: string, fn: (db: Database.Database) => T): T {
  const db = new Database(path)
  try {
    return fn(db)
  } finally {
    db.close()
  }
}

/** Every file of a folder with the hash of its bytes. */
export function contents(folder: string): Record<string, string> {
  const hash = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
  return Object.fromEntries(readdirSync(folder).map((name) => [name, hash(name)]))
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Builds child.ts into a folder where anyone may read it and better-sqlite3 is found. */
export async function buildChild(): Promise<string> {
  const cache = join(root, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const outDir = mkdtempSync(join(cache, 'store-child-'))
  folders.push(outDir)
  chmodSync(outDir, 0o755)
  await build({
    config: false,
    cwd: root,
    entry: { child: 'test/store/child.ts' },
    outDir,
    platform: 'node',
    dts: false,
    clean: false,
    logLevel: 'silent',
    // One file: what is copied beside it then lies where the store looks for it.
    outputOptions: { codeSplitting: false },
  })
  cpSync(join(root, 'src/store/sqlite/migrations'), join(outDir, 'migrations'), { recursive: true })
  return join(outDir, readdirSync(outDir).find((name) => /^child\.m?js$/.test(name)) ?? '')
}

export interface Ended {
  code: number | null
  /** The last line of output, which is JSON. */
  said: Record<string, unknown>
  errors: string
}

export function start(command: string, args: string[], uid?: number): ChildProcess {
  const user = uid === undefined ? {} : { uid, gid: uid }
  return spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...user })
}

export function ended(child: ChildProcess): Promise<Ended> {
  let text = ''
  let errors = ''
  child.stdout?.on('data', (data) => {
    text += data
  })
  child.stderr?.on('data', (data) => {
    errors += data
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      const last = text.trim().split('\n').at(-1) ?? ''
      resolve({ code, said: last.startsWith('{') ? JSON.parse(last) : {}, errors })
    })
  })
}
