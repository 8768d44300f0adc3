// counterfoil ledger …
import type { Command } from 'commander'
import { finishGroup } from '../group.ts'
import { addLedgerShow } from './ledger/show.ts'
import { addLedgerVerify } from './ledger/verify.ts'

const help = `
Every call of a tool leaves a record: what was sent, by whom, and how it ended.
Records are signed; what was settled is never rewritten.

Examples:
  counterfoil ledger show acme-1 --tool send_email --full
  counterfoil ledger verify`

export function addLedger(program: Command): void {
  const command = program
    .command('ledger')
    .description('look at what was done, and check it: show, verify')
    .addHelpText('after', help)
  addLedgerShow(command)
  addLedgerVerify(command)
  finishGroup(command)
}
