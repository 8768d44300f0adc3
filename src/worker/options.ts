// What can be said of a worker, and what it is unless said.
import { type CounterfoilError, errorFor } from '../model/errors.ts'
import * as limits from '../model/limits.ts'

export interface WorkerOptions {
  /** Runs at once in this process. */
  concurrency?: number
  /** Runs of the namespace that was opened, or of all that the store has. */
  namespaces?: 'own' | 'all'
  leaseMs?: number
  pollMs?: number
  /** How long the lease is renewed while the event loop is blocked. */
  blockedMsMax?: number
}

export interface StopOptions {
  /** How long what is under way may take; for ever, if it is not said. */
  graceMs?: number
}

const known = ['concurrency', 'namespaces', 'leaseMs', 'pollMs', 'blockedMsMax']

export function checkOptions(options: WorkerOptions): Required<WorkerOptions> {
  const strange = Object.keys(options).find((key) => !known.includes(key))
  if (strange !== undefined) {
    throw wrong(`there is no option \`${strange}\`; the options are ${known.join(', ')}`)
  }
  const { namespaces = 'own' } = options
  if (namespaces !== 'own' && namespaces !== 'all') {
    throw wrong(`\`namespaces\` is ${JSON.stringify(namespaces)}; it must be 'own' or 'all'`)
  }
  return {
    concurrency: atLeastOne('concurrency', options.concurrency ?? 10),
    namespaces,
    leaseMs: atLeastOne('leaseMs', options.leaseMs ?? limits.leaseMs),
    pollMs: atLeastOne('pollMs', options.pollMs ?? limits.pollMs),
    blockedMsMax: atLeastOne('blockedMsMax', options.blockedMsMax ?? limits.blockedMsMax),
  }
}

export function checkStop(options: StopOptions): StopOptions {
  const { graceMs } = options
  if (graceMs === undefined || (Number.isFinite(graceMs) && graceMs >= 0)) return options
  throw wrong(`\`graceMs\` is ${String(graceMs)}; it must be milliseconds, or left out`)
}

function atLeastOne(name: string, value: number): number {
  if (value >= 1 && Number.isFinite(value)) return value
  throw wrong(`\`${name}\` is ${String(value)}; it must be a number of at least 1`)
}

function wrong(what: string): CounterfoilError {
  return errorFor('WORKER_OPTIONS', what)
}
