// Errors about the processes that work on runs.
import type { Wordings } from './said.ts'

export const workerErrors = {
  WORKER_OPTIONS: (what: string) => ({ message: `worker: ${what}` }),
  WORKER_NOT_FOUND: (workerId: string, hint?: string) => ({
    message:
      hint === undefined
        ? `there is no worker ${workerId}`
        : `there is no worker ${workerId} on this store; ${hint}`,
    details: { workerId },
  }),
  WORKER_DEAD: (workerId: string, why: string) => ({
    message: `worker ${workerId} ${why}`,
    details: { workerId },
  }),
  WORKER_ALIVE: (workerId: string, pid: number | null) => ({
    message:
      `worker ${workerId} is alive: pid ${pid} on this machine answers on its socket. Stop ` +
      `it (kill ${pid}), and its death is noticed; or state it with --force, which is ` +
      'kept on record',
    details: { workerId, pid },
  }),
  WORKER_SOCKET_DIR: (dir: string) => ({
    message: `${dir} is not a folder of this user: a worker cannot prove its life there; remove it`,
    details: { dir },
  }),
  WORKER_UNFINISHED: (what: string, unfinished: readonly unknown[]) => ({
    message:
      `${what}. Other workers take them over; a call whose outcome nobody can know then waits ` +
      'in the inbox',
    details: { unfinished },
  }),
} as const satisfies Wordings
