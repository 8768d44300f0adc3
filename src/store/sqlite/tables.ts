// The tables as SQLite's driver reads and writes them: a row is a list of values.
import * as schema from '../schema/index.ts'
import { type ListCodec, listCodec } from '../sql/codec.ts'

export type { SqlValue } from '../sql/codec.ts'

export type Table<T> = ListCodec<T>

const table = <T extends object>(described: schema.Described<T>): Table<T> =>
  listCodec(described, { flags: 'integer' })

export const runs = table(schema.runs)
export const checkpoints = table(schema.checkpoints)
export const records = table(schema.records)
export const attempts = table(schema.attempts)
export const evidence = table(schema.evidence)
export const signals = table(schema.signals)
export const items = table(schema.items)
export const decisions = table(schema.decisions)
export const events = table(schema.events)
export const notices = table(schema.notices)
export const documents = table(schema.documents)
export const threadSteps = table(schema.threadSteps)
export const threadWrites = table(schema.threadWrites)
