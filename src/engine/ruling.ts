// Small rules of the gate: how a person's answer is checked, and how a host's id becomes a number.
import { sha256 } from '../model/canonical.ts'
import { validate } from '../model/schema.ts'
import type { IssuedCall } from './call.ts'

/** What a person's answer is checked by: the tool's own schema, or that of an edit. */
export function checkOf(call: IssuedCall, value: unknown): (() => unknown) | null {
  const { output } = call.tool.rules
  const subject = `decided result of ${call.tool.name}`
  const what = { code: 'OUTPUT_INVALID', subject } as const
  if (output !== null) return () => Promise.resolve(validate(output, value, what)).then(() => value)
  const schema = call.ask?.schema
  const approval = value as { outcome?: string; data: unknown }
  if (!schema || call.ask?.kind !== 'approval' || approval.outcome !== 'edit') return null
  return async () => ({ ...approval, data: await validate(schema, approval.data, what) })
}

/** A host's id as a number: the same for every replay, and its repetitions apart. */
export function occurrenceOf(callId: string, nth: number): number {
  return Number.parseInt(sha256(`${callId}\n${nth}`).slice(0, 12), 16)
}
