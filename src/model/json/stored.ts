// Values that no MAC and no digest covers, read from rows that somebody may have damaged.
import { errorFor } from '../errors.ts'

/** `what` names the value in the error of one that cannot be read. */
export function parseStored(json: string, what: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw errorFor('STORE_CORRUPT', what, cause as Error)
  }
}
