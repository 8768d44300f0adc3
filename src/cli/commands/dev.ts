// counterfoil dev
import type { Command } from 'commander'
import { systemClock } from '../../clock.ts'
import { CounterfoilError } from '../../model/errors.ts'
import type { Graph } from '../../model/graph.ts'
import type { Counterfoil } from '../../open.ts'
import type { Worker } from '../../worker/worker.ts'
import { addGlobals, type Cli, cliOf, withCounterfoil } from '../cli.ts'
import { loadGraphs } from '../dev/load.ts'
import { type Happening, Watcher } from '../dev/watch.ts'
import { clean, clip, iso, plural, wrap } from '../text.ts'
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
  const graphs = await loadGraphs(file)
  const start = options.start === undefined ? null : findGraph(graphs, options.start)
  await withCounterfoil(cli, graphs, async (cf) => {
    const moved = await cf.store.moved()
    if (moved !== null) throw new CounterfoilError('STORE_MOVED', moved)
    const worker = cf.worker({ concurrency })
    const watcher = new Watcher(cf.store, cli.namespace, (what) => say(cli, what))
    const waiting = await watcher.begin()
    await worker.start()
    greet(cli, cf, worker, { graphs, waiting })
    try {
      if (start) {
        const { runId } = options
        await cf.start(start, input, runId === undefined ? {} : { runId })
      }
      await interrupted(cli)
      await worker.stop()
    } finally {
      await watcher.end()
    }
  })
  // A module's own timers and connections would keep the process; its work here is done.
  process.exit(0)
}

function greet(
  cli: Cli,
  cf: Counterfoil,
  worker: Worker,
  { graphs, waiting }: { graphs: readonly Graph[]; waiting: number },
): void {
  const ids = graphs.map((graph) => graph.id)
  if (cli.out.json) {
    const at = iso(systemClock.now())
    jsonLine({ at, kind: 'ready', worker_id: worker.id, pid: process.pid, graphs: ids, waiting })
    return
  }
  const { colors } = cli.out
  cli.out.text(
    `Worker ${worker.id} (pid ${process.pid})`,
    `Store ${cf.store.url}`,
    ...wrap(`${plural(graphs.length, 'graph')}: ${ids.join(', ')}`, cli.out.width),
    colors.dim('Ctrl-C drains and ends; a second one ends at once.'),
  )
  if (waiting > 0) {
    const runs = waiting === 1 ? '1 run waits' : `${waiting} runs wait`
    cli.out.text(`${runs} for a person:`, ...cli.again(2, 'inbox'))
  }
  cli.out.text('')
}

/** Resolves at the first Ctrl-C; the second does not return. */
function interrupted(cli: Cli): Promise<void> {
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
  const what = found.length > 1 ? 'is the name of several graphs' : 'is no graph of this file'
  const hint =
    near === null || found.length > 1 ? `choose ${ids.join(', ')}` : `did you mean ${near}?`
  throw new CounterfoilError('GRAPH_UNKNOWN', `"${wanted}" ${what}; ${hint}`)
}

function say(cli: Cli, what: Happening): void {
  if (cli.out.json) {
    const { at, kind, runId, graph, itemId, text } = what
    jsonLine({ at: iso(at), kind, run_id: runId, graph, item_id: itemId, text })
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

function jsonLine(document: unknown): void {
  process.stdout.write(`${JSON.stringify(document)}\n`)
}
