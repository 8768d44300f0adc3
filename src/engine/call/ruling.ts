// How a person's answer is checked, and what is said of one that does not fit.
import { errorFor } from '../../model/errors.ts'
import type { DoubtReason } from '../../model/run/records.ts'
import { isSame } from '../../model/run/state.ts'
import { type Schema, validate } from '../../model/tool/schema.ts'
import { mayLackResult } from '../../model/tool/tool.ts'
import type { Visit } from '../visit/visit.ts'
import type { IssuedCall } from './call.ts'

/** What a person's answer is checked by: the tool's own schema, or that of an edit. */
export function checkOf(call: IssuedCall, value: unknown): (() => unknown) | null {
  const { output } = call.tool.rules
  const subject = `decided result of ${call.tool.name}`
  const what = { code: 'OUTPUT_INVALID', subject } as const
  if (value === undefined && mayLackResult(call.tool.rules)) return null
  if (output !== null) return () => Promise.resolve(validate(output, value, what)).then(() => value)
  const schema = call.ask?.schema
  const approval = value as { outcome?: string; data: unknown }
  if (!schema || call.ask?.kind !== 'approval' || approval.outcome !== 'edit') return null
  return async () => ({ ...approval, data: await validate(schema, approval.data, what) })
}

/**
 * What is to be sent instead. A person edits what they were shown: the input as its schema made it.
 * A schema that makes something else of that again cannot check it, and nothing is sent.
 */
export async function checkEdit(call: IssuedCall, schema: Schema, edited: unknown) {
  const what = { code: 'INPUT_INVALID', subject: `edited input of ${call.tool.name}` } as const
  const valid = await validate(schema, edited, what)
  if (isSame(edited, valid)) return valid
  const shown = JSON.parse(call.record?.inputJson ?? call.inputJson)
  const steady = async () => isSame(shown, await validate(schema, shown, what))
  if (await steady().catch(() => false)) return valid
  throw errorFor(
    'INPUT_INVALID',
    `the schema of ${call.tool.name} changes what it is given, so that an edit of its input ` +
      'cannot be checked: reject the call, and let it be made again',
  )
}

/** A person's answer that does not fit: says why, for whoever is asked again, and about what. */
export function noteUnusable(visit: Visit, call: IssuedCall, error: Error): DoubtReason {
  const data = { tool: call.tool.name, message: error.message }
  visit.append({ events: [visit.event('decision_unusable', data)] })
  const { entry, ruling } = call
  const reason = entry?.verifies === false ? 'tampered' : 'unknown'
  return entry ? reason : (ruling?.decision.reason ?? reason)
}
