// counterfoil token …
import type { Command } from 'commander'
import { iso } from '../../client/wire/iso.ts'
import { roles } from '../../server/auth/principal.ts'
import { createToken, listTokens, revokeToken, tokenJson } from '../../server/auth/tokens.ts'
import { addGlobals, type Cli, cliOf, userName, withStore } from '../cli.ts'
import { addExample } from '../example.ts'
import { finishGroup } from '../group.ts'
import { renderTable } from '../show/table.ts'
import { wrap } from '../show/text.ts'
import { milliseconds, oneOf, usageError } from '../usage.ts'

const help = `
A token is shown once, when it is made; the store keeps its hash. It has a name,
which decisions are recorded under, a role (viewer reads, operator also decides
and acts on runs, admin also makes tokens), and a namespace, or all of them.

Examples:
  counterfoil token create --name ana --role operator
  counterfoil token create --name ci --role viewer --expires 30d
  counterfoil token revoke 3f9a0c1d2e4b5a69`

export function addToken(program: Command): void {
  const command = program
    .command('token')
    .description('make, list and revoke tokens of the server')
    .addHelpText('after', help)
  addCreate(command)
  addList(command)
  addRevoke(command)
  finishGroup(command)
}

const lifeMsMax = 3_650 * 24 * 3_600_000

interface CreateOptions {
  name?: string
  role?: string
  group?: string[]
  allNamespaces?: boolean
  expires?: string
}

function addCreate(token: Command): void {
  const command = token
    .command('create')
    .description('make a token; it is shown once')
    .option('--name <name>', 'who carries it; decisions are recorded under this name')
    .option('--role <role>', `${roles.join(', ')} (viewer)`)
    .option('--group <names...>', 'groups that approvals may ask for')
    .option('--all-namespaces', 'for every namespace, not for one')
    .option('--expires <time>', 'how long it is good: 12h, 30d (until it is revoked)')
    .action((options: CreateOptions) => create(cliOf(command), options))
  addExample(command, 'token create --name ana --role operator')
  addGlobals(command)
}

async function create(cli: Cli, options: CreateOptions): Promise<void> {
  const { name, group: groups = [], expires } = options
  if (name === undefined) throw usageError('token create needs --name <who carries it>')
  const role = oneOf('--role', options.role ?? 'viewer', roles)
  const namespace = options.allNamespaces === true ? '*' : cli.namespace
  await withStore(cli, async ({ store }) => {
    const lifeMs = expires === undefined ? null : milliseconds('--expires', expires, lifeMsMax)
    const expiresAt = lifeMs === null ? null : store.clock.now() + lifeMs
    const about = { name, role, namespace, groups, expiresAt, by: userName(undefined) }
    const { token, row } = await createToken(store, about)
    cli.out.data({ token, ...tokenJson(row) })
    cli.out.text(
      token,
      ...wrap(
        'Keep it now: it is not shown again, and the store has its hash only.',
        cli.out.width,
      ),
    )
  })
}

function addList(token: Command): void {
  const command = token
    .command('list')
    .description('list tokens, without their secrets')
    .option('--all-namespaces', 'of every namespace')
    .action((options: { allNamespaces?: boolean }) => list(cliOf(command), options))
  addExample(command, 'token list --all-namespaces')
  addGlobals(command)
}

async function list(cli: Cli, { allNamespaces }: { allNamespaces?: boolean }): Promise<void> {
  await withStore(cli, async ({ store }) => {
    const rows = await listTokens(store, '*')
    const asked = rows.filter(
      ({ namespace }) => allNamespaces === true || ['*', cli.namespace].includes(namespace),
    )
    cli.out.data({ tokens: asked.map(tokenJson) })
    if (asked.length === 0) return cli.out.text('No tokens.')
    const columns = [
      { head: 'ID' },
      { head: 'NAME', yields: 1, least: 8 },
      { head: 'ROLE' },
      { head: 'NAMESPACE' },
      { head: 'EXPIRES' },
    ]
    const { width, colors } = cli.out
    const cells = asked.map(({ id, name, role, namespace, expiresAt }) => {
      const ends = expiresAt === null ? 'never' : iso(expiresAt).slice(0, 16).replace('T', ' ')
      return [id, name, role, namespace, ends]
    })
    cli.out.text(...renderTable(columns, cells, { width, paintHead: colors.bold }))
  })
}

function addRevoke(token: Command): void {
  const command = token
    .command('revoke <id>')
    .description('revoke a token; its sessions end with it')
    .action((id: string) => revoke(cliOf(command), id))
  addExample(command, 'token revoke 3f9a0c1d2e4b5a69')
  addGlobals(command)
}

async function revoke(cli: Cli, id: string): Promise<void> {
  await withStore(cli, async ({ store }) => {
    await revokeToken(store, '*', id)
    cli.out.data({ token_id: id, revoked: true })
    cli.out.text(`Token ${id} is revoked.`)
  })
}
