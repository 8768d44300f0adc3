// counterfoil store status
import type { Command } from 'commander'
import { openFiles } from '../../../blob/files.ts'
import { iso } from '../../../client/wire/iso.ts'
import { lifeOf } from '../../../client/worker.ts'
import { systemClock } from '../../../clock.ts'
import { blobDirOf, type Counterfoil } from '../../../open.ts'
import type { StoreFacts } from '../../../store/store.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { field } from '../../show/fields.ts'
import { bytes, plural, relative, wrap } from '../../show/text.ts'

interface Status {
  readonly url: string
  /** A file, beside which its keys and large values may lie; else a database of a server. */
  readonly local: boolean
  /** By the store's own clock. */
  readonly now: number
  readonly moved: string | null
  readonly caveats: readonly string[]
  readonly facts: StoreFacts
  /** Null if the store holds large values itself. */
  readonly blobs: Blobs | null
  readonly alive: number
  readonly silent: number
}

interface Blobs {
  readonly dir: string
  readonly count: number
  readonly bytes: number
}

const help = `
Which store it is and whether it has moved, how large it is, which keys sign it,
and what is in it: runs by state, what waits for people, who works on it.

Example:
  counterfoil store status --json | jq .runs`

export function addStoreStatus(store: Command): void {
  const command = store
    .command('status')
    .description('what the store is, what is in it, and who works on it')
    .addHelpText('after', help)
    .action(() => showStatus(cliOf(command)))
  addGlobals(command)
}

async function showStatus(cli: Cli): Promise<void> {
  const status = await withStore(cli, (cf) => look(cli, cf), { tellMoved: false })
  cli.out.data(statusJson(status))
  cli.out.text(...statusLines(cli, status))
}

async function look(cli: Cli, cf: Counterfoil): Promise<Status> {
  const { store } = cf
  const dir = blobDirOf(store.url, cli.blobDir)
  const lives = (await store.workers()).map((row) => lifeOf(row))
  return {
    url: store.url,
    local: store.local,
    now: store.clock.now(),
    moved: await store.moved(),
    caveats: store.caveats,
    facts: await store.facts(cli.namespace),
    blobs: dir === null ? null : await countBlobs(cli, dir),
    alive: lives.filter((life) => life === 'alive').length,
    silent: lives.filter((life) => life === 'silent').length,
  }
}

async function countBlobs(cli: Cli, dir: string): Promise<Blobs> {
  let [count, size] = [0, 0]
  for await (const blob of openFiles({ dir, clock: systemClock }).list()) {
    count++
    size += blob.bytes
    cli.progress.say(`${plural(count, 'blob')} counted`)
  }
  return { dir, count, bytes: size }
}

function statusLines(cli: Cli, status: Status): string[] {
  const { facts, blobs, moved, now } = status
  const { colors } = cli.out
  const wal = facts.walBytes === 0 ? '' : `, and ${bytes(facts.walBytes)} of write-ahead log`
  const [last] = facts.migrations.slice(-1)
  const adopted = facts.adoptions.at(-1)
  const here = adopted
    ? `adopted by ${adopted.by} ${relative(adopted.at, now)}: ${adopted.reason}`
    : `the ${status.local ? 'file' : 'database'} that it was made as`
  return [
    colors.bold(status.url),
    ...field(cli, status.local ? 'file' : 'size', `${bytes(facts.bytes)}${wal}`),
    ...field(cli, 'blobs', blobWords(blobs)),
    ...field(cli, 'schema', `${last?.name ?? 'none'} (${plural(facts.migrations.length, 'step')})`),
    ...field(cli, 'keys', keyWords(facts)),
    ...field(cli, 'durable', durableWords(facts)),
    ...(moved === null
      ? field(cli, 'place', here)
      : field(cli, 'moved', moved).map((line) => colors.red(line))),
    ...field(cli, 'runs', runWords(facts, cli.namespace)),
    ...field(cli, 'inbox', inboxWords(facts)),
    ...doubtLines(cli, facts, now),
    ...field(cli, 'workers', workerWords(status)),
    ...status.caveats.flatMap((text) => wrap(text, cli.out.width)),
  ]
}

function blobWords(blobs: Blobs | null): string {
  if (blobs === null) return 'in the database'
  const { count, bytes: size, dir } = blobs
  return count === 0 ? 'none' : `${count}, ${bytes(size)}, in ${dir}`
}

function keyWords({ keyIds: ids, keyFile }: StoreFacts): string {
  const last = ids.at(-1) ?? 'none'
  if (keyFile === null && ids.length > 1)
    return `${ids.join(', ')}; the last of COUNTERFOIL_KEY signs`
  return ids.length < 2 ? last : `${ids.join(', ')}; ${last} is the newest`
}

function durableWords({ durability }: StoreFacts): string {
  const said = Object.entries(durability).filter(([, value]) => value !== '')
  return said.map(([name, value]) => `${name} ${value}`).join(', ')
}

function runWords({ runs, otherRuns }: StoreFacts, namespace: string): string {
  const counts = Object.entries(runs).map(([state, count]) => `${count} ${state}`)
  const others = otherRuns === 0 ? '' : ` (and ${otherRuns} outside of namespace ${namespace})`
  return `${counts.join(', ') || 'none'}${others}`
}

function inboxWords({ openItems, overdue }: StoreFacts): string {
  const counts = Object.entries(openItems).map(([kind, count]) => plural(count, kind))
  const late = overdue === 0 ? '' : `; ${overdue} overdue`
  return counts.length === 0 ? 'nothing waits for a person' : `${counts.join(', ')}${late}`
}

function doubtLines(cli: Cli, { oldestDoubt }: StoreFacts, now: number): string[] {
  if (oldestDoubt === null) return []
  const { itemId, runId, createdAt } = oldestDoubt
  const text = `the oldest opened ${relative(createdAt, now)}, of run ${runId}:`
  return [...field(cli, 'doubts', text), ...cli.again(11, 'inbox', 'show', itemId)]
}

function workerWords({ alive, silent }: Status): string {
  const quiet = silent === 0 ? '' : `, ${silent} whose lease has ended (counterfoil worker list)`
  return `${alive === 0 ? 'none' : alive} alive${quiet}`
}

function statusJson({ url, moved, caveats, facts, blobs, alive, silent }: Status) {
  const { oldestDoubt: doubt } = facts
  return {
    store: url,
    moved,
    caveats,
    bytes: facts.bytes,
    wal_bytes: facts.walBytes,
    store_id: facts.storeId,
    blobs,
    migrations: facts.migrations.map(({ id, name, appliedAt }) => ({
      id,
      name,
      applied_at: iso(appliedAt),
    })),
    key_ids: facts.keyIds,
    durability: facts.durability,
    adoptions: facts.adoptions.map((row) => ({ ...row, at: iso(row.at) })),
    runs: facts.runs,
    other_namespaces_runs: facts.otherRuns,
    open_items: facts.openItems,
    overdue_items: facts.overdue,
    oldest_doubt: doubt && {
      item_id: doubt.itemId,
      run_id: doubt.runId,
      created_at: iso(doubt.createdAt),
    },
    workers: { alive, silent },
  }
}
