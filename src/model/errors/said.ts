// What an error says: how the tables of codes put it.

export interface ErrorOptions {
  retryable?: boolean
  cause?: unknown
  details?: Record<string, unknown>
}

/** The words of an error, and what else it carries. */
export interface Said extends ErrorOptions {
  readonly message: string
}

/** A row for each code: what it says of the facts that it is given. */
export type Wordings = Readonly<Record<string, (...facts: never[]) => Said>>

/** For a code that has a reason of its own at every place, which is all that it says. */
export function inWords(message: string, details: Record<string, unknown> = {}): Said {
  return { message, details }
}
