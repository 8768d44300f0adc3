// A real PgBouncer in transaction mode in front of the test server: on loopback, not as root.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { freePort, serverUser } from './server.ts'

export interface Pooler {
  /** Of the server behind it, by way of the pooler. */
  readonly url: string
  /** What its console answers, as `show pools`. */
  show(what: 'pools' | 'stats'): Promise<Record<string, unknown>[]>
  stop(): Promise<void>
}

/** Its path, or null where it is not installed. */
export function findPgbouncer(): string | null {
  for (const command of ['pgbouncer', '/usr/sbin/pgbouncer']) {
    try {
      execFileSync(command, ['--version'], { stdio: 'ignore' })
      return command
    } catch {
      // The next place.
    }
  }
  return null
}

/** Since 1.21 it can keep statements prepared by name apart; before, it has no such setting. */
export function withoutPrepared(command: string): string[] {
  const text = execFileSync(command, ['--version'], { encoding: 'utf8' })
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(text) ?? []).map(Number)
  return major > 1 || minor >= 21 ? ['max_prepared_statements = 0'] : []
}

const startMsMax = 40_000

/** `more`: lines of its configuration. */
export async function startPgbouncer(
  command: string,
  server: string,
  more: readonly string[] = [],
): Promise<Pooler> {
  const behind = new URL(server)
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-pgbouncer-'))
  const port = await freePort()
  const user = serverUser()
  const file = (name: string, lines: readonly string[]) => {
    const path = join(folder, name)
    writeFileSync(path, `${lines.join('\n')}\n`)
    if (user.uid !== undefined) chownSync(path, user.uid, user.gid ?? 0)
    return path
  }
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid ?? 0)
  const password = decodeURIComponent(behind.password)
  const users = file('users', [`"${behind.username}" "${password}"`])
  const config = file('pgbouncer.ini', [
    '[databases]',
    `* = host=${behind.hostname} port=${behind.port}`,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir ='],
    ...['auth_type = scram-sha-256', `auth_file = ${users}`, `admin_users = ${behind.username}`],
    // Far fewer connections than clients: every transaction takes whichever is free.
    ...['pool_mode = transaction', 'default_pool_size = 3', 'max_client_conn = 200'],
    `logfile = ${join(folder, 'log')}`,
    ...more,
  ])
  const child = spawn(command, [config], { ...user, stdio: 'ignore' })
  const at = (database: string) => {
    const url = new URL(server)
    url.port = String(port)
    url.pathname = `/${database}`
    return url.href
  }
  await answering(at('pgbouncer'), child, join(folder, 'log'))
  const url = new URL(server)
  url.port = String(port)
  return {
    url: url.href,
    show: (what) => ask(at('pgbouncer'), `show ${what}`),
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function ask(url: string, text: string): Promise<Record<string, unknown>[]> {
  const plain = new URL(url)
  plain.search = ''
  const client = new pg.Client({ connectionString: plain.href, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(text)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

async function answering(url: string, child: ChildProcess, log: string): Promise<void> {
  const untilMs = performance.now() + startMsMax
  for (;;) {
    try {
      await ask(url, 'show version')
      return
    } catch (error) {
      if (child.exitCode !== null || performance.now() > untilMs) {
        child.kill('SIGKILL')
        throw new Error(`PgBouncer did not start: ${String(error)}\n${readFileSync(log, 'utf8')}`)
      }
    }
    await pause(50)
  }
}
