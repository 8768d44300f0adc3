// counterfoil store …
import type { Command } from 'commander'
import { finishGroup } from '../group.ts'
import { addStoreAdopt } from './store/adopt.ts'
import { addStoreCollect } from './store/collect.ts'
import { addRotateKey } from './store/rotate-key.ts'
import { addStoreStatus } from './store/status.ts'

const help = `
Examples:
  counterfoil store status
  counterfoil store adopt --reason 'moved to the new host; the old one is off'`

export function addStore(program: Command): void {
  const command = program
    .command('store')
    .description('look after the store: status, adopt, collect, rotate-key')
    .addHelpText('after', help)
  addStoreStatus(command)
  addStoreAdopt(command)
  addStoreCollect(command)
  addRotateKey(command)
  finishGroup(command)
}
