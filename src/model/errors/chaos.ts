// Errors of `counterfoil chaos`, and of what it is given to run.
import { inWords, type Wordings } from './said.ts'

export const chaosErrors = {
  CHAOS_OPTIONS: inWords,
  CHAOS_NO_REFERENCE: inWords,
  CHAOS_FOUND: inWords,
  CHAOS_UPSTREAM_MISSING: inWords,
} as const satisfies Wordings
