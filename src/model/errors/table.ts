// Every code of Counterfoil, once. A row is what an error with that code says of its facts; the
// codes that have a class of their own are worded there, and a few are only ever recorded.
import { adapterErrors } from './adapters.ts'
import { chaosErrors } from './chaos.ts'
import { cliErrors } from './cli.ts'
import { graphErrors } from './graphs.ts'
import { peopleErrors } from './people.ts'
import { runErrors } from './runs.ts'
import { serverErrors } from './server.ts'
import { storeErrors, storesOwnCodes } from './stores.ts'
import { workerErrors } from './workers.ts'

export const wordings = {
  ...runErrors,
  ...graphErrors,
  ...peopleErrors,
  ...workerErrors,
  ...storeErrors,
  ...adapterErrors,
  ...serverErrors,
  ...cliErrors,
  ...chaosErrors,
} as const

/** src/model/errors/classes.ts, src/model/json/plain.ts. */
const codesOfClasses = [
  'CALL_FAILED',
  'NOT_PLAIN_DATA',
  'NOT_SENT',
  'OUTCOME_UNKNOWN',
  'REFUSED',
  'REPLAY_UNSAFE',
  'RUN_FAILED',
  'SCOPE_HELD',
  'WITHDRAWN',
] as const

/** Why a call or a run failed, as the ledger has it; what is thrown for it has another code. */
const recordedCodes = ['GATE_REFUSED', 'RESULT_UNRECORDED', 'RUN_POISONED'] as const

export type WordedCode = keyof typeof wordings

export type ErrorCode =
  | WordedCode
  | (typeof codesOfClasses)[number]
  | (typeof recordedCodes)[number]
  | (typeof storesOwnCodes)[number]

export const errorCodes: readonly ErrorCode[] = [
  ...(Object.keys(wordings) as WordedCode[]),
  ...codesOfClasses,
  ...recordedCodes,
  ...storesOwnCodes,
]
