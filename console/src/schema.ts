// What a form asks for, by a JSON schema.
import type { Schema } from '../../src/model/tool/schema-faults.ts'

export type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'

export function kindOf(schema: Schema): FieldKind {
  if (schema.enum?.every((one) => typeof one === 'string')) return 'choice'
  if (schema.type === 'string') return 'text'
  if (schema.type === 'number' || schema.type === 'integer' || schema.type === 'boolean') {
    return schema.type
  }
  return 'json'
}

/** A form can be made of it; anything else is edited as JSON. */
export function isForm(schema: unknown): schema is Schema & { properties: Record<string, Schema> } {
  const { type, properties } = (schema ?? {}) as Schema
  return type === 'object' && properties !== undefined && Object.keys(properties).length > 0
}
