// counterfoil store rotate-key
import type { Command } from 'commander'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { wrap } from '../../show/text.ts'

const help = `
Every record is signed with a key that lies beside the store (<file>.key), so
that a row that was altered is never believed. This adds a new key, which signs
from now on, in workers that are running too. The old ones stay in the file:
what they signed is still verified with them, so nobody who had one is locked
out of the past. Keep a copy of the key file apart from the store; without it
no record can be trusted.

Keys given as COUNTERFOIL_KEY, as those of a Postgres store always are, are
rotated where they are kept, with a comma and in two rounds of restarts: first
<new>,<old> everywhere, then <old>,<new> (docs/errors/STORE_KEY_GIVEN.md).

Example:
  counterfoil store rotate-key`

export function addRotateKey(store: Command): void {
  const command = store
    .command('rotate-key')
    .description('sign with a new key from now on; old records still verify')
    .addHelpText('after', help)
    .action(() => rotate(cliOf(command)))
  addGlobals(command)
}

async function rotate(cli: Cli): Promise<void> {
  await withStore(cli, async (cf) => {
    const keyId = await cf.store.rotateKey()
    const { keyFile: file } = await cf.store.facts(cli.namespace)
    cli.out.data({ store: cf.store.url, key_id: keyId, key_file: file })
    const text =
      `Key ${keyId} signs from now on; what earlier keys have signed still verifies. Copy ` +
      `${file} to where you keep its earlier form.`
    cli.out.text(...wrap(text, cli.out.width))
  })
}
