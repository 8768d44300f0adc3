// A death that somebody states. What can be seen on this machine says more than anybody's word, and
// a worker whose socket answers is alive.
import { connect } from 'node:net'
import { errorFor } from '../model/errors.ts'
import type { LeasesPort, StoreBase, WorkerRow } from '../store/store.ts'
import { proofOfDeath } from './liveness.ts'
import { machineOf } from './machine.ts'

/** What is put on record for a worker that is stated to be dead. */
export async function assertedDeath(
  store: LeasesPort & Pick<StoreBase, 'local'>,
  row: WorkerRow,
  said: string,
  { force = false }: { force?: boolean } = {},
): Promise<string> {
  const machine = machineOf(store)
  if (row.host !== machine.host) return said
  const seen = await proofOfDeath(store, row, machine)
  if (seen !== null) return `${seen}; ${said}`
  if (!(await socketAnswers(row))) return said
  if (force) return `${said}, although its socket answered`
  throw errorFor('WORKER_ALIVE', row.workerId, row.pid)
}

const answerMs = 1_000

/** Somebody listens on its socket: only the process that made it can. */
export function socketAnswers({ socketPath }: WorkerRow): Promise<boolean> {
  if (socketPath === null) return Promise.resolve(false)
  return new Promise((resolve) => {
    const socket = connect(socketPath)
    const end = (answers: boolean) => {
      socket.destroy()
      resolve(answers)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
    socket.setTimeout(answerMs, () => end(false))
  })
}
