// counterfoil checkpoint …
import type { Command } from 'commander'
import { finishGroup } from '../group.ts'
import { addCheckpointDiff } from './checkpoint/diff.ts'
import { addCheckpointInspect } from './checkpoint/inspect.ts'
import { addCheckpointList } from './checkpoint/list.ts'
import { addCheckpointPin } from './checkpoint/pin.ts'

const help = `
A run's state is written down at every arrival at a node: whole, or as what has
changed since. Each of these rows is chained to the one before by its digest,
and one that does not fit is never used: the run then waits for a person.

Examples:
  counterfoil checkpoint list acme-1
  counterfoil checkpoint inspect acme-1 --visit 3
  counterfoil checkpoint diff acme-1 3 4
  counterfoil checkpoint pin acme-1 3 --reason 'visit 4 is damaged'`

export function addCheckpoint(program: Command): void {
  const command = program
    .command('checkpoint')
    .description('look at the states of a run: list, inspect, diff, pin')
    .addHelpText('after', help)
  addCheckpointList(command)
  addCheckpointInspect(command)
  addCheckpointDiff(command)
  addCheckpointPin(command)
  finishGroup(command)
}
