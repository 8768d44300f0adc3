// Which machine this is, as far as proofs of death are concerned (I9).
import { hostname } from 'node:os'
import { bootId } from '../store/boot.ts'
import type { StoreBase } from '../store/store.ts'

export interface Machine {
  readonly host: string
  readonly bootId: string
}

const named = 'machine:'

/**
 * Names of hosts are given twice, and given again to new machines; in a container they name the
 * container. Where a store is shared by several, COUNTERFOIL_MACHINE says which one this is.
 */
export function machineOf({ local }: Pick<StoreBase, 'local'>): Machine {
  const name = local ? undefined : process.env['COUNTERFOIL_MACHINE']
  return { host: name ? `${named}${name}` : hostname(), bootId: bootId() }
}

/** Whether two equal names mean one machine for certain. */
export function isCertain({ local }: Pick<StoreBase, 'local'>, host: string): boolean {
  return local || host.startsWith(named)
}
