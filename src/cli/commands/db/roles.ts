// counterfoil db roles
import type { Command } from 'commander'
import { createPostgresRoles, type GivenRole } from '../../../store/postgres/index.ts'
import { addGlobals, type Cli, cliOf } from '../../cli.ts'
import { field } from '../../show/fields.ts'
import { wrap } from '../../show/text.ts'
import { usageError } from '../../usage.ts'
import { atServer, serverOf } from './server.ts'
import { roleWords } from './status.ts'

interface Options {
  worker: string
  reader: string
}

const help = `
The worker's role can do all that a worker does, and the clients and the
command line with it, but for db and store adopt. It writes only by calling
functions of the schema: no statement of its own rewrites or deletes a settled
call, an attempt, a decision, an event or a run. The reader's role reads.

Run it as the user that owns the tables and may make roles. Roles that are not
there are made, without a login. Run again, it changes nothing; with other
names, the former roles lose their rights.

Example:
  counterfoil db roles --store postgres://admin@db.internal/agents
  psql -c "create user agents in role counterfoil_worker password '…'"`

export function addDbRoles(db: Command): void {
  const command = db
    .command('roles')
    .description('make the roles of workers and readers, and give them their rights')
    .option('--worker <name>', 'the role of workers', 'counterfoil_worker')
    .option('--reader <name>', 'the role of those who only look', 'counterfoil_reader')
    .addHelpText('after', help)
    .action((options: Options) => giveRoles(cliOf(command), options))
  addGlobals(command)
}

async function giveRoles(cli: Cli, { worker, reader }: Options): Promise<void> {
  if (worker === reader) throw usageError('--worker and --reader must be different roles')
  const where = serverOf(cli, 'db roles')
  const work = () => createPostgresRoles(where, { worker, reader })
  const roles = await atServer(cli, 'giving rights', work)
  cli.out.data({ roles })
  cli.out.text(
    ...roles.flatMap((role) => field(cli, role.kind, roleWords(role))),
    ...nextWords(cli, roles),
  )
}

/** Nobody can come in by a role that has neither a login nor members. */
function nextWords(cli: Cli, roles: readonly GivenRole[]): string[] {
  const idle = roles.filter(({ login, members }) => !login && members.length === 0)
  if (idle.length === 0) return []
  return [
    ...wrap('Nobody has them yet. Make users that do, in psql:', cli.out.width),
    ...idle.map(({ name, kind }) => `  create user my_${kind} in role ${name} password '…';`),
  ]
}
