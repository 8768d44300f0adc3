// counterfoil dev
import type { Command } from 'commander'
import { iso } from '../../client/wire/iso.ts'
import { systemClock } from '../../clock.ts'
import { type CounterfoilError, errorFor, isCounterfoilError } from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import type { Counterfoil } from '../../open.ts'
import type { Worker } from '../../worker/worker.ts'
import { addGlobals, type Cli, cliOf, withCounterfoil } from '../cli.ts'
import { giveUp, isAttempt, isMendable, tryAgain } from '../dev/again.ts'
import { loadFile } from '../dev/load.ts'
import { picture } from '../dev/sources.ts'
import { type Beginning, type Happening, Watcher } from '../dev/watch.ts'
import { report } from '../report.ts'
import { clean, clip, plural, wrap } from '../show/text.ts'
import { nearest, parseJson, usageError, wholeNumber } from '../usage.ts'

interface Options {
  start?: string
  input?: string
  runId?: string
  concurrency?: string
}

const help = `
The file exports what workflow() gave: as default, by name, or in arrays. The
store is made if it is not there. A line is printed for each run that starts,
waits or ends, and for each item that opens; with --json each is a JSON document
on a line of its own.

A graph that changed needs a version of its own: a store refuses the same one
with other content. Then nothing is run; dev says what to write, and goes on as
soon as you have saved it.

Ctrl-C drains: calls under way finish and are recorded, runs are given back. A
second one ends at once; the next worker then finds out what was under way.

Examples:
  counterfoil dev ./agent.js
  counterfoil dev ./agent.js --start outreach --input '{"customer": "acme"}'
  node --import tsx node_modules/counterfoil/dist/cli/main.js dev ./agent.ts`

export function addDev(program: Command): void {
  const command = program
    .command('dev <file>')
    .description('run a worker with the workflows that a file exports')
    .option('--start <graph>', 'also start a run of this graph: name or name@version')
    .option('--input <json>', 'its input (null)')
    .option('--run-id <id>', 'its id; the same id and input again attach to the same run')
    .option('--concurrency <n>', 'runs at once (10)')
    .addHelpText('after', help)
    .action((file: string, options: Options) => dev(cliOf(command), file, options))
  addGlobals(command)
}

async function dev(cli: Cli, file: string, options: Options): Promise<void> {
  if (options.start === undefined && (options.input ?? options.runId) !== undefined) {
    throw usageError('--input and --run-id belong to --start <graph>')
  }
  const input = options.input === undefined ? null : parseJson('--input', options.input)
  const concurrency = wholeNumber('--concurrency', options.concurrency ?? '10')
  const sources = picture(file)
  try {
    await work(cli, file, { ...options, input, concurrency })
  } catch (error) {
    if (!isMendable(error)) throw error
    const tell = () => {
      if (isCounterfoilError(error, 'GRAPH_CHANGED')) tellChanged(cli, error)
      else report(error, { json: cli.out.json, debug: cli.debug })
    }
    if (isAttempt()) giveUp(tell)
    process.exit(await tryAgain(cli, file, sources, tell))
  }
  // A module's own timers and connections would keep the process; its work here is done.
  process.exit(0)
}

type Work = Pick<Options, 'start' | 'runId'> & { input: unknown; concurrency: number }

async function work(cli: Cli, file: string, options: Work): Promise<void> {
  const { input, concurrency } = options
  const carried = await loadFile(file, 'dev')
  const { graphs } = carried
  const start = options.start === undefined ? null : findGraph(graphs, options.start)
  await withCounterfoil(cli, carried, async (cf) => {
    const moved = await cf.store.moved()
    if (moved !== null) throw errorFor('STORE_MOVED', moved)
    const worker = cf.worker({ concurrency })
    const watcher = new Watcher(cf.store, cli.namespace, (what) => say(cli, what))
    const beginning = await watcher.begin()
    await worker.start()
    cli.progress.end()
    greet(cli, cf, worker, { graphs, beginning })
    try {
      if (start) {
        const { runId } = options
        await cf.start(start, input, runId === undefined ? {} : { runId })
      }
      await drained(cli)
      await worker.stop()
    } finally {
      await watcher.end()
    }
  })
}

/** What to do about a graph that the store knows otherwise. */
function tellChanged(cli: Cli, { message, details }: CounterfoilError): void {
  const graph = String(details['graph'])
  const differences = (details['differences'] ?? []) as readonly string[]
  const at = iso(systemClock.now())
  cli.out.line({ at, kind: 'graph_changed', graph, differences, text: message })
  const { colors, width } = cli.out
  const line = (text: string) => wrap(clean(text), width)
  cli.out.text(
    ...line(`${graph} has changed, and this store knows it with other content:`).map(colors.yellow),
    ...differences.flatMap((text) => wrap(clean(text), width - 4).map((part) => `    ${part}`)),
    ...line('Runs stay on what they began with, so a change is a version of its own. Write:'),
    `    id: '${nextVersion(graph)}'`,
    ...line('Or name another store while you only try things out: --store sqlite:scratch.db'),
  )
}

function nextVersion(graph: string): string {
  const [, name, major, minor, patch] = /^(.*)@(\d+)\.(\d+)\.(\d+)/.exec(graph) ?? []
  return `${name}@${major}.${minor}.${Number(patch) + 1}`
}

function greet(
  cli: Cli,
  cf: Counterfoil,
  worker: Worker,
  { graphs, beginning }: { graphs: readonly Graph[]; beginning: Beginning },
): void {
  const ids = graphs.map((graph) => graph.id)
  const { waiting } = beginning
  const others = [...beginning.live].filter(([id]) => !ids.includes(id))
  const { colors, width } = cli.out
  cli.out.line({
    at: iso(systemClock.now()),
    kind: 'ready',
    worker_id: worker.id,
    pid: process.pid,
    graphs: ids,
    waiting,
    not_carried: Object.fromEntries(others),
  })
  cli.out.text(
    `Worker ${worker.id} (pid ${process.pid})`,
    `Store ${cf.store.url}`,
    ...wrap(`${plural(graphs.length, 'graph')}: ${ids.join(', ')}`, width),
    colors.dim('Ctrl-C drains and ends; a second one ends at once.'),
  )
  for (const [id, count] of others) {
    const runs = count === 1 ? '1 run is' : `${count} runs are`
    const text = `${runs} of ${id}, which this file does not export: a worker that does must come.`
    cli.out.text(...wrap(clean(text), width).map(colors.yellow))
  }
  if (waiting > 0) {
    const runs = waiting === 1 ? '1 run waits' : `${waiting} runs wait`
    cli.out.text(`${runs} for a person:`, ...cli.again(2, 'inbox'))
  }
  cli.out.text('')
}

/** Resolves at the first Ctrl-C; the second does not return. */
function drained(cli: Cli): Promise<void> {
  return new Promise((resolve) => {
    let count = 0
    const stop = (signal: NodeJS.Signals) => {
      if (++count > 1) process.exit(signal === 'SIGINT' ? 130 : 143)
      cli.out.text('', 'Draining: calls under way finish. Ctrl-C again ends at once.')
      resolve()
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
  })
}

function findGraph(graphs: readonly Graph[], wanted: string): Graph {
  const found = graphs.filter((graph) => graph.id === wanted || graph.name === wanted)
  const [graph] = found
  if (graph && found.length === 1) return graph
  const ids = graphs.map(({ id }) => id)
  const near = nearest(wanted, [...ids, ...graphs.map(({ name }) => name)])
  const where = found.length > 1 ? 'is the name of several' : 'is not in this file'
  const hint =
    near === null || found.length > 1 ? `choose ${ids.join(', ')}` : `did you mean ${near}?`
  throw errorFor('GRAPH_UNKNOWN', `"${wanted}"`, where, hint)
}

function say(cli: Cli, what: Happening): void {
  if (cli.out.json) {
    const { at, kind, runId, graph, itemId, text } = what
    cli.out.line({ at: iso(at), kind, run_id: runId, graph, item_id: itemId, text })
    return
  }
  const { colors, width } = cli.out
  const paints = {
    started: colors.bold,
    waiting: colors.yellow,
    item: colors.yellow,
    completed: colors.green,
    failed: colors.red,
    cancelled: colors.red,
  }
  const time = colors.dim(iso(what.at).slice(11, 19))
  const head = `${clean(what.runId)} `
  const words = paints[what.kind](what.kind.padEnd(9))
  const rest = clip(clean(`${head}${what.text}`), width - 20)
  cli.out.text(`${time}  ${words} ${rest}`)
  if (what.itemId !== null && what.kind === 'item') {
    cli.out.text(...cli.again(20, 'inbox', 'show', what.itemId))
  }
}
