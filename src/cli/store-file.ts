// Whoever only looks into a store must not make one.
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { errorFor } from '../model/errors.ts'

/** Refuses a SQLite file that is not there, or has nothing in it. */
export function checkStoreFile(url: string, hint: string): void {
  const given = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ''
  if (given === '') return
  const path = resolve(given)
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat !== undefined && (!stat.isFile() || stat.size > 0)) return
  throw errorFor('STORE_NOT_FOUND', path, { isEmpty: stat !== undefined, hint })
}
