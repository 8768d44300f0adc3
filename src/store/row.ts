// How stores make the objects of rows: thousands of them at every resume of a long visit.

/**
 * A row to fill in a copy of. V8 makes a hash table of an object that is given many properties by
 * computed names: larger, and slower to read and to copy. What it has parsed itself stays flat.
 */
export function blankRow(keys: readonly string[]): Record<string, unknown> {
  return JSON.parse(`{${keys.map((key) => `${JSON.stringify(key)}:null`).join()}}`)
}

/** The same with room for the answer to "is its MAC right?", which is no until somebody looks. */
export function blankSealed(keys: readonly string[]): Record<string, unknown> {
  return { ...blankRow([...keys, 'verifies']), verifies: false }
}

/** A row that was just read, before its MAC is looked at. */
export type Unchecked<T> = T & { verifies: boolean }
