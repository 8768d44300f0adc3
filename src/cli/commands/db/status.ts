// counterfoil db status
import type { Command } from 'commander'
import {
  type GivenRole,
  type PostgresStatus,
  postgresStatus,
} from '../../../store/postgres/index.ts'
import { addGlobals, type Cli, cliOf } from '../../cli.ts'
import { field } from '../../show/fields.ts'
import { plural } from '../../show/text.ts'
import { atServer, serverOf } from './server.ts'

const help = `
Which server and schema it is, which steps are applied and which are missing,
whether the server keeps what it acknowledges, and which roles have rights.
It changes nothing, and looks also at a server that a store would refuse.

Example:
  counterfoil db status --json | jq .pending`

export function addDbStatus(db: Command): void {
  const command = db
    .command('status')
    .description('server, schema, missing steps, durability, roles')
    .addHelpText('after', help)
    .action(() => showStatus(cliOf(command)))
  addGlobals(command)
}

async function showStatus(cli: Cli): Promise<void> {
  const where = serverOf(cli, 'db status')
  const status = await atServer(cli, 'asking the server', () => postgresStatus(where))
  cli.out.data(statusJson(status))
  cli.out.text(...statusLines(cli, status))
}

function statusLines(cli: Cli, status: PostgresStatus): string[] {
  const { server, schema, applied, pending } = status
  const { colors } = cli.out
  const red = (lines: string[]) => lines.map((line) => colors.red(line))
  const kind = server.standby ? ', a standby, which cannot be written' : ''
  const durable = field(cli, 'durable', durability(status))
  const steps = `${schema} (${plural(applied.length, 'step')})`
  return [
    colors.bold(status.url),
    ...field(cli, 'server', `Postgres ${server.version}${kind}`),
    ...field(cli, 'database', `${server.database}, ${server.encoding}, as ${server.user}`),
    ...field(cli, 'schema', applied.length === 0 ? `${schema} is not there yet` : steps),
    ...(pending.length === 0 ? [] : red(field(cli, 'pending', pendingWords(status)))),
    ...(server.fsync === 'on' ? durable : red(durable)),
    ...roleLines(cli, status),
  ]
}

function pendingWords({ pending, mayMigrate, server }: PostgresStatus): string {
  const how = mayMigrate
    ? 'counterfoil db migrate applies them'
    : `${server.user} may not apply them; run counterfoil db migrate as who owns the tables`
  return `${pending.join(', ')}; ${how}`
}

function durability({ server }: PostgresStatus): string {
  const standbys = server.synchronousStandbyNames || 'none'
  const values = [
    `fsync ${server.fsync}`,
    `full_page_writes ${server.fullPageWrites}`,
    `synchronous_commit ${server.synchronousCommit}`,
    `synchronous standbys: ${standbys}`,
  ]
  const refused = server.fsync === 'on' ? '' : '; a store is not opened here (STORE_NOT_DURABLE)'
  return `${values.join(', ')}${refused}`
}

function roleLines(cli: Cli, { roles, applied }: PostgresStatus): string[] {
  if (roles.length > 0) return roles.flatMap((role) => field(cli, role.kind, roleWords(role)))
  if (applied.length === 0) return []
  return field(cli, 'roles', 'none: who owns the tables does everything (counterfoil db roles)')
}

export function roleWords({ name, exists, login, members }: GivenRole): string {
  if (!exists) return `${name}, which is gone; counterfoil db roles makes it again`
  const who = members.length === 0 ? '' : `; members: ${members.join(', ')}`
  return `${name}, ${login ? 'with a login' : 'without a login'}${who}`
}

function statusJson({ url, schema, applied, pending, server, mayMigrate, roles }: PostgresStatus) {
  return {
    store: url,
    schema,
    applied,
    pending,
    may_migrate: mayMigrate,
    server: {
      version: server.version,
      database: server.database,
      user: server.user,
      encoding: server.encoding,
      standby: server.standby,
      fsync: server.fsync,
      full_page_writes: server.fullPageWrites,
      synchronous_commit: server.synchronousCommit,
      synchronous_standby_names: server.synchronousStandbyNames,
    },
    roles,
  }
}
