// counterfoil db …
import type { Command } from 'commander'
import { finishGroup } from '../group.ts'
import { addDbMigrate } from './db/migrate.ts'
import { addDbRoles } from './db/roles.ts'
import { addDbStatus } from './db/status.ts'

const help = `
For a Postgres store, and for whoever looks after the database: none of these
needs COUNTERFOIL_KEY. A SQLite file brings itself up to date when it is opened.

Examples:
  counterfoil db status --store postgres://admin@db.internal/agents
  counterfoil db migrate --store postgres://admin@db.internal/agents`

export function addDb(program: Command): void {
  const command = program
    .command('db')
    .description('look after the database of a Postgres store: migrate, status, roles')
    .addHelpText('after', help)
  addDbMigrate(command)
  addDbStatus(command)
  addDbRoles(command)
  finishGroup(command)
}
