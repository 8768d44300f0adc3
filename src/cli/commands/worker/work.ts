// counterfoil worker <file>
import { rmSync, utimesSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import type { Command } from 'commander'
import { iso } from '../../../client/wire/iso.ts'
import { systemClock } from '../../../clock.ts'
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import type { Counterfoil } from '../../../open.ts'
import { Loop } from '../../../worker/loop.ts'
import type { Stopped, Worker } from '../../../worker/worker.ts'
import { type Cli, cliOf, withCounterfoil } from '../../cli.ts'
import { loadFile } from '../../dev/load.ts'
import { plural } from '../../show/text.ts'
import { milliseconds, wholeNumber } from '../../usage.ts'

const shownMax = 5

interface Options {
  concurrency?: string
  grace?: string
  allNamespaces?: boolean
  readyFile?: string
}

export const workHelp = `
The file exports what graph() or workflow() gave: as default, by name, or in
arrays. Runs of other graphs and versions are left to workers that carry them.
A \`gate\` that it exports is asked before calls that are not pure are sent.
The store is made if it is not there.

SIGTERM or Ctrl-C: no new runs; calls under way finish and are recorded, runs
are given back, exit code 0. What has not finished after --grace is left: other
workers take those runs over as soon as this process is gone, and put a call
whose outcome nobody can know before a person; exit code 1. A second signal ends
the process at once.`

export function addWorkOptions(command: Command): void {
  command
    .option('--concurrency <n>', 'runs at once (10)')
    .option('--grace <time>', 'how long calls may take to finish at the end: 30s, 5m (30s)')
    .option('--all-namespaces', 'take runs of every namespace, not of one')
    .option('--ready-file <path>', 'touched while the worker is alive: for a liveness probe')
}

export async function work(command: Command, file: string): Promise<void> {
  const cli = cliOf(command)
  const options = command.optsWithGlobals<Options>()
  const concurrency = wholeNumber('--concurrency', options.concurrency ?? '10')
  const graceMs = milliseconds('--grace', options.grace ?? '30s')
  const namespaces = options.allNamespaces === true ? 'all' : 'own'
  const carried = await loadFile(file, 'worker')
  const { graphs } = carried
  // Before anything is said: whoever reads it may answer with a signal at once.
  const end = asked()
  await withCounterfoil(cli, carried, async (cf) => {
    const moved = await cf.store.moved()
    if (moved !== null) throw errorFor('STORE_MOVED', moved)
    const worker = cf.worker({ concurrency, namespaces })
    await worker.start()
    cli.progress.end()
    const ready = options.readyFile === undefined ? null : stayReady(worker, options.readyFile)
    greet(cli, cf, worker, { graphs: graphs.map(({ id }) => id), concurrency })
    const died = await Promise.race([end.then(() => false), worker.died.then(() => true)])
    if (died) throw dead(worker)
    cli.out.text('Draining: calls under way finish, and no run is taken any more.')
    const left = await worker.stop({ graceMs })
    await ready?.stop()
    if (left.unfinished.length > 0) throw unfinished(left)
  })
  // A module's own timers and connections would keep the process; its work here is done.
  process.exit(0)
}

function greet(
  cli: Cli,
  cf: Counterfoil,
  worker: Worker,
  { graphs, concurrency }: { graphs: readonly string[]; concurrency: number },
): void {
  const { pid } = process
  const { url } = cf.store
  cli.out.line({
    at: iso(systemClock.now()),
    kind: 'ready',
    worker_id: worker.id,
    pid,
    store: url,
    graphs,
    concurrency,
  })
  cli.out.text(
    `Worker ${worker.id} (pid ${pid}) on ${url}: ${graphs.join(', ')}; ${concurrency} at once`,
  )
}

/** Resolves at the first signal; the second does not return. */
function asked(): Promise<void> {
  return new Promise((resolve) => {
    let count = 0
    const stop = (signal: NodeJS.Signals) => {
      if (++count > 1) process.exit(128 + constants.signals[signal])
      resolve()
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
  })
}

function unfinished({ unfinished: runs }: Stopped): CounterfoilError {
  const calls = runs.reduce((sum, one) => sum + one.calls, 0)
  const ids = runs.slice(0, shownMax).map(({ runId }) => runId)
  const more = runs.length > shownMax ? ', …' : ''
  return errorFor(
    'WORKER_UNFINISHED',
    `${plural(runs.length, 'run')} had not finished when the grace was over, with ` +
      `${plural(calls, 'call')} that had not returned: ${ids.join(', ')}${more}`,
    runs,
  )
}

function dead({ id }: Worker): CounterfoilError {
  const why = 'is on record as dead, and its runs belong to others; start it again'
  return errorFor('WORKER_DEAD', id, why)
}

const touchMs = 2_000

/** As long as this thread turns and the lease is good. */
function stayReady(worker: Worker, path: string): { stop(): Promise<void> } {
  writeFileSync(path, `${worker.id} ${process.pid}\n`)
  const touch = async () => {
    const now = systemClock.now() / 1_000
    if (worker.holds()) utimesSync(path, now, now)
    return touchMs
  }
  const loop = new Loop({ clock: systemClock, work: touch, onError: () => {}, retryMs: touchMs })
  loop.start(touchMs)
  return {
    stop: async () => {
      await loop.stop()
      rmSync(path, { force: true })
    },
  }
}
