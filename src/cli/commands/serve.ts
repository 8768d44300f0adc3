// counterfoil serve
import { constants } from 'node:os'
import type { Command } from 'commander'
import { iso } from '../../client/wire/iso.ts'
import { systemClock } from '../../clock.ts'
import type { CounterfoilServer } from '../../server/server.ts'
import { addGlobals, type Cli, cliOf, withCounterfoil } from '../cli.ts'
import { loadFiles } from '../dev/load.ts'
import { wrap } from '../show/text.ts'
import { wholeNumber } from '../usage.ts'

interface Options {
  port?: string
  host?: string
  publicUrl?: string
  insecureHttp?: boolean
  worker?: boolean
  concurrency?: string
}

const help = `
It listens on this machine only, and prints an address that signs a browser in:
once, and within an hour. Programs use tokens (counterfoil token create). What
is printed here is kept nowhere else; the store holds hashes.

The files export what graph() or workflow() gave: runs of them can be started,
inputs and results are checked against their schemas. With --worker they are
also worked on, in this process.

For others to reach it, put a proxy that speaks TLS before it and say where
people find it: --host 0.0.0.0 --public-url https://agents.example.com

SIGTERM or Ctrl-C: streams end, requests under way finish, a worker drains.

Examples:
  counterfoil serve
  counterfoil serve ./agent.js --worker --port 7070`

export function addServe(program: Command): void {
  const command = program
    .command('serve [files...]')
    .description('serve the HTTP API and the console')
    .option('--port <n>', 'where it listens (7070; 0 for any that is free)')
    .option('--host <name>', 'on which address (127.0.0.1)')
    .option('--public-url <url>', 'where people reach it, behind a proxy that speaks TLS')
    .option('--insecure-http', 'listen without TLS: others on the network can read it all')
    .option('--worker', 'also work on runs of the files')
    .option('--concurrency <n>', 'runs at once, with --worker (10)')
    .addHelpText('after', help)
    .action((files: string[], options: Options) => serve(cliOf(command), files, options))
  addGlobals(command)
}

const portMax = 65_535

async function serve(cli: Cli, files: readonly string[], options: Options): Promise<void> {
  const { host = '127.0.0.1', publicUrl, insecureHttp = false } = options
  const wanted = options.port ?? '7070'
  const port = wanted === '0' ? 0 : wholeNumber('--port', wanted, portMax)
  const concurrency = wholeNumber('--concurrency', options.concurrency ?? '10')
  const carried = await loadFiles(files, 'serve')
  const { graphs } = carried
  const end = asked()
  await withCounterfoil(cli, carried, async (cf) => {
    const server = await cf.server({
      port,
      host,
      insecureHttp,
      ...(publicUrl === undefined ? {} : { publicUrl }),
    })
    const worker = options.worker === true ? cf.worker({ concurrency }) : null
    await worker?.start()
    cli.progress.end()
    await greet(cli, server, {
      store: cf.store.url,
      graphs: graphs.map(({ id }) => id),
      worker: worker?.id ?? null,
    })
    await end
    cli.out.text('Closing: requests under way finish.')
    await server.close()
    await worker?.stop()
  })
  // A module's own timers and connections would keep the process; its work here is done.
  process.exit(0)
}

async function greet(
  cli: Cli,
  server: CounterfoilServer,
  { store, graphs, worker }: { store: string; graphs: readonly string[]; worker: string | null },
): Promise<void> {
  const entry = await server.entryUrl()
  const { width, colors } = cli.out
  cli.out.line({
    at: iso(systemClock.now()),
    kind: 'ready',
    url: server.url,
    entry_url: entry,
    store,
    graphs,
    worker_id: worker,
    pid: process.pid,
  })
  cli.out.text(
    `Serving ${store} on ${server.url}`,
    ...wrap(`Graphs: ${graphs.join(', ') || 'none'}`, width),
    ...(worker === null ? [] : [`Worker ${worker} (pid ${process.pid})`]),
    '',
    'Open this in a browser; it signs in once, and within an hour:',
    `  ${colors.bold(entry)}`,
    '',
    ...wrap('For programs: counterfoil token create --name <who> --role viewer', width),
    colors.dim('Ctrl-C ends it.'),
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
