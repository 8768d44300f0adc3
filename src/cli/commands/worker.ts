// counterfoil worker …
import type { Command } from 'commander'
import { finishGroup } from '../group.ts'
import { addWorkerDead } from './worker/dead.ts'
import { addWorkerList } from './worker/list.ts'

const help = `
A worker is started by your own program, or by counterfoil dev.

Examples:
  counterfoil worker list
  counterfoil worker dead w_0mb3x9… --reason 'its node was removed'`

export function addWorker(program: Command): void {
  const command = program
    .command('worker')
    .description('who works on the store: list, dead')
    .addHelpText('after', help)
  addWorkerList(command)
  addWorkerDead(command)
  finishGroup(command)
}
