// Values that no MAC and no digest covers, read from rows that somebody may have damaged.
import { CounterfoilError } from '../errors.ts'

/** `what` names the value in the error of one that cannot be read. */
export function parseStored(json: string, what: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    const why = (cause as Error).message
    const message = `${what} cannot be read: ${why}; the database is damaged, restore a backup`
    throw new CounterfoilError('STORE_CORRUPT', message, { cause })
  }
}
