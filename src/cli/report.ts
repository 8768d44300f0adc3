// How a command ends: its exit code, and its error in one line with a code and a page.
import { CommanderError } from 'commander'
import { iso } from '../client/wire/iso.ts'
import { type CounterfoilError, errorFor, isCounterfoilError } from '../model/errors.ts'
import { colorsFor } from './output.ts'
import { clean } from './show/text.ts'
import { usageError } from './usage.ts'

export const exitCodes = { ok: 0, failure: 1, usage: 2 } as const

const usageCodes = ['CLI_USAGE', 'JSON_INVALID', 'RETRY_INVALID', 'STORE_URL_INVALID']

// What a message of the library means on a command line.
const hints: Readonly<Record<string, string>> = {
  CHECKPOINT_DAMAGED: '`counterfoil checkpoint inspect` shows which visits are good.',
  DECISION_FORBIDDEN: 'On the command line --by says who decides.',
  DECISION_INVALID: '`counterfoil inbox show` prints the commands to decide with.',
  DECISION_TOO_EARLY: 'On the command line that is --made-sure.',
  ITEM_CHANGED: '`counterfoil inbox show` shows it as it is now.',
  ITEM_NOT_FOUND: '`counterfoil inbox` lists what is open.',
  RUN_NOT_PAUSED: '`counterfoil inbox show` shows it with the commands to decide with.',
  RUN_NOT_FOUND: '`counterfoil runs` lists what there is.',
}

interface How {
  readonly json: boolean
  readonly debug: boolean
  /** How the command that was meant is written. */
  readonly usage?: string
}

/** Prints the error, if it is one, and says how the process shall end. */
export function report(error: unknown, how: How): number {
  if (error instanceof CommanderError) return reportCommander(error, how)
  const known = isCounterfoilError(error) ? error : unexpected(error)
  const { code } = known
  const hint = hints[code]
  const message = hint === undefined ? known.message : `${known.message}. ${hint}`
  const docs = `docs/errors/${code}.md`
  if (how.json) {
    write(JSON.stringify({ error: { code, message, docs, ...detailsOf(known) } }, null, 2))
  } else {
    write(`${colorsFor(process.stderr).red('error:')} ${clean(message)} [${code}, ${docs}]`)
  }
  if (how.debug && error instanceof Error && error.stack) write(error.stack)
  return usageCodes.includes(code) ? exitCodes.usage : exitCodes.failure
}

function detailsOf({ details }: CounterfoilError): { details?: Record<string, unknown> } {
  const entries = Object.entries(details).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    name === 'until' && typeof value === 'number' ? iso(value) : value,
  ])
  return entries.length === 0 ? {} : { details: Object.fromEntries(entries) }
}

function reportCommander(error: CommanderError, how: How): number {
  if (error.exitCode === 0) return exitCodes.ok
  const bare = error.code === 'commander.help'
  // The bare command: its help has been printed, and says more than an error could.
  if (bare && !how.json) return exitCodes.usage
  const message = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ')
  const usage = how.usage === undefined || /did you mean/i.test(message) ? '' : `; ${how.usage}`
  return report(usageError(bare ? 'no command was given; see --help' : message + usage), how)
}

function unexpected(cause: unknown): CounterfoilError {
  const message = cause instanceof Error ? cause.message : String(cause)
  const more = `${message || 'an error without a message'} (--debug shows where)`
  return errorFor('UNEXPECTED', more, cause)
}

function write(line: string): void {
  process.stderr.write(`${line}\n`)
}
