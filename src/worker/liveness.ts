// Liveness on one machine (I9): every worker listens on a Unix socket (a named pipe on Windows).
// The kernel closes it with the process, so a refused connection proves a death; a stopped process
// still accepts. Anything else proves nothing, and the lease counts.
import { chmodSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Store, WorkerRow } from '../store/store.ts'

export interface Listening {
  readonly path: string
  readonly inode: string | null
  close(): Promise<void>
}

const windows = process.platform === 'win32'

export async function listen(workerId: string): Promise<Listening> {
  const path = windows
    ? `\\\\.\\pipe\\counterfoil-${workerId}`
    : join(socketDir(), `${workerId}.sock`)
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  server.unref()
  return { path, inode: inodeOf(path), close: () => closeServer(server, path) }
}

// Short, because a socket's path may have about 100 characters; local, because of what it proves.
function socketDir(): string {
  const dir = join(tmpdir(), `counterfoil-${userInfo().uid}`)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  chmodSync(dir, 0o700)
  return dir
}

function inodeOf(path: string): string | null {
  if (windows) return null
  try {
    return String(statSync(path, { bigint: true }).ino)
  } catch {
    return null
  }
}

function closeServer(server: Server, path: string): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      if (!windows) rmSync(path, { force: true })
      resolve()
    })
  })
}

/** Whether the worker is dead for certain; the sentence is its proof. */
export async function proofOfDeath(worker: WorkerRow, bootId: string): Promise<string | null> {
  if (worker.bootId !== bootId) return 'the machine was started anew since'
  const { socketPath, socketInode } = worker
  if (socketPath === null) return null
  if (!windows && (socketInode === null || inodeOf(socketPath) !== socketInode)) return null
  const code = await new Promise<string>((resolve) => {
    const socket = connect(socketPath)
    socket.once('connect', () => resolve('connected'))
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'))
    socket.setTimeout(1_000, () => resolve('timeout'))
    socket.once('connect', () => socket.destroy())
    socket.once('timeout', () => socket.destroy())
  })
  const refused = windows ? 'ENOENT' : 'ECONNREFUSED'
  if (code !== refused || (!windows && inodeOf(socketPath) !== socketInode)) return null
  return `pid ${worker.pid}: nobody listens on its socket (${refused}), same boot, same inode`
}

/**
 * Declares those workers of this machine dead that are, so that their runs are taken over at once.
 */
export async function declareDead(
  store: Store,
  own: { workerId: string | null; bootId: string; host: string },
): Promise<void> {
  for (const worker of await store.workers({ provable: true })) {
    if (worker.workerId === own.workerId || worker.host !== own.host) continue
    const proof = await proofOfDeath(worker, own.bootId)
    if (proof === null) continue
    await store.declareDead(worker.workerId, proof)
    // On record it is; the file it left behind has proven what it could.
    if (worker.socketPath && !windows) rmSync(worker.socketPath, { force: true })
  }
}
