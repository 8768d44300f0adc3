// What travels, as schemas: they validate what comes in, and describe what goes out.
import { z } from 'zod'
import * as limits from '../../model/limits.ts'
import { type Outcome, outcomes } from '../../model/run/records.ts'
import { runStates } from '../../model/run/states.ts'

/** No control characters and no half of a pair: they break listings and cannot be stored. */
const plain = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\p{Cc}\p{Cs}]+$/u, 'plain characters only')

export const id = plain(limits.runIdLengthMax)
export const name = z
  .string()
  .regex(new RegExp(`^[A-Za-z0-9_.:-]{1,${limits.nameLengthMax}}$`), 'letters, digits, _ . : -')
export const reason = z.string().trim().min(1).max(limits.saidLengthMax)
export const data = z.unknown()

/** A number in a query. */
export const count = (max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'a whole number')
    .transform(Number)
    .pipe(z.number().int().min(0).max(max))

const cursor = z
  .string()
  .regex(/^[\w=+/.:-]{1,256}$/)
  .optional()

/** The query of every list. */
export const paging = {
  cursor,
  limit: count(limits.pageSizeMax).optional(),
}

export const flag = z.enum(['true', 'false']).transform((value) => value === 'true')

export function pageOf(query: { cursor?: string | undefined; limit?: number | undefined }) {
  const { cursor: from, limit } = query
  return {
    ...(from === undefined ? {} : { cursor: from }),
    ...(limit === undefined ? {} : { countMax: Math.max(1, limit) }),
  }
}

export const list = (item: z.ZodType) =>
  z.object({ items: z.array(item), next: z.string().nullable() })

const time = z.string().nullable()
const subject = z
  .looseObject({
    tool_name: z.string(),
    input_hash: z.string(),
    occurrence: z.number(),
    nth: z.number(),
  })
  .nullable()

export const run = z.looseObject({
  run_id: z.string(),
  namespace: z.string(),
  graph: z.string(),
  version: z.string(),
  state: z.enum(runStates),
  node: z.string(),
  generation: z.number(),
  visit: z.number(),
  waiting_for: z.looseObject({ kind: z.string() }).nullable(),
  output: data,
  error: data,
  trace_id: z.string(),
  created_at: time,
  updated_at: time,
})

export const item = z.looseObject({
  item_id: z.string(),
  run_id: z.string(),
  kind: z.enum(['approval', 'doubt', 'question']),
  reason: z.string().nullable(),
  state: z.enum(['open', 'decided', 'closed']),
  version: z.number(),
  queue: z.string(),
  title: z.string(),
  due_at: time,
  created_at: time,
})

export const event = z.object({
  id: z.number(),
  at: time,
  kind: z.string(),
  visit: z.number(),
  data: z.record(z.string(), data),
})

export const call = z.looseObject({
  tool_name: z.string(),
  node_id: z.string(),
  visit: z.number(),
  replay_class: z.string(),
  status: z.enum(['pending', 'committed', 'failed', 'in_doubt']),
  input: data,
  result: data,
  verifies: z.boolean(),
})

export const decision = z.looseObject({
  decision_id: z.string(),
  item_id: z.string(),
  outcome: z.string(),
  subject,
  by: z.string(),
  reason: z.string(),
  version: z.number(),
  at: time,
})

export const outcome = z.enum(outcomes)

/** Some of them, as the table marks them. */
export function outcomesOf(some: readonly Outcome[]) {
  return z.enum(some as [Outcome, ...Outcome[]])
}

export const problem = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.number(),
  detail: z.string(),
  code: z.string(),
  request_id: z.string(),
  retryable: z.boolean(),
})
