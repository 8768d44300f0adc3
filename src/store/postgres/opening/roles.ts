// Rights in the database itself (B8). Whoever migrates owns the tables. A worker's role reads, and
// writes by calling functions that run as the owner; so it cannot rewrite or delete what is final
// by any statement of its own. A reader's role reads.
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import type { Query } from './connection.ts'

export interface Roles {
  readonly worker: string
  readonly reader: string
}

const readerFunctions = [
  ...['load_run', 'chain_of_visit', 'now_ms', 'incarnation', 'as_jsonb', 'idle_threads'],
]
const workerFunctions = [
  ...['start_run', 'start_runs', 'commit_one', 'commit_batch', 'amend_load', 'amend_write'],
  ...['add_graph', 'add_key_check', 'register_worker', 'renew_worker', 'stop_worker'],
  ...['declare_dead', 'claim_runs', 'wake_due', 'retain', 'take_share', 'put_share'],
  ...['put_document', 'delete_document', 'take_notices', 'end_notice', 'retain_documents'],
  ...['put_step', 'put_thread_writes', 'prune_steps', 'drop_thread'],
  ...['put_seen_step', 'put_next_step', 'put_seen_writes', 'prune_seen_steps'],
]

/** A role as it is now. */
export interface GivenRole {
  readonly kind: 'worker' | 'reader'
  readonly name: string
  readonly exists: boolean
  readonly login: boolean
  /** Who has its rights by being a member. */
  readonly members: readonly string[]
}

/**
 * Makes the roles that are missing (without a login: grant them to the users that have one, or give
 * them a password) and grants them what they need. Said again, it changes nothing; with another
 * name, the former role loses its rights.
 */
export async function createRoles(query: Query, schema: string, roles: Roles): Promise<void> {
  if (roles.worker === roles.reader)
    throw invalid(roles.worker, 'worker and reader must be different roles')
  const former = await readRoles(query, schema)
  for (const name of [roles.worker, roles.reader]) {
    if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name) || name.startsWith('pg_')) {
      throw invalid(name, 'lower-case letters, digits and _, not beginning with pg_')
    }
    await makeRole(query, schema, name)
  }
  for (const { name, exists } of former) {
    if (exists && name !== roles.worker && name !== roles.reader) {
      await revoke(query, schema, `"${name}"`)
    }
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

/** Rights are taken from a role before it gets its own: whoever owns the tables would lose them. */
async function makeRole(query: Query, schema: string, name: string): Promise<void> {
  const [there] = await query(
    `select rolsuper as super, exists (
       select 1 from pg_namespace n where n.oid = $2::regnamespace and n.nspowner = r.oid
       union all
       select 1 from pg_class k where k.relnamespace = $2::regnamespace and k.relowner = r.oid
     ) as owns
     from pg_roles r where rolname = $1`,
    [name, schema],
  )
  if (there === undefined) await query(`create role "${name}" nologin`)
  else if (there['owns'] === true) throw invalid(name, 'it owns the tables, and may do anything')
  else if (there['super'] === true) throw invalid(name, 'it is a superuser, and may do anything')
}

function invalid(name: string, why: string): CounterfoilError {
  return errorFor('STORE_ROLE_INVALID', name, why)
}

/** Those that were given rights, as `db roles` wrote them down. */
export async function readRoles(query: Query, schema: string): Promise<GivenRole[]> {
  const rows = await query(
    `select substr(m.name, 6) as kind, m.value as name, r.oid is not null as exists,
       coalesce(r.rolcanlogin, false) as login,
       array(select u.rolname::text from pg_auth_members a join pg_roles u on u.oid = a.member
         where a.roleid = r.oid order by 1) as members
     from ${schema}.meta m left join pg_roles r on r.rolname = m.value
     where m.name in ('role:worker', 'role:reader') order by m.name desc`,
  )
  return rows as unknown as GivenRole[]
}

/** A migration has made functions anew: whoever had rights has them again. */
export async function grantAgain(query: Query, schema: string): Promise<void> {
  const there = (await readRoles(query, schema)).filter(({ exists }) => exists)
  const named = (kind: GivenRole['kind']) => there.find((role) => role.kind === kind)?.name
  const [worker, reader] = [named('worker'), named('reader')]
  if (worker !== undefined && reader !== undefined) await grant(query, schema, { worker, reader })
}

async function revoke(query: Query, schema: string, names: string): Promise<void> {
  await query(`revoke all on all tables in schema ${schema} from ${names}`)
  await query(`revoke all on all functions in schema ${schema} from ${names}`)
  await query(`revoke all on schema ${schema} from ${names}`)
}

async function grant(query: Query, schema: string, { worker, reader }: Roles): Promise<void> {
  const both = `"${worker}", "${reader}"`
  await revoke(query, schema, both)
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
