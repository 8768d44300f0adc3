// counterfoil demo, as people see it: one address, and what to do there.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { iso } from '../../../client/wire/iso.ts'
import { systemClock } from '../../../clock.ts'
import { errorFor, isCounterfoilError } from '../../../model/errors.ts'
import type { CounterfoilServer } from '../../../server/server.ts'
import type { Cli } from '../../cli.ts'
import { wrap } from '../../show/text.ts'
import { wholeNumber } from '../../usage.ts'
import { storeOf } from '../world.ts'
import { Live } from './live.ts'

const portDefault = 7070
const portMax = 65_535

export async function runLive(cli: Cli, options: { data?: string; port?: string }): Promise<void> {
  const port = options.port === undefined ? null : wholeNumber('--port', options.port, portMax)
  const folder = folderOf(options.data)
  const ended = asked()
  const live = await Live.begin(folder, (error) => cli.warn(String(error)))
  try {
    const server = await serve(live, port)
    await greet(cli, folder, server)
    await ended
    cli.out.text('Ending: the worker gives back what it holds.')
    await server.close()
  } finally {
    await live.stop()
  }
  process.exit(0)
}

/** The usual port unless somebody else has it; a port that was asked for, or none. */
async function serve(live: Live, port: number | null): Promise<CounterfoilServer> {
  try {
    return await live.cf.server({ port: port ?? portDefault, demo: live })
  } catch (error) {
    if (port !== null || !isCounterfoilError(error, 'SERVER_CANNOT_LISTEN')) throw error
    return live.cf.server({ port: 0, demo: live })
  }
}

async function greet(cli: Cli, folder: string, server: CounterfoilServer): Promise<void> {
  const entry = await server.entryUrl()
  const { colors, width } = cli.out
  const { pid } = process
  cli.out.line({
    at: iso(systemClock.now()),
    kind: 'ready',
    url: server.url,
    entry_url: entry,
    store: storeOf(folder),
    folder,
    pid,
  })
  const about =
    'Three kinds of agents are at work, and their upstreams count what was done. Kill the worker ' +
    'on the page Demo, watch the next one take over, and decide in the Inbox what nobody can know.'
  cli.out.text(
    ...wrap(about, width),
    '',
    'Open this in a browser; it signs you in:',
    `  ${colors.bold(entry)}`,
    '',
    `Everything is in ${folder}`,
    colors.dim('Ctrl-C ends it.'),
  )
}

/** A demo can be gone on with; somebody else's files are left alone. */
function folderOf(data: string | undefined): string {
  if (data === undefined) return realpathSync(mkdtempSync(join(tmpdir(), 'counterfoil-demo-')))
  const folder = resolve(data)
  mkdirSync(folder, { recursive: true })
  const ours = existsSync(storeOf(folder).slice('sqlite:'.length))
  if (ours || readdirSync(folder).length === 0) return realpathSync(folder)
  throw errorFor('DEMO_FOLDER_USED', folder, 'is not a demo folder')
}

function asked(): Promise<void> {
  return new Promise((resolve) => {
    const codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }
    let count = 0
    for (const [signal, code] of Object.entries(codes)) {
      process.on(signal, () => {
        if (++count > 1) process.exit(code)
        resolve()
      })
    }
  })
}
