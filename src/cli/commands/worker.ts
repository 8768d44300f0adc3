// counterfoil worker …
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { addGlobals } from '../cli.ts'
import { nearest, usageError } from '../usage.ts'
import { addWorkerDead } from './worker/dead.ts'
import { addWorkerList } from './worker/list.ts'
import { addWorkOptions, work, workHelp } from './worker/work.ts'

const help = `${workHelp}

Examples:
  counterfoil worker ./agents.js --concurrency 50 --grace 60s
  counterfoil worker list
  counterfoil worker dead w_0mb3x9… --reason 'its node was removed'`

export function addWorker(program: Command): void {
  const command = program
    .command('worker [file]')
    .description('run a worker with the graphs that a file exports; list, dead')
    .addHelpText('after', help)
    .action((file?: string) => {
      if (file === undefined) return command.help({ error: true })
      checkMeant(file, command)
      return work(command, file)
    })
  addWorkOptions(command)
  addWorkerRun(command)
  addWorkerList(command)
  addWorkerDead(command)
  addGlobals(command)
}

/** The same by a name of its own, for a file that is called like one of the commands. */
function addWorkerRun(worker: Command): void {
  const command = worker
    .command('run <file>')
    .description('the same as worker <file>')
    .addHelpText('after', `${workHelp}\n\nExample:\n  counterfoil worker run ./list`)
    .action((file: string) => work(command, file))
  addWorkOptions(command)
  addGlobals(command)
}

function checkMeant(word: string, { commands }: Command): void {
  if (existsSync(word)) return
  const near = nearest(
    word,
    commands.map((one) => one.name()),
  )
  if (near === null) return
  throw usageError(`unknown command 'worker ${word}'; did you mean: worker ${near}?`)
}
