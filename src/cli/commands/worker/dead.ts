// counterfoil worker dead
import type { Command } from 'commander'
import { workerJson } from '../../../client/wire/worker.ts'
import { errorFor } from '../../../model/errors.ts'
import type { Counterfoil } from '../../../open.ts'
import type { WorkerRow } from '../../../store/store.ts'
import { assertedDeath } from '../../../worker/asserted.ts'
import { addGlobals, type Cli, cliOf, reasonOf, userName, withStore } from '../../cli.ts'
import { wrap } from '../../show/text.ts'
import { nearest } from '../../usage.ts'

interface Options {
  by?: string
  reason?: string
  force?: boolean
}

const help = `
The death of a worker on this machine is found automatically. On another machine
only whoever runs the worker can know: an orchestrator that removed its node, or
a person who switched it off. This states it, on record, under their name.

From then on its runs are taken over at once, and its calls count as ended:
after their quiet time it may be said of them that they did not happen. So a
wrong statement can make an unsafe call be sent twice. A worker of this machine
whose socket answers is alive, and is refused; --force overrides that, on
record: the worker then loses its runs, and what it has sent may still arrive.

Example:
  counterfoil worker dead w_0mb3x9… --by k8s --reason 'pod agents-3 was deleted'`

export function addWorkerDead(worker: Command): void {
  const command = worker
    .command('dead <worker>')
    .description('state that a worker is dead, so that its runs can go on')
    .option('--by <name>', 'who states it (the user of this machine)')
    .option('--reason <text>', 'how you know it; required, and kept on record')
    .option('--force', 'even if its socket still answers on this machine')
    .addHelpText('after', help)
    .action((id: string, options: Options) => declare(cliOf(command), id, options))
  addGlobals(command)
}

async function declare(cli: Cli, workerId: string, options: Options): Promise<void> {
  const by = userName(options.by)
  const reason = reasonOf('worker dead', options.reason)
  await withStore(cli, async (cf) => {
    const row = await find(cf, workerId)
    const changed = row.diedAt === null
    if (changed) {
      const said = `stated by ${by}: ${reason}`
      const proof = await assertedDeath(cf.store, row, said, { force: options.force === true })
      await cf.store.declareDead(row.workerId, proof)
    }
    const after = await find(cf, row.workerId)
    cli.out.data({ worker: workerJson(after, []), changed })
    const text = changed
      ? `Worker ${row.workerId} is on record as dead: ${after.deathProof}.`
      : `Worker ${row.workerId} is on record as dead already: ${after.deathProof}. Nothing was ` +
        'changed.'
    cli.out.text(...wrap(text, cli.out.width))
  })
}

/** By its whole id: a word of this weight is about one worker and no other. */
async function find(cf: Counterfoil, workerId: string): Promise<WorkerRow> {
  const rows = await cf.store.workers()
  const exact = rows.find((row) => row.workerId === workerId)
  if (exact) return exact
  const near = nearest(
    workerId,
    rows.map((row) => row.workerId),
  )
  const meant =
    near === null ? '`counterfoil worker list --all` lists them' : `did you mean ${near}?`
  throw errorFor('WORKER_NOT_FOUND', workerId, meant)
}
