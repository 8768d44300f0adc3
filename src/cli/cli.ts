// What every command is given: the global options, resolved, and the store they name.
import { userInfo } from 'node:os'
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import { type Counterfoil, open } from '../open.ts'
import { isPostgresUrl, locate } from '../store/postgres/opening/location.ts'
import type { Carried } from './dev/load.ts'
import { createOutput, type Output, warn } from './output.ts'
import { createProgress, type Progress, stderrLine } from './progress.ts'
import { nearPath, shellWord, widthOf } from './show/text.ts'
import { checkStoreFile } from './store-file.ts'
import { usageError } from './usage.ts'

export interface Cli {
  readonly out: Output
  readonly storeUrl: string
  /** Where its large values lie, if not beside it. */
  readonly blobDir: string | undefined
  readonly namespace: string
  readonly debug: boolean
  readonly progress: Progress
  /** For people: with --json, stderr holds nothing but an error. */
  readonly warn: (message: string) => void
  /** Whether somebody can be asked. */
  readonly interactive: boolean
  /** Another command on the same store and namespace, as lines ready to be pasted. */
  again(indent: number, ...words: string[]): string[]
}

interface Globals {
  store?: string
  blobs?: string
  namespace?: string
  json?: boolean
  debug?: boolean
}

const defaultStore = 'sqlite:counterfoil.db'

const group = 'Global options:'

/** On the program and on every command, so that they are understood before and after its name. */
export function addGlobals(command: Command, { store = true } = {}): void {
  const which = [
    new Option('--store <url>', `which store (COUNTERFOIL_STORE, or ${defaultStore})`),
    new Option('--blobs <dir>', 'its blobDir, if it has one (COUNTERFOIL_BLOBS)'),
    new Option('--namespace <name>', 'which namespace (default)'),
  ]
  const how = [
    new Option('--json', 'print JSON, and errors as JSON on stderr'),
    new Option('--debug', 'show where an error came from'),
  ]
  const options = store ? [...which, ...how] : how
  for (const option of options) command.addOption(option.helpGroup(group))
  command.addHelpOption(new Option('-h, --help', 'print help').helpGroup(group))
}

export function cliOf(command: Command): Cli {
  const given = command.optsWithGlobals<Globals>()
  const { COUNTERFOIL_STORE: storeEnv, COUNTERFOIL_BLOBS: blobsEnv } = process.env
  const json = given.json === true
  const progress = createProgress(stderrLine(json))
  const out = createOutput(json, () => progress.clear())
  const { stdin, stdout } = process
  return {
    out,
    storeUrl: given.store ?? (storeEnv || defaultStore),
    blobDir: given.blobs ?? (blobsEnv || undefined),
    namespace: given.namespace ?? 'default',
    debug: given.debug === true,
    progress,
    warn: (message) => {
      progress.clear()
      if (!out.json) warn(message)
    },
    interactive: !out.json && stdin.isTTY === true && stdout.isTTY === true,
    again: (indent, ...words) => {
      const same = (['store', 'blobs', 'namespace'] as const).flatMap((name) => {
        const value = given[name]
        return value === undefined ? [] : [`--${name}`, withoutPassword(value)]
      })
      return pasteable([...words, ...same], { width: out.width, indent })
    },
  }
}

/** What is printed may be kept by others; the driver finds a password in PGPASSWORD as well. */
function withoutPassword(value: string): string {
  return isPostgresUrl(value) ? locate(value).url : value
}

/** A command that works where it is pasted, broken before options as a shell allows it. */
export function pasteable(
  words: readonly string[],
  { width, indent }: { width: number; indent: number },
): string[] {
  const parts = [selfName()]
  for (const word of words.map(shellWord)) {
    if (word.startsWith('--')) parts.push(word)
    else parts.push(`${parts.pop()} ${word}`)
  }
  const lines: string[] = []
  let line = ' '.repeat(indent)
  for (const part of parts) {
    const begun = line.trim() !== ''
    // PowerShell and cmd.exe have other marks for a command that goes on.
    if (begun && process.platform !== 'win32' && widthOf(`${line} ${part} \\`) > width) {
      lines.push(`${line} \\`)
      line = `${' '.repeat(indent + 2)}${part}`
    } else line = begun ? `${line} ${part}` : `${line}${part}`
  }
  return [...lines, line]
}

/** How this program was called. */
function selfName(): string {
  const script = process.argv[1] ?? 'counterfoil'
  if (basename(script) === 'counterfoil') {
    return /[\\/]node_modules[\\/]/.test(script) ? 'npx counterfoil' : 'counterfoil'
  }
  return `node ${shellWord(nearPath(script))}`
}

/** Opens a store that is there; a command that only looks must not make one. */
export async function withStore<T>(
  cli: Cli,
  work: (cf: Counterfoil) => Promise<T>,
  options: { tellMoved?: boolean } = {},
): Promise<T> {
  const { storeUrl } = cli
  if (storeUrl === 'memory:') {
    throw usageError('a memory: store lives inside one process, so there is nothing to look at')
  }
  checkStoreFile(
    storeUrl,
    'Name the right one with --store sqlite:<file> or COUNTERFOIL_STORE; a worker makes one when ' +
      'it starts (counterfoil dev, counterfoil demo)',
  )
  return withCounterfoil(cli, { graphs: [] }, async (cf) => {
    const moved = options.tellMoved === false ? null : await cf.store.moved()
    if (moved !== null) cli.warn(moved)
    return work(cf)
  })
}

export async function withCounterfoil<T>(
  cli: Cli,
  carried: Carried,
  work: (cf: Counterfoil) => Promise<T>,
): Promise<T> {
  const { storeUrl: store, namespace, blobDir } = cli
  cli.progress.begin('reading the store')
  try {
    const cf = await open({
      store,
      namespace,
      onWarning: quietly(cli.warn),
      ...carried,
      ...(blobDir === undefined ? {} : { blobDir }),
    })
    try {
      return await work(cf)
    } finally {
      await cf.close()
    }
  } finally {
    cli.progress.end()
  }
}

/** A trouble that is retried ten times a second is said once. */
function quietly(say: (message: string) => void): (message: string) => void {
  let last = ''
  return (message) => {
    if (message !== last) say(message)
    last = message
  }
}

/** Why somebody does what stays on record; refused where there is no default for it. */
export function reasonOf(what: string, given: string | undefined, unlessTold?: string): string {
  const reason = given ?? unlessTold
  if (reason !== undefined && reason.trim() !== '') return reason
  throw usageError(`${what} needs --reason '<why>'; it is kept on record`)
}

/** Who decides, unless told: the user of this machine. */
export function userName(given: string | undefined): string {
  if (given !== undefined) return given
  const { USER, LOGNAME, USERNAME } = process.env
  let name: string | undefined
  try {
    name = userInfo().username
  } catch {
    name = USER ?? LOGNAME ?? USERNAME
  }
  if (name !== undefined && name !== '') return name
  throw usageError('this machine does not know your name: say who decides with --by <name>')
}
