// Liveness on one machine (I9): every worker listens on a Unix socket (a named pipe on Windows).
// The kernel closes it with the process, so a refused connection proves a death; a stopped process
// still accepts. Where a name of a machine is certain, so does another boot of it. Anything else
// proves nothing, and the lease counts.
import { chmodSync, lstatSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { errorFor } from '../model/errors.ts'
import { isOtherBoot } from '../store/boot.ts'
import type { LeasesPort, StoreBase, WorkerRow } from '../store/store.ts'
import { isCertain, type Machine } from './machine.ts'

export interface Listening {
  readonly path: string
  readonly inode: string | null
  close(): Promise<void>
}

/** How a worker shows that it lives, and sees that others do not. */
export interface Liveness {
  listen(workerId: string): Promise<Listening>
  declareDead(
    store: LeasesPort & Pick<StoreBase, 'local'>,
    own: Machine & { readonly workerId: string | null },
  ): Promise<void>
}

const windows = process.platform === 'win32'
const socketDirLengthMax = 70

export async function listen(workerId: string): Promise<Listening> {
  const path = windows
    ? `\\\\.\\pipe\\counterfoil-${workerId}`
    : join(socketDir(), `${workerId}.sock`)
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // Exclusive: under node:cluster the socket would be the parent's, and outlive this process.
    server.listen({ path, exclusive: true }, resolve)
  })
  server.unref()
  return { path, inode: inodeOf(path), close: () => closeServer(server, path) }
}

// Local, because of what it proves. Short, because a socket's path may have about 100 characters,
// and a longer one is cut without a word. Ours alone, because whoever can replace a socket can fake
// a death.
function socketDir(): string {
  const own = `counterfoil-${userInfo().uid}`
  const base = [tmpdir(), '/tmp'].find((dir) => join(dir, own).length <= socketDirLengthMax)
  const dir = join(base ?? '/tmp', own)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const { uid } = lstatSync(dir)
  if (!lstatSync(dir).isDirectory() || uid !== userInfo().uid) {
    throw errorFor('WORKER_SOCKET_DIR', dir)
  }
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

/** Whether a worker of this machine is dead for certain; the sentence is its proof. */
export async function proofOfDeath(
  store: Pick<StoreBase, 'local'>,
  worker: WorkerRow,
  { host, bootId }: Machine,
): Promise<string | null> {
  if (worker.host !== host) return null
  const certain = isCertain(store, host)
  if (isOtherBoot(worker.bootId, bootId)) {
    return certain ? 'the machine was restarted since' : null
  }
  // A boot that is not known may be another machine's of the same name.
  if (!certain && (bootId === 'unknown' || worker.bootId !== bootId)) return null
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
  store: LeasesPort & Pick<StoreBase, 'local'>,
  own: Machine & { readonly workerId: string | null },
): Promise<void> {
  for (const worker of await store.workers({ provable: true })) {
    if (worker.workerId === own.workerId) continue
    const proof = await proofOfDeath(store, worker, own)
    if (proof === null) continue
    await store.declareDead(worker.workerId, proof)
    removeSocket(worker)
  }
}

export const sockets: Liveness = { listen, declareDead }

/** The file has proven what it could. Only our own socket: a path in a row is nobody's promise. */
function removeSocket({ workerId, socketPath }: WorkerRow): void {
  if (windows || socketPath === null) return
  const path = join(socketDir(), `${workerId}.sock`)
  if (path !== socketPath || !lstatSync(path, { throwIfNoEntry: false })?.isSocket()) return
  rmSync(path, { force: true })
}
