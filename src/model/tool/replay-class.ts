// What may happen if a call is sent twice: from nothing to harm.

export const replayClasses = ['pure', 'idempotent_with_key', 'unsafe_on_replay'] as const
export type ReplayClass = (typeof replayClasses)[number]

/** The stricter of two classes: what is stored with an intent binds later code, and the reverse. */
export function stricter(a: ReplayClass, b: ReplayClass): ReplayClass {
  return replayClasses.indexOf(a) > replayClasses.indexOf(b) ? a : b
}
