// The commands and their help; parsing; the end of the process.
import { Command } from 'commander'
import { packageVersion } from '../open.ts'
import { addGlobals } from './cli.ts'
import { addApprove, addReject, addRespond } from './commands/approve.ts'
import { addCallback } from './commands/callback.ts'
import { addChaos } from './commands/chaos.ts'
import { addCheckpoint } from './commands/checkpoint.ts'
import { addCompletion } from './commands/completion.ts'
import { addDb } from './commands/db.ts'
import { addDecide } from './commands/decide.ts'
import { addDemo } from './commands/demo.ts'
import { addDev } from './commands/dev.ts'
import { addInbox } from './commands/inbox.ts'
import { addLedger } from './commands/ledger.ts'
import { addRun } from './commands/run.ts'
import { addRuns } from './commands/runs.ts'
import { addServe } from './commands/serve.ts'
import { addStore } from './commands/store.ts'
import { addToken } from './commands/token.ts'
import { addVersions } from './commands/versions.ts'
import { addWebhook } from './commands/webhook.ts'
import { addWorker } from './commands/worker.ts'
import { report } from './report.ts'

const about =
  'Kill an AI agent at any moment: what it did is not done twice, what it did not do is done, ' +
  'and a person is asked about what nobody can know.'

const ending = `
Begin with:
  counterfoil demo                 see a worker killed, and no e-mail sent twice
  counterfoil dev ./agent.js       run a worker with your own workflows
  counterfoil chaos ./agent.js     kill them everywhere, see what holds
  counterfoil serve ./agent.js     the HTTP API and the console, in a browser
  counterfoil inbox                what waits for a person

Exit codes: 0 done, 1 failed, 2 wrong use of the command line.
Every error has a code, and a page about it: docs/errors/<CODE>.md`

const commands = [
  addDemo,
  addDev,
  addChaos,
  addServe,
  addRuns,
  addRun,
  addInbox,
  addApprove,
  addReject,
  addRespond,
  addDecide,
  addCallback,
  addCheckpoint,
  addLedger,
  addWorker,
  addVersions,
  addStore,
  addDb,
  addToken,
  addWebhook,
  addCompletion,
]

export function createProgram({ json }: { json: boolean }): Command {
  const program = new Command('counterfoil')
  program
    .description(about)
    // Only before a command: `decide --version 3` means the version of an item.
    .version(packageVersion(), '--version', 'print the version of Counterfoil')
    .helpCommand('help [command]', 'print help about a command')
    .configureHelp({ subcommandTerm: termOf })
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => {}, ...(json ? { writeErr: () => {} } : {}) })
    .addHelpText('after', ending)
  addGlobals(program)
  for (const add of commands) add(program)
  return program
}

export async function runCli(argv: readonly string[]): Promise<void> {
  process.stdout.on('error', endWithReader)
  // Asked of the words themselves: the parser may not come as far as the option.
  const how = { json: argv.includes('--json'), debug: argv.includes('--debug') }
  const program = createProgram(how)
  try {
    await program.parseAsync([...argv])
  } catch (error) {
    // Not left to the event loop: a module that `dev` has loaded may keep it busy for ever.
    process.exit(report(error, { ...how, usage: usageOf(program, argv.slice(2)) }))
  }
}

/** Without "[options]", which every command has. */
function termOf(command: Command): string {
  const parts = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  )
  return [command.name(), ...parts].join(' ')
}

/** How the command that was meant is written. */
function usageOf(program: Command, words: readonly string[]): string {
  let command = program
  const names = [program.name()]
  for (const word of words) {
    const inner = command.commands.find((one) => one.name() === word)
    if (inner === undefined) continue
    command = inner
    names.push(word)
  }
  const term = [...names.slice(0, -1), termOf(command)].join(' ')
  return `the command is \`${term}\`, and \`${names.join(' ')} --help\` explains it`
}

/** `counterfoil runs | head` is no failure. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
}
