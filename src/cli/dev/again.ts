// Owns: `dev` going on after a file that it could not work with. A module cannot be loaded anew in
// the same process with all that it imports, so every new attempt is a process of its own; this one
// waits for the sources to change between two of them.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { type ErrorCode, isCounterfoilError } from '../../model/errors.ts'
import type { Cli } from '../cli.ts'
import { interrupted } from '../wait.ts'
import { picture, sourcesChange } from './sources.ts'

const mark = 'COUNTERFOIL_DEV_ATTEMPT'

/** How an attempt tells that it could not work with the file. */
const couldNot = 75

const unusable: readonly ErrorCode[] = [
  'GRAPH_CHANGED',
  'GRAPH_INVALID',
  'MODULE_NOT_LOADED',
  'MODULE_WITHOUT_GRAPH',
]

/** Whether this process is one of the attempts. */
export function isAttempt(): boolean {
  return process.env[mark] !== undefined
}

/** What a change of the sources can mend; only a graph that changed was well before. */
export function isMendable(error: unknown): boolean {
  const codes: readonly ErrorCode[] = isAttempt() ? unusable : ['GRAPH_CHANGED']
  return codes.some((code) => isCounterfoilError(error, code))
}

/** Ends this attempt; the process that made it waits for a change. */
export function giveUp(tell: () => void): never {
  tell()
  process.exit(couldNot)
}

/**
 * Waits for a change and tries again, until an attempt has ended by itself. `tried` is what the
 * sources were like before the last attempt: one that was saved meanwhile counts as changed.
 */
export async function tryAgain(
  cli: Cli,
  file: string,
  tried: string,
  tell: () => void,
): Promise<number> {
  let before = tried
  for (let first = true; ; first = false) {
    // Before anything is said: whoever reads it may answer with Ctrl-C at once.
    const enough = interrupted()
    if (first) tell()
    cli.out.text(cli.out.colors.dim('Waiting for a change of the source; Ctrl-C ends.'))
    await sourcesChange(file, before, enough.promise)
    enough.forget()
    if (enough.said !== null) return 0
    before = picture(file)
    const code = await attempt()
    if (code !== couldNot) return code
  }
}

function attempt(): Promise<number> {
  const args = [...process.execArgv, ...process.argv.slice(1)]
  const child = spawn(process.execPath, args, {
    stdio: 'inherit',
    env: { ...process.env, [mark]: '1' },
  })
  // A terminal sends Ctrl-C to both; one that came twice would end the child without draining.
  const pass = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGINT' || process.stdin.isTTY !== true) child.kill(signal)
  }
  process.on('SIGINT', pass)
  process.on('SIGTERM', pass)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      process.off('SIGINT', pass)
      process.off('SIGTERM', pass)
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
    })
  })
}
