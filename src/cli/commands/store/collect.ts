// counterfoil store collect
import type { Command } from 'commander'
import type { BlobStore } from '../../../blob/blob.ts'
import { collectOrphans } from '../../../blob/collect.ts'
import { openFiles } from '../../../blob/files.ts'
import { systemClock } from '../../../clock.ts'
import { blobDirOf } from '../../../open.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { bytes, plural, wrap } from '../../show/text.ts'
import { usageError } from '../../usage.ts'

const help = `
Large results and states lie in files beside the store, each under the hash of
its content. A write that was begun and never finished leaves one behind that
nothing refers to; this removes those. A blob that any row refers to stays, and
so does one that was written within the last hour: its row may be on the way.
It may be used while workers work.

The directory must belong to this store alone: what only another store refers
to would be taken for an orphan.

Example:
  counterfoil store collect`

export function addStoreCollect(store: Command): void {
  const command = store
    .command('collect')
    .description('remove large values that nothing refers to')
    .addHelpText('after', help)
    .action(() => collect(cliOf(command)))
  addGlobals(command)
}

async function collect(cli: Cli): Promise<void> {
  await withStore(cli, async (cf) => {
    const dir = blobDirOf(cf.store.url, cli.blobDir)
    if (dir === null) {
      throw usageError('this store holds large values itself; name its blobDir with --blobs')
    }
    const {
      removed,
      kept,
      bytes: freed,
    } = await collectOrphans({
      blobs: counted(cli, openFiles({ dir, clock: systemClock })),
      inUse: (digests) => cf.store.blobsInUse(digests),
      clock: systemClock,
    })
    cli.out.data({ dir, removed, kept, bytes: freed })
    const text =
      removed === 0 && freed === 0
        ? `Nothing to remove: ${plural(kept, 'blob')} in ${dir}.`
        : `Removed ${plural(removed, 'blob')}, and freed ${bytes(freed)}; ${kept} stay in ${dir}.`
    cli.out.text(...wrap(text, cli.out.width))
  })
}

/** The same blobs, with a word for each that is looked at. */
function counted(cli: Cli, blobs: BlobStore): BlobStore {
  return {
    ...blobs,
    list: async function* () {
      let count = 0
      for await (const blob of blobs.list()) {
        cli.progress.say(`${plural(++count, 'blob')} looked at`)
        yield blob
      }
    },
  }
}
