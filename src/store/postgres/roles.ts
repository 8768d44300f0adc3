// Rights in the database itself (B8). Whoever migrates owns the tables. A worker's role reads, and
// writes by calling functions that run as the owner; so it cannot rewrite or delete what is final by
// any statement of its own. A reader's role reads.
import { CounterfoilError } from '../../model/errors.ts'
import type { Query } from './connection.ts'

export interface Roles {
  readonly worker: string
  readonly reader: string
}

const readerFunctions = ['load_run', 'chain_of_visit', 'now_ms', 'incarnation', 'as_jsonb']
const workerFunctions = [
  ...['start_run', 'commit_one', 'commit_batch', 'amend_load', 'amend_write', 'add_graph'],
  ...['add_key_check', 'register_worker', 'renew_worker', 'stop_worker', 'declare_dead'],
  ...['claim_runs', 'wake_due', 'retain', 'take_share', 'put_share', 'put_document'],
  ...['delete_document', 'take_notices', 'end_notice', 'retain_documents'],
]

/**
 * Makes the roles that are missing (without a login: grant them to the users that have one, or give
 * them a password) and grants them what they need. Said again, it changes nothing.
 */
export async function createRoles(query: Query, schema: string, roles: Roles): Promise<void> {
  for (const name of [roles.worker, roles.reader]) {
    if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name) || name.startsWith('pg_')) {
      throw new CounterfoilError(
        'STORE_ROLE_INVALID',
        `role ${JSON.stringify(name)} is not usable: lower-case letters, digits and _`,
      )
    }
    const [there] = await query('select 1 from pg_roles where rolname = $1', [name])
    if (there === undefined) await query(`create role "${name}" nologin`)
  }
  await grant(query, schema, roles)
  for (const [kind, name] of Object.entries(roles)) {
    await query(
      `insert into ${schema}.meta (name, value) values ($1, $2)
       on conflict (name) do update set value = excluded.value`,
      [`role:${kind}`, name],
    )
  }
}

/** A migration has made functions anew: whoever had rights has them again. */
export async function grantAgain(query: Query, schema: string): Promise<void> {
  const rows = await query(
    `select name, value from ${schema}.meta m join pg_roles r on r.rolname = m.value
     where m.name in ('role:worker', 'role:reader')`,
  )
  const names = new Map(rows.map(({ name, value }) => [name, value as string]))
  const [worker, reader] = [names.get('role:worker'), names.get('role:reader')]
  if (worker !== undefined && reader !== undefined) await grant(query, schema, { worker, reader })
}

async function grant(query: Query, schema: string, { worker, reader }: Roles): Promise<void> {
  const both = `"${worker}", "${reader}"`
  await query(`revoke all on all tables in schema ${schema} from ${both}`)
  await query(`revoke all on all functions in schema ${schema} from ${both}`)
  await query(`grant usage on schema ${schema} to ${both}`)
  await query(`grant select on all tables in schema ${schema} to ${both}`)
  const rows = await query(
    `select p.oid::regprocedure::text as signature, p.proname as name from pg_proc p
     where p.pronamespace = $1::regnamespace`,
    [schema],
  )
  const signatures = (names: readonly string[]) =>
    rows.filter(({ name }) => names.includes(name as string)).map(({ signature }) => signature)
  await query(`grant execute on function ${signatures(readerFunctions).join(', ')} to ${both}`)
  await query(`grant execute on function ${signatures(workerFunctions).join(', ')} to "${worker}"`)
}
