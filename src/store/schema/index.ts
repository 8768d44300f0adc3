// Every table, by the name that changes call its rows.

export { attempts, endOfRecord, evidence, records } from './calls.ts'
export type * from './describe.ts'
export { decisions, items, notices } from './people.ts'
export { checkpoints, endOfRun, events, fixedOfRun, runs, signals } from './run.ts'
export { documents, threadSteps, threadWrites } from './server.ts'
