// counterfoil db migrate
import type { Command } from 'commander'
import { migratePostgres } from '../../../store/postgres/index.ts'
import { addGlobals, type Cli, cliOf } from '../../cli.ts'
import { plural, wrap } from '../../show/text.ts'
import { atServer, serverOf } from './server.ts'

const help = `
Makes the schema and its tables, or brings them up to date, as the user that
shall own them. All steps are one transaction, under a lock: two of these at
once do it once. Workers may go on meanwhile; a change that would keep them
waiting gives way to them and tries again.

Whoever may make tables does the same by opening the store. Workers with the
role of counterfoil db roles may not, and say so (STORE_OUTDATED).

Example:
  counterfoil db migrate --store postgres://admin@db.internal/agents`

export function addDbMigrate(db: Command): void {
  const command = db
    .command('migrate')
    .description('make the tables, or bring them up to date')
    .addHelpText('after', help)
    .action(() => migrate(cliOf(command)))
  addGlobals(command)
}

async function migrate(cli: Cli): Promise<void> {
  const where = serverOf(cli, 'db migrate')
  const { schema, added, applied } = await atServer(cli, 'migrating', () => migratePostgres(where))
  cli.out.data({ schema, added, applied })
  if (added.length === 0) {
    return cli.out.text(`Schema ${schema} is up to date: ${plural(applied.length, 'step')}.`)
  }
  const text = `Schema ${schema}: ${plural(added.length, 'step')} applied, and it is up to date.`
  cli.out.text(...wrap(text, cli.out.width), ...added.map((name) => `  ${name}`))
}
